import { describe, expect, test } from 'vitest';
import { claudeAdapter } from '../../../../src/supervisor/adapters/claude/index.ts';

const parse = (...words: readonly string[]) => claudeAdapter.parse({ argv: ['claude', ...words] });

const piped = (argv: readonly string[], stdin: string) => claudeAdapter.parse({ argv, stdin });

describe('the prompt', () => {
  test.each([
    [['-p', 'do it'], []],
    [['do it', '-p'], []],
    [['--print', 'do it', '--verbose'], []],
    [['-p', '--', 'do it'], []],
    [
      ['-p', 'do it', '--model', 'opus'],
      ['--model', 'opus'],
    ],
    [['--model=opus', '-p', 'do it'], ['--model=opus']],
    [
      ['-p', 'do it', '--allowedTools', 'Bash(git *)', 'Edit'],
      ['--allowedTools', 'Bash(git *)', 'Edit'],
    ],
    [
      ['--add-dir', '../a', '../b', '-p', 'do it'],
      ['--add-dir', '../a', '../b'],
    ],
    [
      ['--mcp-config', 'a.json', 'b.json', '--strict-mcp-config', '-p', 'do it'],
      ['--mcp-config', 'a.json', 'b.json', '--strict-mcp-config'],
    ],
    [
      ['-d', 'api', '-p', 'do it'],
      ['-d', 'api'],
    ],
    [
      ['-pd', 'api', 'do it'],
      ['-d', 'api'],
    ],
    [
      ['-p', 'do it', '--append-system-prompt', '--not a flag'],
      ['--append-system-prompt', '--not a flag'],
    ],
    [
      ['-p', 'do it', '--tools', ''],
      ['--tools', ''],
    ],
    [['--from-tomorrow', '-p', 'do it'], ['--from-tomorrow']],
    [
      ['--from-tomorrow', 'value', '-p', 'do it'],
      ['--from-tomorrow', 'value'],
    ],
    [
      ['-p', 'do it', '--from-tomorrow', 'value'],
      ['--from-tomorrow', 'value'],
    ],
    [
      ['-n', 'night', '-p', 'do it', '--effort', 'high'],
      ['-n', 'night', '--effort', 'high'],
    ],
  ] as const)('%j keeps the options and the prompt apart', (words, options) => {
    expect(parse(...words)).toMatchObject({ ok: true, prompt: 'do it', options });
  });

  test('piped text is joined as the bare CLI joins it: prompt, line break, text', () => {
    expect(piped(['claude', '-p', 'review'], 'diff\n')).toMatchObject({ prompt: 'review\ndiff\n' });
    expect(piped(['claude', '-p'], 'diff')).toMatchObject({ prompt: 'diff' });
    expect(piped(['claude', '-p', 'review'], '')).toMatchObject({ prompt: 'review' });
  });

  test.each([[['-p']], [['-p', '']], [['-p', ' \n ']], [['-p', '--']]])('%j without any prompt is refused', (words) => {
    expect(parse(...words)).toMatchObject({ ok: false, argument: 'prompt' });
  });

  test('a prompt that a flag with several values has swallowed is pointed at', () => {
    const parsed = parse('-p', '--allowedTools', 'Bash', 'do it');
    expect(parsed).toMatchObject({ ok: false, argument: 'prompt' });
    expect(parsed.ok ? [] : parsed.next).toEqual([expect.stringContaining('before --allowedTools')]);
  });

  test('words without quotes are refused, of which the bare CLI would drop all but the first', () => {
    expect(parse('-p', 'fix', 'the', 'tests')).toMatchObject({ ok: false, argument: 'prompt' });
  });
});

describe('what cannot be supervised', () => {
  test.each([
    ['--output-format', 'json'],
    ['--output-format=json'],
    ['--input-format', 'stream-json'],
    ['--session-id', '11111111-1111-4111-8111-111111111111'],
    ['--resume', 'abc'],
    ['-r', 'abc'],
    ['-rabc'],
    ['--resume'],
    ['--continue'],
    ['-c'],
    ['--fork-session'],
    ['--from-pr'],
    ['--no-session-persistence'],
    ['--replay-user-messages'],
    ['--permission-prompt-tool', 'stdio'],
    ['--permission-prompt-tool=stdio'],
    ['--worktree'],
    ['-w', 'x'],
    ['--bg'],
    ['--remote'],
    ['--help'],
    ['--version'],
  ])('%s is refused with the reason and what to do', (...words) => {
    const parsed = parse('-p', 'do it', ...words);
    expect(parsed).toMatchObject({ ok: false, argument: words[0]?.split('=')[0]?.replace(/^(-r).*/u, '$1') });
    expect(parsed.ok ? '' : parsed.sentence).toMatch(/^[A-Z].*\.$/u);
    expect(parsed.ok ? [] : parsed.next).not.toEqual([]);
  });

  test('a session at the keyboard is refused with -p as the way out', () => {
    expect(parse('do it')).toMatchObject({ ok: false, argument: '-p', next: [expect.stringContaining('-p')] });
    expect(parse()).toMatchObject({ ok: false, argument: '-p' });
  });

  test.each(['mcp', 'doctor', 'update'])('the sub-command %s is no task', (name) => {
    expect(parse(name)).toMatchObject({ ok: false, argument: name });
    expect(parse('-p', name)).toMatchObject({ ok: true, prompt: name });
  });

  test('inline settings that are no object are refused; a file is left to the CLI', () => {
    expect(parse('-p', 'x', '--settings', '{"env":')).toMatchObject({ ok: false, argument: '--settings' });
    expect(parse('-p', 'x', '--settings', './mine.json')).toMatchObject({ options: ['--settings', './mine.json'] });
  });
});

describe('what people are told', () => {
  test.each([
    [[], 'default'],
    [['--permission-mode', 'acceptEdits'], 'acceptEdits'],
    [['--permission-mode=plan', '--permission-mode', 'dontAsk'], 'dontAsk'],
    [['--dangerously-skip-permissions', '--permission-mode', 'plan'], 'bypassPermissions'],
    [['--allowedTools', 'Bash(git *)', 'Edit'], 'default, allowed: Bash(git *) Edit'],
    [['--permission-mode', 'acceptEdits', '--allowed-tools', 'Bash'], 'acceptEdits, allowed: Bash'],
  ])('%j means %s', (words, permissions) => {
    expect(parse('-p', 'x', ...words)).toMatchObject({ permissions });
  });

  test('the model is the last one named, or left open', () => {
    expect(parse('-p', 'x', '--model', 'opus', '--model=haiku')).toMatchObject({ model: 'haiku' });
    expect(parse('-p', 'x')).not.toHaveProperty('model');
  });

  test('the short form and the by-hand command are ones that can be typed', () => {
    for (const prompt of ['do it', '-5 degrees', '--verbose please'])
      expect(claudeAdapter.parse({ argv: claudeAdapter.commandFor(prompt) })).toMatchObject({ ok: true, prompt });
    expect(claudeAdapter.byHand('claude', 'abc')).toBe('claude --resume abc');
  });
});
