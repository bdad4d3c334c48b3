import { describe, expect, test } from 'vitest';
import type { Launch, LaunchInput } from '../../../../src/supervisor/adapter.ts';
import { codexAdapter } from '../../../../src/supervisor/adapters/codex/index.ts';

function launch(argv: readonly string[], more: Partial<LaunchInput> = {}): Launch {
  const command = codexAdapter.parse({ argv: ['codex', ...argv] });
  if (!command.ok) throw new Error(command.sentence);
  return codexAdapter.launch({
    program: '/opt/codex',
    command,
    mode: 'create',
    prompt: command.prompt,
    innerRetries: 3,
    env: {},
    ...more,
  });
}

const typed = ['-a', 'never', 'exec', '-m', 'gpt-x', '-s', 'workspace-write', '-C', 'sub', '-c', 'k=1', 'fix it'];

describe('how codex is started', () => {
  test('the first attempt is the own command with the event stream, and the prompt by standard input', () => {
    const first = launch(typed);
    expect(first.argv).toEqual(['/opt/codex', ...typed.slice(0, -1), '--json', '-']);
    expect(first.input).toEqual({ lines: ['fix it'], keepOpen: false });
    expect(first.env).toEqual({});
  });

  test('a resume has every option again, before the word resume, the only place where codex takes them all', () => {
    const next = launch(typed, { mode: 'resume', sessionId: 'id-1', prompt: 'go on' });
    expect(next.argv).toEqual(['/opt/codex', ...typed.slice(0, -1), '--json', 'resume', 'id-1', '-']);
    expect(next.input.lines).toEqual(['go on']);
  });

  test('images are attached once: a resume leaves them out', () => {
    const argv = ['exec', 'look', '-i', 'a.png', 'b.png', '--image=c.png', '-m', 'x'];
    expect(launch(argv).argv).toContain('a.png');
    const next = launch(argv, { mode: 'resume', sessionId: 'id-1' });
    expect(next.argv).toEqual(['/opt/codex', 'exec', '-m', 'x', '--json', 'resume', 'id-1', '-']);
    expect(next.added.join('\n')).toContain('--image');
  });

  test('a prompt never stands among the arguments, where other users could read it', () => {
    expect(launch(['exec', 'secret plan']).argv.join(' ')).not.toContain('secret plan');
  });

  test('nothing that widens or narrows what the agent may do is added, and all that is added is listed', () => {
    const first = launch(typed);
    const own = first.argv.filter((word) => !typed.includes(word) && word !== '/opt/codex');
    expect(own).toEqual(['--json', '-']);
    expect(own.every((word) => first.added.some((entry) => entry.startsWith(`${word}:`)))).toBe(true);
  });

  test('it is ended by SIGINT to the group first, which keeps the result of a finished command', () => {
    expect(launch(typed).ladder).toEqual([
      { kind: 'signal', signal: 'SIGINT', target: 'group', ms: 5_000 },
      { kind: 'signal', signal: 'SIGTERM', target: 'group', ms: 5_000 },
    ]);
  });

  test('by hand a conversation is continued with codex exec resume', () => {
    expect(codexAdapter.byHand('codex', 'id-1')).toBe('codex exec resume id-1 "PROMPT"');
  });
});
