import { assertNever } from '../kernel/error.ts';
import type { Clock } from '../kernel/ports.ts';
import type { Signal } from '../kernel/signal.ts';

/** What a watchdog watches for; each is a fact of its own, and several may come true in one tick. */
export type WatchdogName = 'startup' | 'idle' | 'tool' | 'after-result' | 'wall';

/** How long each may last, in milliseconds of awake time. 0 = off. */
export interface WatchdogLimits {
  /** Until the first event. */
  readonly startupMs: number;
  /** Between two events, while no tool is open. */
  readonly idleMs: number;
  /** One tool call. */
  readonly toolMs: number;
  /** Between the result (or the last event after it) and the exit. */
  readonly afterResultMs: number;
  /** The whole attempt. */
  readonly wallMs: number;
}

/**
 * What was seen. Bytes are not: keep-alive pings are bytes. `input`: we sent a new turn, so that an earlier result is no
 * longer the last word.
 */
export type Observation =
  | { readonly kind: 'event' }
  | { readonly kind: 'tool-started'; readonly id: string }
  | { readonly kind: 'tool-finished'; readonly id: string }
  | { readonly kind: 'result' }
  | { readonly kind: 'input' };

/** All that the watchdogs know. Times are awake milliseconds. */
export interface WatchdogState {
  /** Monotonic time of the last tick. */
  readonly tickedAt: number;
  readonly awakeMs: number;
  readonly sinceEventMs: number;
  readonly hasEvent: boolean;
  readonly hasResult: boolean;
  /** How long each open tool call has lasted. */
  readonly openTools: Readonly<Record<string, number>>;
  readonly fired: readonly WatchdogName[];
}

/** What a tick is told. */
export interface Tick {
  /** Monotonic time. */
  readonly now: number;
  /** How far apart ticks are meant to be. */
  readonly tickMs: number;
  /** True while output waits to be read: the agent is not silent, the reader is slow. Then only the wall runs on. */
  readonly hasUnread?: boolean;
}

/** Facts 1 s apart: fine enough for limits of seconds, free of cost. */
const DEFAULT_TICK_MS = 1_000;

/** Nothing seen yet; `now` is monotonic. */
export function startWatchdogs(now: number): WatchdogState {
  return {
    tickedAt: now,
    awakeMs: 0,
    sinceEventMs: 0,
    hasEvent: false,
    hasResult: false,
    openTools: {},
    fired: [],
  };
}

/** Takes note of one observation. Any of them ends a silence, and re-arms what had fired about it. */
export function observed(state: WatchdogState, what: Observation): WatchdogState {
  const fired = state.fired.filter((name) => name === 'wall' || (name === 'tool' && what.kind !== 'tool-finished'));
  const next = { ...state, sinceEventMs: 0, fired };
  switch (what.kind) {
    case 'event':
      return { ...next, hasEvent: true };
    case 'input':
      return { ...next, hasResult: false };
    case 'result':
      return { ...next, hasEvent: true, hasResult: true };
    case 'tool-started':
      return { ...next, hasEvent: true, openTools: { ...state.openTools, [what.id]: 0 } };
    case 'tool-finished': {
      const { [what.id]: _closed, ...openTools } = state.openTools;
      return { ...next, hasEvent: true, openTools };
    }
    default:
      return assertNever(what, 'observed');
  }
}

/**
 * Lets time pass and says which watchdogs fired just now. A tick counts for at most two: whatever stopped our own clock
 * work (a suspended laptop, SIGSTOP, a busy machine) is no silence of the agent, which stood still as well or was not
 * listened to.
 */
export function tick(
  state: WatchdogState,
  limits: WatchdogLimits,
  { now, tickMs, hasUnread = false }: Tick,
): { readonly state: WatchdogState; readonly fired: readonly WatchdogName[] } {
  const passed = Math.min(Math.max(now - state.tickedAt, 0), 2 * tickMs);
  const heard = hasUnread ? 0 : passed;
  const openTools = Object.fromEntries(Object.entries(state.openTools).map(([id, ms]) => [id, ms + heard]));
  const next: WatchdogState = {
    ...state,
    tickedAt: now,
    awakeMs: state.awakeMs + passed,
    sinceEventMs: state.sinceEventMs + heard,
    openTools,
  };
  const fired = overdue(next, limits).filter((name) => !state.fired.includes(name));
  return { state: { ...next, fired: [...next.fired, ...fired] }, fired };
}

function overdue(state: WatchdogState, limits: WatchdogLimits): readonly WatchdogName[] {
  const toolTimes = Object.values(state.openTools);
  const isQuiet = toolTimes.length === 0;
  const checks: readonly (readonly [WatchdogName, boolean, number, number])[] = [
    ['startup', !state.hasEvent, state.sinceEventMs, limits.startupMs],
    ['idle', state.hasEvent && !state.hasResult && isQuiet, state.sinceEventMs, limits.idleMs],
    ['tool', !isQuiet, Math.max(0, ...toolTimes), limits.toolMs],
    ['after-result', state.hasResult, state.sinceEventMs, limits.afterResultMs],
    ['wall', true, state.awakeMs, limits.wallMs],
  ];
  return checks.filter(([, applies, ms, limit]) => applies && limit > 0 && ms >= limit).map(([name]) => name);
}

/** Watchdogs that run. */
export interface Watch {
  observed(what: Observation): void;
  /** The next that fire; empty once the signal has aborted. Ask again to go on watching. */
  next(): Promise<readonly WatchdogName[]>;
}

/** Drives the watchdogs by a clock until the signal aborts. Ticks only while `next` is waited for. */
export function watchdogs(options: {
  readonly clock: Clock;
  readonly limits: WatchdogLimits;
  readonly signal: Signal;
  readonly tickMs?: number;
  readonly hasUnread?: () => boolean;
}): Watch {
  const { clock, limits, signal, tickMs = DEFAULT_TICK_MS, hasUnread = () => false } = options;
  let state = startWatchdogs(clock.monotonic());
  return {
    observed: (what) => {
      state = observed(state, what);
    },
    next: async () => {
      for (;;) {
        // oxlint-disable-next-line no-await-in-loop -- one tick after the other
        await clock.sleep(tickMs, signal);
        if (signal.aborted) return [];
        const after = tick(state, limits, { now: clock.monotonic(), tickMs, hasUnread: hasUnread() });
        state = after.state;
        if (after.fired.length > 0) return after.fired;
      }
    },
  };
}
