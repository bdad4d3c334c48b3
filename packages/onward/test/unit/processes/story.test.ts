import { describe, expect, test } from 'vitest';
import {
  endAgent,
  systemClock,
  tailLines,
  tryLockSession,
  watchdogs,
  type WatchdogLimits,
  type WatchdogName,
} from '../../../src/processes/index.ts';
import { countMarked, makeFolder, makeMarker, startShell } from './support.ts';

const off: WatchdogLimits = { startupMs: 0, idleMs: 0, toolMs: 0, afterResultMs: 0, wallMs: 0 };

/** Runs an agent as the supervisor does: lines become observations; what fires first, or the exit, ends it. */
async function attempt(script: string, limits: Partial<WatchdogLimits>) {
  const marker = makeMarker();
  const agent = await startShell(script, { marker });
  const controller = new AbortController();
  const spool = tailLines({ path: agent.stdoutPath, clock: systemClock });
  const watch = watchdogs({
    clock: systemClock,
    limits: { ...off, ...limits },
    signal: controller.signal,
    tickMs: 10,
    hasUnread: () => spool.hasUnread(),
  });
  const lines: string[] = [];
  const reading = (async () => {
    for await (const item of spool) {
      if (item.kind !== 'line') continue;
      lines.push(item.line);
      if (item.line !== 'ping') watch.observed({ kind: item.line === 'result' ? 'result' : 'event' });
    }
  })();
  const ended = agent.exited.then((): readonly WatchdogName[] => []);
  const fired = await Promise.race([watch.next(), ended]);
  controller.abort();
  const result = await endAgent({ agent, marker, clock: systemClock, steps: [] });
  spool.final();
  await reading;
  return { fired, lines, exit: result.exit, left: countMarked(marker) };
}

describe('an attempt, all parts together', () => {
  test('R83 an agent that goes silent after an event, though it pings for ever, is ended with its output kept', async () => {
    const got = await attempt('echo event; while :; do echo ping; sleep 0.01; done', { idleMs: 100 });
    expect(got.fired).toEqual(['idle']);
    expect(got.lines[0]).toBe('event');
    expect(got.lines).toContain('ping');
    expect(got).toMatchObject({ exit: { code: null, signal: 'SIGKILL' }, left: 0 });
  });

  test('R118 an agent that printed its result and does not exit is ended after its grace, the result kept', async () => {
    const got = await attempt('echo event; echo result; sleep 100 & wait', { afterResultMs: 50, idleMs: 60_000 });
    expect(got).toMatchObject({ fired: ['after-result'], lines: ['event', 'result'], left: 0 });
  });

  test('R121 an agent that exits while a child of it holds its output is done at once', async () => {
    const got = await attempt('echo event; echo result; sleep 100 &', { afterResultMs: 60_000 });
    expect(got).toMatchObject({ fired: [], lines: ['event', 'result'], exit: { code: 0, signal: null }, left: 0 });
  });

  test('R75 while the first process is still shutting down, nobody else gets its session', async () => {
    const folder = await makeFolder();
    const request = { folder, cli: 'claude', sessionId: 's' };
    const first = await tryLockSession(request);
    const ending = attempt('echo event; trap "" TERM INT; sleep 100 & wait', { idleMs: 50 });
    expect(await tryLockSession(request)).toMatchObject({ kind: 'held', by: { pid: process.pid } });
    expect((await ending).left).toBe(0);
    if (first.kind === 'locked') first.lock.release();
    expect((await tryLockSession(request)).kind).toBe('locked');
  });
});
