import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  observed,
  startWatchdogs,
  tick,
  watchdogs,
  type Observation,
  type WatchdogLimits,
  type WatchdogName,
} from '../../../src/processes/index.ts';

const limits: WatchdogLimits = {
  startupMs: 120_000,
  idleMs: 300_000,
  toolMs: 1_800_000,
  afterResultMs: 15_000,
  wallMs: 43_200_000,
};
const tickMs = 1_000;

/** Runs seconds of ticks; at some of them something is observed, or output waits unread. */
function run(seconds: number, at: Record<number, Observation | 'unread'> = {}, set: Partial<WatchdogLimits> = {}) {
  let state = startWatchdogs(0);
  const fired: [number, WatchdogName][] = [];
  for (let second = 1; second <= seconds; second++) {
    const what = at[second];
    if (what !== undefined && what !== 'unread') state = observed(state, what);
    const after = tick(state, { ...limits, ...set }, { now: second * tickMs, tickMs, hasUnread: what === 'unread' });
    state = after.state;
    for (const name of after.fired) fired.push([second, name]);
  }
  return { fired, state };
}

const event: Observation = { kind: 'event' };
const opened: Observation = { kind: 'tool-started', id: 't' };
const closed: Observation = { kind: 'tool-finished', id: 't' };

describe('the watchdogs', () => {
  test('start-up: no event at all', () => {
    expect(run(200).fired).toEqual([[120, 'startup']]);
    expect(run(200, { 119: event }).fired).toEqual([]);
  });

  test('R82 R83 idle: no event for its limit, with the connection and the process alive', () => {
    expect(run(400, { 5: event }).fired).toEqual([[304, 'idle']]);
    expect(run(1_000, { 5: opened, 10: closed }).fired).toEqual([[309, 'idle']]);
  });

  test('R84 slow but alive does not trip it, bytes without an event do, and 0 is off', () => {
    const slow = Object.fromEntries(Array.from({ length: 10 }, (_, index) => [(index + 1) * 100, event]));
    expect(run(1_000, slow).fired).toEqual([]);
    // Pings are read and yield no observation: nothing to tell the watchdogs.
    expect(run(400, { 1: event }).fired).toEqual([[300, 'idle']]);
    expect(run(100_000, { 1: event }, { idleMs: 0, wallMs: 0 }).fired).toEqual([]);
  });

  test('idle is suspended while a tool is open, which has a limit of its own', () => {
    expect(run(2_000, { 1: event, 10: opened }).fired).toEqual([[1_809, 'tool']]);
    expect(run(1_700, { 1: event, 10: opened }).fired).toEqual([]);
    // Progress of another tool does not excuse the one that hangs.
    const busy = Object.fromEntries(Array.from({ length: 20 }, (_, i) => [(i + 1) * 100, event]));
    expect(run(2_000, { ...busy, 10: opened }).fired).toEqual([[1_809, 'tool']]);
  });

  test('R118 after the result a process that does not exit is told from a silent one', () => {
    expect(run(400, { 1: event, 50: { kind: 'result' } }).fired).toEqual([[64, 'after-result']]);
    // An event after the result (a background subagent), or a new turn, is work going on.
    expect(run(70, { 50: { kind: 'result' }, 60: event }).fired).toEqual([]);
    expect(run(350, { 50: { kind: 'result' }, 60: { kind: 'input' } }).fired).toEqual([]);
  });

  test('wall: all of it, whatever happens', () => {
    const busy = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [index + 1, event]));
    expect(run(100, busy, { wallMs: 60_000 }).fired).toEqual([[60, 'wall']]);
  });

  test('facts are independent: several fire in one tick', () => {
    expect(run(60, {}, { startupMs: 60_000, wallMs: 60_000 }).fired).toEqual([
      [60, 'startup'],
      [60, 'wall'],
    ]);
  });

  test('each fires once, and again only after the silence was broken', () => {
    expect(run(800, { 1: event, 400: event }).fired).toEqual([
      [300, 'idle'],
      [699, 'idle'],
    ]);
  });

  test('a second tool that hangs fires again after the first was closed', () => {
    const again: Observation = { kind: 'tool-started', id: 'u' };
    const limit = { toolMs: 100_000, idleMs: 0 };
    expect(run(400, { 1: opened, 150: closed, 200: again }, limit).fired).toEqual([
      [100, 'tool'],
      [299, 'tool'],
    ]);
  });

  test('output that waits unread is no silence', () => {
    const unread = Object.fromEntries(Array.from({ length: 400 }, (_, index) => [index + 2, 'unread' as const]));
    expect(run(400, { 1: event, ...unread }).fired).toEqual([]);
  });

  test('R123 a laptop asleep for two hours, or a host stopped as long, is no stall', () => {
    const state = observed(startWatchdogs(0), event);
    const after = tick(state, limits, { now: 7_200_000, tickMs });
    expect(after.fired).toEqual([]);
    expect(after.state.awakeMs).toBe(2 * tickMs);
  });

  test('for all gaps: never more than two ticks of time per tick, never less than none', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: -1e9, max: 1e9 })), (gaps) => {
        let state = startWatchdogs(0);
        let now = 0;
        for (const gap of gaps) {
          const before = state.awakeMs;
          now += gap;
          state = tick(state, limits, { now, tickMs }).state;
          expect(state.awakeMs - before).toBeGreaterThanOrEqual(0);
          expect(state.awakeMs - before).toBeLessThanOrEqual(2 * tickMs);
        }
      }),
    );
  });

  test('the state is plain JSON', () => {
    const { state } = run(10, { 1: event, 2: opened });
    expect(JSON.parse(JSON.stringify(state))).toEqual(state);
  });
});

function fakeClock() {
  let monotonic = 0;
  let wall = 1_000_000;
  return {
    now: () => wall,
    monotonic: () => monotonic,
    sleep: async (ms: number) => void ((monotonic += ms), (wall += ms)),
    jumpWall: (ms: number) => void (wall += ms),
  };
}

describe('running watchdogs', () => {
  test('R123 the wall clock jumping by two hours is no stall', async () => {
    const clock = fakeClock();
    const { signal } = new AbortController();
    const watch = watchdogs({ clock, limits, signal });
    watch.observed(event);
    clock.jumpWall(7_200_000);
    expect(await watch.next()).toEqual(['idle']);
    expect(clock.monotonic()).toBe(300_000);
  });

  test('says what fired, goes on when asked again, and is quiet after its signal', async () => {
    const controller = new AbortController();
    const watch = watchdogs({ clock: fakeClock(), limits, signal: controller.signal });
    expect(await watch.next()).toEqual(['startup']);
    watch.observed({ kind: 'result' });
    expect(await watch.next()).toEqual(['after-result']);
    controller.abort();
    expect(await watch.next()).toEqual([]);
  });

  test('asks whether output waits unread', async () => {
    const clock = fakeClock();
    const { signal } = new AbortController();
    const watch = watchdogs({ clock, limits, signal, hasUnread: () => clock.monotonic() < 500_000 });
    expect(await watch.next()).toEqual(['startup']);
    expect(clock.monotonic()).toBe(619_000);
  });
});
