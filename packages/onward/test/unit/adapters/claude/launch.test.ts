import { describe, expect, test } from 'vitest';
import type { LaunchInput, ParsedCommand } from '../../../../src/supervisor/adapter.ts';
import { claudeAdapter } from '../../../../src/supervisor/adapters/claude/index.ts';

const id = '11111111-1111-4111-8111-111111111111';

function command(...words: readonly string[]): ParsedCommand {
  const parsed = claudeAdapter.parse({ argv: ['claude', '-p', 'do it', ...words] });
  if (!parsed.ok) throw new Error(parsed.sentence);
  return parsed;
}

function launch(words: readonly string[], more: Partial<LaunchInput> = {}) {
  return claudeAdapter.launch({
    program: '/opt/bin/claude',
    command: command(...words),
    mode: 'create',
    sessionId: id,
    prompt: 'do it',
    innerRetries: 3,
    env: {},
    ...more,
  });
}

function settingsOf(argv: readonly string[]): unknown {
  expect(argv.filter((word) => word === '--settings')).toHaveLength(1);
  expect(argv.at(-2)).toBe('--settings');
  return JSON.parse(argv.at(-1) ?? '');
}

describe('the command of an attempt', () => {
  const own = [
    '--permission-mode',
    'acceptEdits',
    '--model',
    'opus',
    '--mcp-config',
    'm.json',
    '--append-system-prompt',
    'Be brief.',
    '--allowedTools',
    'Bash(git *)',
    'Edit',
    '--effort',
    'high',
  ];

  test('keeps the program as typed and every flag of the user, first and on every resume', () => {
    const first = launch(own);
    const next = launch(own, { mode: 'resume', prompt: 'go on' });
    for (const { argv } of [first, next])
      expect(argv.slice(0, own.length + 2)).toEqual(['/opt/bin/claude', ...own, '-p']);
    expect(first.argv).toContain('--session-id');
    expect(first.argv).not.toContain('--resume');
    expect(next.argv[next.argv.indexOf('--resume') + 1]).toBe(id);
    expect(next.argv).not.toContain('--session-id');
  });

  test('speaks stream-json both ways and sees whether messages end', () => {
    const { argv } = launch([]);
    for (const flag of [
      '--input-format=stream-json',
      '--output-format=stream-json',
      '--verbose',
      '--include-partial-messages',
    ])
      expect(argv).toContain(flag);
  });

  test('never shows the prompt to other users of the machine, and says it once', () => {
    const { argv, input } = launch([], { prompt: 'my secret plan' });
    expect(argv.join(' ')).not.toContain('secret');
    expect(input.keepOpen).toBe(true);
    const lines = input.lines.map((line) => JSON.parse(line));
    expect(lines.map((line) => line.type)).toEqual(['control_request', 'user']);
    expect(lines[1].message).toEqual({ role: 'user', content: [{ type: 'text', text: 'my secret plan' }] });
    for (const line of input.lines) expect(line).not.toContain('\n');
  });

  test('asks for hooks around every tool, and for a closed gate should Onward die', () => {
    const { request } = JSON.parse(launch([]).input.lines[0] ?? '');
    expect(request.subtype).toBe('initialize');
    expect(request.hooks.PreToolUse).toEqual([
      { matcher: null, hookCallbackIds: ['onward-before'], onFailure: 'block' },
    ]);
    expect(request.hooks.PostToolUse).toEqual(request.hooks.PostToolUseFailure);
  });

  test('adds nothing that widens or narrows permissions', () => {
    const { argv, env } = launch([]);
    const all = [...argv, ...Object.keys(env), ...Object.values(env)].join(' ');
    expect(all).not.toMatch(/permission|dangerous|allow|tools|sandbox|setting-sources|bypass|disableAllHooks/iu);
  });

  test('says each thing that it adds', () => {
    const told = launch([]).added.join('\n');
    for (const flag of [
      '--input-format',
      '--output-format',
      '--verbose',
      '--include-partial-messages',
      '--session-id',
      '--settings',
      'CLAUDE_CODE_MAX_RETRIES=3',
    ])
      expect(told).toContain(flag);
  });

  test('is ended gently first: interrupt, end of input, then a signal', () => {
    const { ladder } = launch([]);
    expect(ladder.map((step) => step.kind)).toEqual(['input', 'end-input', 'signal']);
    expect(ladder[0]).toMatchObject({ until: 'result', ms: 5_000 });
    expect(JSON.parse(ladder[0]?.kind === 'input' ? ladder[0].line : '')).toMatchObject({
      request: { subtype: 'interrupt' },
    });
    expect(ladder[2]).toMatchObject({ signal: 'SIGTERM', target: 'group' });
  });
});

describe('own retries', () => {
  const bound = { CLAUDE_CODE_MAX_RETRIES: '3', CLAUDE_CODE_RETRY_WATCHDOG: '0' };

  test('are bounded by the last --settings, which wins over files and environment', () => {
    expect(settingsOf(launch([]).argv)).toEqual({ env: bound });
    expect(launch([]).env).toEqual({});
    expect(settingsOf(launch([], { innerRetries: 0 }).argv)).toMatchObject({ env: { CLAUDE_CODE_MAX_RETRIES: '0' } });
  });

  test('settings of the user are merged, since only one --settings counts', () => {
    const own = '{"env":{"A":"1","CLAUDE_CODE_MAX_RETRIES":"15"},"model":"opus","hooks":{"Stop":[]}}';
    const { argv } = launch(['--settings', '{"model":"lost"}', '--model', 'haiku', `--settings=${own}`]);
    expect(settingsOf(argv)).toEqual({ env: { A: '1', ...bound }, model: 'opus', hooks: { Stop: [] } });
    expect(argv).toContain('--model');
  });

  test('a settings file of the user is not read into arguments, which anybody can see', () => {
    const { argv, env, added } = launch(['--settings', './mine.json']);
    expect(argv.slice(-2)).toEqual(['--settings', './mine.json']);
    expect(env).toEqual(bound);
    expect(added.join('\n')).toContain('the environment');
  });
});
