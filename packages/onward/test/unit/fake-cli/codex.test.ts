import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  healthy,
  killedInWindow,
  neverEnds,
  overloadedAfterTool,
  overloadedThenWell,
  usageLimit,
  type Play,
} from '../../../src/lab/fake-cli/index.ts';
import { removeStale } from '../../../src/lab/fake-cli/codex/writer-lock.ts';
import { Bench, until, type Line, type Running } from './run-fake.ts';

const exec = ['exec', '--json', 'go'];
const resume = (thread: string): string[] => ['exec', 'resume', '--json', thread, '-'];
const threadOf = (run: Running): string => String(run.lines().at(0)?.['thread_id']);

let bench: Bench;
beforeEach(() => {
  bench = new Bench();
});
afterEach(() => bench.clear());

function rollout(): Line[] {
  const folder = bench.path('.codex/sessions');
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.jsonl'));
  expect(files).toHaveLength(1);
  const text = readFileSync(`${folder}/${files[0] ?? ''}`, 'utf8');
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Line);
}
const events = (type: string): unknown[] =>
  rollout()
    .map((line) => line['payload'] as Line)
    .filter((payload) => payload.type === type);

describe('codex as a stand-in', () => {
  it('says its version', async () => {
    expect((await bench.run(bench.install(healthy(), 'codex'), ['--version'])).out()).toBe('codex-cli 0.171.0\n');
  });

  it('goes on in the same thread, with usage that adds up over its processes', async () => {
    const cli = bench.install(overloadedAfterTool(), 'codex');
    const first = await bench.run(cli, exec);
    expect(first.code).toBe(1);
    expect(first.lines().map((line) => line.type)).toEqual([
      'thread.started',
      'turn.started',
      'item.started',
      'item.completed',
      'error',
      'turn.failed',
    ]);
    const second = await bench.run(cli, resume(threadOf(first)), { input: 'go on' });
    expect(second.code).toBe(0);
    expect(threadOf(second)).toBe(threadOf(first));
    expect(second.lines().at(-1)).toMatchObject({
      type: 'turn.completed',
      usage: { input_tokens: 300, output_tokens: 90 },
    });
    expect(bench.file('effects.log')).toBe('one\n');
  });

  it('leaves a typed error, and the epoch at which a limit resets, in its rollout file only', async () => {
    const run = await bench.run(bench.install(usageLimit(1_900_000_000), 'codex'), exec);
    expect(run.out()).not.toContain('1900000000');
    expect(events('task_complete')).toMatchObject([
      { last_agent_message: null, error: { codex_error_info: 'usage_limit_exceeded' } },
    ]);
    expect(events('token_count').at(-1)).toMatchObject({ rate_limits: { primary: { resets_at: 1_900_000_000 } } });
  });

  it('numbers the lines of its file without a gap across processes', async () => {
    const cli = bench.install(overloadedThenWell(), 'codex');
    const first = await bench.run(cli, exec);
    await bench.run(cli, resume(threadOf(first)), { input: 'go on' });
    expect(rollout().map((line) => line['ordinal'])).toEqual(rollout().map((_, index) => index));
  });

  it('does not know a thread that never was', async () => {
    const cli = bench.install(healthy(), 'codex');
    const run = await bench.run(cli, resume('01a22ea4-efa2-7573-a876-df044d807195'), { input: 'go on' });
    expect([run.code, run.out(), cli.attempts()]).toEqual([1, '', 0]);
    expect(run.err()).toContain('no rollout found for thread id 01a22ea4-efa2-7573-a876-df044d807195');
  });

  it('refuses a thread which a living process writes, and takes it when that one was killed', async () => {
    const cli = bench.install(neverEnds(), 'codex');
    const first = bench.start(cli, exec);
    first.child.stdin.end();
    await first.line((line) => line.type === 'turn.started');
    const refused = await bench.run(cli, resume(threadOf(first)), { input: 'go on' });
    expect([refused.code, refused.out()]).toEqual([1, '']);
    expect(refused.err()).toContain('already has an active writer');
    first.child.kill('SIGKILL');
    await first.end();
    const free = await bench.run(cli, resume(threadOf(first)), { input: 'go on' });
    expect(free.code).toBe(0);
  });

  it('lets only one of several processes take over a thread whose writer was killed', async () => {
    const killed: Play = {
      attempts: [{ steps: [{ do: 'request' }, { do: 'kill', signal: 'SIGKILL' }] }, { steps: [{ do: 'hang' }] }],
    };
    const cli = bench.install(killed, 'codex');
    const thread = threadOf(await bench.run(cli, exec));
    const racers = Array.from({ length: 4 }, () => {
      const run = bench.start(cli, resume(thread));
      run.child.stdin.end('go on');
      return run;
    });
    await until(() => racers.filter((run) => run.child.exitCode === 1).length === 3);
    await Promise.any(racers.map((run) => run.line((line) => line.type === 'turn.started')));
    expect(racers.filter((run) => run.out() !== '')).toHaveLength(1);
  });

  it('puts a lock back that was no longer the stale one when it was taken away', () => {
    const lock = bench.path('thread.lock');
    writeFileSync(lock, 'a fresh holder');
    expect([removeStale(lock, 'a dead holder'), readFileSync(lock, 'utf8')]).toEqual([false, 'a fresh holder']);
    expect([removeStale(lock, 'a fresh holder'), existsSync(lock)]).toEqual([true, false]);
  });

  it('tells the model that a call was aborted when it died before the message ended', async () => {
    const cli = bench.install(killedInWindow(), 'codex');
    const first = await bench.run(cli, exec);
    expect(first.lines().at(-1)).toMatchObject({ item: { status: 'completed' } });
    await bench.run(cli, resume(threadOf(first)), { input: 'go on' });
    expect(rollout().map((line) => line['payload'])).toContainEqual(
      expect.objectContaining({ type: 'function_call_output', output: 'aborted' }),
    );
    expect(bench.file('effects.log')).toBe('one\none\n');
  });

  it('keeps the result of a finished call when it is stopped with SIGINT, and exits 1 without a closing line', async () => {
    const cli = bench.install(
      {
        attempts: [
          { steps: [{ do: 'tool', command: 'printf EFF; echo ECT', window: 'open' }, { do: 'hang' }] },
          { steps: [{ do: 'when', if: { seen: 'EFFECT' }, yes: [{ do: 'answer', text: 'known' }] }] },
        ],
      },
      'codex',
    );
    const first = bench.start(cli, exec);
    first.child.stdin.end();
    await first.line((line) => line.type === 'item.completed');
    first.child.kill('SIGINT');
    expect((await first.end()).code).toBe(1);
    expect(first.lines().at(-1)?.type).toBe('item.completed');
    expect(events('turn_aborted')).toHaveLength(1);
    const second = await bench.run(cli, resume(threadOf(first)), { input: 'go on' });
    expect(second.out()).toContain('known');
  });

  it('dies of SIGTERM', async () => {
    const run = bench.start(bench.install(neverEnds(), 'codex'), exec);
    run.child.stdin.end();
    await run.line((line) => line.type === 'turn.started');
    run.child.kill('SIGTERM');
    expect((await run.end()).signal).toBe('SIGTERM');
  });

  it.each([
    [['exec', 'resume', '-s', 'workspace-write', 'thread', '-'], "unexpected argument '-s' found"],
    [['exec', 'resume', '-C', 'folder', 'thread', '-'], "unexpected argument '-C' found"],
    [['exec', '--nonsense', 'go'], "unexpected argument '--nonsense' found"],
  ])('refuses %j with exit 2', async (args, words) => {
    const run = await bench.run(bench.install(healthy(), 'codex'), args);
    expect([run.code, run.out()]).toEqual([2, '']);
    expect(run.err()).toContain(words);
  });

  it('takes flags before the word resume', async () => {
    const cli = bench.install(overloadedThenWell(), 'codex');
    const thread = threadOf(await bench.run(cli, ['exec', '--json', '-s', 'workspace-write', 'go']));
    const args = ['exec', '--json', '-s', 'workspace-write', '-C', bench.cwd, 'resume', thread, '-'];
    expect((await bench.run(cli, args, { input: 'go on' })).code).toBe(0);
    expect(events('turn_context')).toEqual([]);
    expect(rollout().filter((line) => line.type === 'turn_context')).toMatchObject([
      { payload: { sandbox_policy: { type: 'workspace-write' } } },
      { payload: { sandbox_policy: { type: 'workspace-write' } } },
    ]);
  });

  it('fails in its sandbox without an item on the output, if the play goes by the flags, and says it succeeded', async () => {
    const run = await bench.run(bench.install({ ...healthy(), permissions: 'as-flags' }, 'codex'), exec);
    expect(run.code).toBe(0);
    expect(run.lines().at(-1)).toMatchObject({ type: 'turn.completed' });
    expect(run.out()).not.toContain('command_execution');
    expect(bench.file('effects.log')).toBe('');
  });

  it('takes the prompt from standard input, or adds that to the one it has', async () => {
    const cli = bench.install(healthy(), 'codex');
    await bench.run(cli, ['exec', '--json', '-'], { input: 'from stdin\n' });
    await bench.run(cli, exec, { input: 'more\n' });
    expect((await bench.run(cli, ['exec', '--json', '-'])).code).toBe(1);
    expect(cli.invocations().map(({ prompts }) => prompts)).toEqual([
      ['from stdin'],
      ['go\n\n<stdin>\nmore\n</stdin>'],
      [],
    ]);
  });

  it('keeps its threads where CODEX_HOME says', async () => {
    const cli = bench.install(healthy(), 'codex');
    await bench.run(cli, exec, { env: { CODEX_HOME: bench.path('elsewhere') } });
    expect(readdirSync(bench.path('elsewhere/sessions'))).toHaveLength(1);
  });
});
