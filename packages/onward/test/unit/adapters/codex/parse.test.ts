import { describe, expect, test } from 'vitest';
import { codexAdapter } from '../../../../src/supervisor/adapters/codex/index.ts';

const parse = (argv: readonly string[], stdin?: string): ReturnType<typeof codexAdapter.parse> =>
  codexAdapter.parse({ argv: ['codex', ...argv], ...(stdin === undefined ? {} : { stdin }) });

function accepted(argv: readonly string[], stdin?: string): Extract<ReturnType<typeof parse>, { ok: true }> {
  const parsed = parse(argv, stdin);
  if (!parsed.ok) throw new Error(`refused: ${parsed.argument}: ${parsed.sentence}`);
  return parsed;
}

function refusal(argv: readonly string[], stdin?: string): Extract<ReturnType<typeof parse>, { ok: false }> {
  const parsed = parse(argv, stdin);
  if (parsed.ok) throw new Error('accepted');
  return parsed;
}

describe('a command of codex exec', () => {
  test('keeps every option with its value, in order, and takes the prompt out', () => {
    const typed = [
      'exec',
      '-m',
      'gpt-x',
      '--sandbox=workspace-write',
      '-C',
      'sub',
      '-c',
      'a.b="c d"',
      '--color',
      'never',
    ];
    const parsed = accepted([...typed, 'fix the tests']);
    expect(parsed.options).toEqual(typed);
    expect(parsed).toMatchObject({ prompt: 'fix the tests', model: 'gpt-x', permissions: 'workspace-write' });
  });

  test('may have options on both sides of the prompt', () => {
    const parsed = accepted(['exec', '--skip-git-repo-check', 'fix it', '-o', 'last.txt', '--add-dir', '../lib']);
    expect(parsed.options).toEqual(['exec', '--skip-git-repo-check', '-o', 'last.txt', '--add-dir', '../lib']);
    expect(parsed.prompt).toBe('fix it');
  });

  test('keeps global options in front of exec, where some of them must stand', () => {
    const parsed = accepted(['-a', 'never', '-m', 'exec', '--search', 'exec', '-s', 'read-only', 'look around']);
    expect(parsed.options).toEqual(['-a', 'never', '-m', 'exec', '--search', 'exec', '-s', 'read-only']);
    expect(parsed.model).toBe('exec');
  });

  test('knows the short name e, values glued to short options, and a prompt after --', () => {
    const parsed = accepted(['e', '-mgpt-x', '-s=read-only', '--', '-1 is wrong']);
    expect(parsed).toMatchObject({ prompt: '-1 is wrong', model: 'gpt-x', permissions: 'read-only' });
    expect(parsed.options).toEqual(['e', '-mgpt-x', '-s=read-only']);
  });

  test('the last of two models counts, as in codex', () => {
    expect(accepted(['-m', 'a', 'exec', '--model', 'b', 'p']).model).toBe('b');
    expect(accepted(['exec', '-c', 'model="c"', 'p']).model).toBe('c');
  });

  test.each([
    [['exec', 'p'], /^read-only \(default/],
    [['exec', '-c', "sandbox_mode='workspace-write'", 'p'], /^workspace-write$/],
    [['exec', '--dangerously-bypass-approvals-and-sandbox', 'p'], /^danger-full-access/],
    [['exec', '--yolo', '-s', 'read-only', 'p'], /^danger-full-access/],
    [['exec', '--full-auto', 'p'], /^workspace-write/],
    [['exec', '--approve-for-me', 'p'], /^workspace-write/],
    [['exec', '-p', 'ci', 'p'], /profile ci/],
  ])('says what %j may do', (argv, permissions) => {
    expect(accepted(argv).permissions).toMatch(permissions);
  });

  test('is plain JSON', () => {
    const parsed = accepted(['exec', 'p']);
    expect(JSON.parse(JSON.stringify(parsed))).toEqual(parsed);
  });
});

describe('piped text', () => {
  test.each([
    [
      'beside a prompt is added as a block, as the bare codex does',
      ['exec', 'pp'],
      'piped text\n',
      'pp\n\n<stdin>\npiped text\n</stdin>',
    ],
    ['without a line end gets one', ['exec', 'pp'], 'no newline', 'pp\n\n<stdin>\nno newline\n</stdin>'],
    ['that is blank changes nothing', ['exec', 'pp'], '  \n', 'pp'],
    ['is the prompt for -', ['exec', '-'], 'piped prompt\n', 'piped prompt\n'],
    ['is the prompt when there is no other', ['exec', '-m', 'x'], 'piped prompt\n', 'piped prompt\n'],
  ])('%s', (_name, argv, stdin, prompt) => {
    expect(accepted(argv, stdin).prompt).toBe(prompt);
  });
});

describe('a command that cannot be supervised is refused with the argument, the reason and what to do', () => {
  test.each([
    [['exec', '--json', 'p'], '--json'],
    [['exec', '--ephemeral', 'p'], '--ephemeral'],
    [['exec', '--worktree', 'p'], '--worktree'],
    [['exec', '--remote=ws://127.0.0.1:1', 'p'], '--remote'],
    [['--remote', 'ws://127.0.0.1:1', 'exec', 'p'], '--remote'],
    [['exec', 'resume', '--last', 'p'], '--last'],
    [['exec', 'resume', 'some-id', 'p'], 'resume'],
    [['exec', 'fork', 'some-id'], 'fork'],
    [['exec', 'review'], 'review'],
    [['resume', '--last'], 'resume'],
    [['review'], 'review'],
    [['login'], 'login'],
    [['exec', '--help'], '--help'],
    [['-V'], '--version'],
    [[], 'codex'],
    [['fix the tests'], 'codex'],
    [['-m', 'x'], 'codex'],
    [['exec'], 'prompt'],
    [['exec', '-'], 'prompt'],
    [['exec', ''], 'prompt'],
    [['exec', '  \n '], 'prompt'],
    [['exec', 'fix', 'the', 'tests'], 'the'],
    [['exec', '--new-option', 'value', 'p'], 'p'],
  ])('%j', (argv, argument) => {
    const refused = refusal(argv);
    expect(refused.argument).toBe(argument);
    expect(refused.sentence).toMatch(/\.$/);
    expect(refused.next.length).toBeGreaterThan(0);
  });

  test('a prompt that codex would take for an image says so', () => {
    expect(refusal(['exec', '-i', 'a.png', 'what is this?']).next[0]).toContain('--image');
    expect(accepted(['exec', 'what is this?', '-i', 'a.png', 'b.png']).options).toEqual([
      'exec',
      '-i',
      'a.png',
      'b.png',
    ]);
  });
});

test('the short form asks codex exec, also with a prompt that looks like an option', () => {
  expect(codexAdapter.commandFor('fix it')).toEqual(['codex', 'exec', 'fix it']);
  const parsed = codexAdapter.parse({ argv: codexAdapter.commandFor('--fix it') });
  expect(parsed).toMatchObject({ ok: true, prompt: '--fix it', options: ['exec'] });
});
