import type { Advance, Work } from '../engines/engine.ts';
import type { Signal } from '../kernel/signal.ts';
import type { Clock } from '../kernel/ports.ts';

/** One call of `advance`, as it was seen. */
export interface SeenCall {
  readonly key: string;
  /** Wall clock of the call, ms since the epoch. */
  readonly at: number;
}

/** Work that does what a test says, and remembers how it was called. */
export interface ScriptedWork extends Work {
  /** All calls so far, oldest first. */
  readonly calls: readonly SeenCall[];
  /** Calls of one key. */
  times(key: string): number;
  /** The most calls of one key that were ever under way together. */
  mostAtOnce(): number;
}

/**
 * Makes work for engine tests.
 *
 * @param answer what a call comes to; `nth` counts the calls of that key from 1. May throw, and may take its time
 */
export function createScriptedWork(
  prefix: string,
  clock: Pick<Clock, 'now'>,
  answer: (key: string, nth: number, signal: Signal) => Advance | Promise<Advance>,
): ScriptedWork {
  const calls: SeenCall[] = [];
  const under = new Map<string, number>();
  let most = 0;
  const times = (key: string): number => calls.filter((call) => call.key === key).length;
  return {
    prefix,
    calls,
    times,
    mostAtOnce: () => most,
    advance: async (key, signal) => {
      calls.push({ key, at: clock.now() });
      under.set(key, (under.get(key) ?? 0) + 1);
      most = Math.max(most, under.get(key) ?? 0);
      try {
        return await answer(key, times(key), signal);
      } finally {
        under.set(key, (under.get(key) ?? 0) - 1);
      }
    },
  };
}
