import { readFileSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  failsForEver,
  garbageInBetween,
  grandchildHoldsStdout,
  healthy,
  neverEnds,
  resultThenHang,
  type Attempt,
  type Play,
  type PlayStep,
} from '../../../src/lab/fake-cli/index.ts';
import { Bench, headless, isAlive, until, type Running } from './run-fake.ts';

const args = [...headless, 'go'];
const attempts = (...steps: readonly PlayStep[]): Play => ({ attempts: [{ steps } satisfies Attempt] });

let bench: Bench;
beforeEach(() => {
  bench = new Bench();
});
afterEach(() => bench.clear());

function begin(play: Play, more = {}): Running {
  const run = bench.start(bench.install(play, 'claude', more), args);
  run.child.stdin.end();
  return run;
}
const isResult = (line: { readonly type?: string }): boolean => line.type === 'result';

describe('a process of the stand-in', () => {
  it('exits with the code it is told', async () => {
    const run = begin(
      attempts({ do: 'stderr', text: 'noise\n' }, { do: 'exit', code: 75 }, { do: 'answer', text: 'never' }),
    );
    expect((await run.end()).code).toBe(75);
    expect(run.err()).toBe('noise\n');
    expect(run.out()).not.toContain('never');
  });

  it('exits with 143 and without a closing line at SIGTERM, and the tool lives on', async () => {
    const run = begin(attempts({ do: 'tool', command: 'echo $$ > pid; exec sleep 600' }));
    await until(() => bench.file('pid').endsWith('\n'));
    run.child.kill('SIGTERM');
    expect((await run.end()).code).toBe(143);
    const pid = Number(bench.file('pid'));
    expect([run.lines().some(isResult), isAlive(pid)]).toEqual([false, true]);
  });

  it('exits with 0 at SIGINT in text although the turn failed', async () => {
    const run = begin(neverEnds());
    await run.line((line) => line['subtype'] === 'init');
    run.child.kill('SIGINT');
    expect((await run.end()).code).toBe(0);
    expect(run.lines().at(-1)).toMatchObject({ subtype: 'error_during_execution', is_error: true });
  });

  it('can be deaf to SIGINT and SIGTERM, but not to SIGKILL', async () => {
    const cli = bench.install(resultThenHang());
    const run = bench.start(cli, args);
    run.child.stdin.end();
    await run.line(isResult);
    run.child.kill('SIGTERM');
    run.child.kill('SIGINT');
    await until(() => cli.invocations()[0]?.signals.length === 2);
    expect([run.child.exitCode, run.child.signalCode]).toEqual([null, null]);
    run.child.kill('SIGKILL');
    expect((await run.end()).signal).toBe('SIGKILL');
  });

  it('can leave a child that holds its output open: it has exited, but the pipe has not ended', async () => {
    const run = begin(grandchildHoldsStdout(bench.path('pid')));
    await run.line(isResult);
    await until(() => run.child.exitCode === 0);
    const pid = Number(readFileSync(bench.path('pid'), 'utf8'));
    expect([isAlive(pid), run.child.stdout.readableEnded]).toEqual([true, false]);
    process.kill(-pid, 'SIGKILL');
    await run.end();
  });

  it('can hide behind a wrapper: a signal to the program that was started misses the agent', async () => {
    const cli = bench.install(neverEnds(), 'claude', { wrapper: 'parent' });
    const run = bench.start(cli, args);
    run.child.stdin.end();
    await run.line((line) => line['subtype'] === 'init');
    const [agent] = cli.invocations();
    run.child.kill('SIGKILL');
    await until(() => run.child.signalCode === 'SIGKILL');
    expect(agent?.pid).not.toBe(run.child.pid);
    expect(isAlive(agent?.pid ?? 0)).toBe(true);
    process.kill(agent?.pid ?? 0, 'SIGKILL');
    await run.end();
  });

  it('goes on without anybody who reads it, as the real ones do', async () => {
    const run = begin(
      attempts(
        { do: 'wait', for: { file: bench.path('gone') } },
        { do: 'repeat', times: 100, steps: [{ do: 'text', text: 'to nobody' }] },
        { do: 'tool', command: 'echo one >> effects.log' },
        { do: 'answer', text: 'done' },
      ),
    );
    await run.line((line) => line['subtype'] === 'init');
    run.child.stdout.destroy();
    writeFileSync(bench.path('gone'), '');
    expect((await run.end()).code).toBe(0);
    expect(bench.file('effects.log')).toBe('one\n');
  });

  it('kills its whole group', async () => {
    const run = begin(
      attempts({ do: 'grandchild', pidFile: bench.path('pid') }, { do: 'kill', signal: 'SIGKILL', group: true }),
    );
    expect((await run.end()).signal).toBe('SIGKILL');
    const pid = Number(readFileSync(bench.path('pid'), 'utf8'));
    await until(() => !isAlive(pid));
  });

  it('prints junk of every kind between good lines, and the end is still true', async () => {
    const run = begin(garbageInBetween(3_000_000));
    expect((await run.end()).code).toBe(0);
    const lines = run.out().split('\n');
    expect(Math.max(...lines.map((line) => line.length))).toBe(2_999_999);
    expect(run.out()).toContain('�');
    expect(run.lines().at(-1)).toMatchObject({ type: 'result', is_error: false });
  });

  it('can end in the middle of a line', async () => {
    const run = begin(attempts({ do: 'garbage', kind: 'half-line' }, { do: 'exit', code: 0 }));
    await run.end();
    expect(run.out().endsWith('"type":"te')).toBe(true);
  });

  it('prints a hundred thousand lines', async () => {
    const run = begin(
      attempts(
        { do: 'repeat', times: 100_000, steps: [{ do: 'lines', lines: ['{"type":"tick"}'] }] },
        { do: 'answer', text: 'done' },
      ),
    );
    expect((await run.end()).code).toBe(0);
    expect(run.lines().filter((line) => line.type === 'tick')).toHaveLength(100_000);
  });

  it('says what is missing when a transcript is not there', async () => {
    const run = begin(attempts({ do: 'transcript', file: 'no-such.jsonl' }));
    expect((await run.end()).code).toBe(70);
    expect(run.err()).toContain('no-such.jsonl: the transcript cannot be read.');
  });

  it('shows text as it streams only to those who asked for it', async () => {
    const play = attempts({ do: 'request' }, { do: 'delta', text: 'half' }, { do: 'answer', text: 'half a loaf' });
    const cli = bench.install(play);
    expect((await bench.run(cli, args)).out()).not.toContain('stream_event');
    expect((await bench.run(cli, ['--include-partial-messages', ...args])).lines()).toContainEqual(
      expect.objectContaining({ type: 'stream_event' }),
    );
  });

  it('is as good as its closing line says: a changed one is what the play asked for', async () => {
    const lie = { is_error: true, subtype: 'success', result: "You've hit your limit" };
    const run = begin(attempts({ do: 'request' }, { do: 'result', fields: lie, exit: 0 }));
    expect((await run.end()).code).toBe(0);
    expect(run.lines().at(-1)).toMatchObject(lie);
  });

  it('counts only what the model finished', async () => {
    const run = begin(healthy());
    await run.end();
    expect(run.lines().at(-1)).toMatchObject({ num_turns: 2, total_cost_usd: 0.0015, usage: { input_tokens: 200 } });
    const failed = begin(failsForEver());
    await failed.end();
    expect(failed.lines().at(-1)).toMatchObject({ num_turns: 1, total_cost_usd: 0 });
    expect(failed.lines().at(-1)?.['modelUsage']).toEqual({});
  });
});
