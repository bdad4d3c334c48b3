import type { Clock } from '../kernel/ports.ts';

/** Notices that something which is waited for does not come. */
export interface Watchdog {
  /** The wait begins, or goes on. */
  watch(): void;
  /** What was waited for came: the next wait begins anew. */
  rest(): void;
  /** For good; no timer is left. */
  stop(): void;
}

/**
 * Calls `bark` once when a wait lasts `ms`; with 0 never. One sleeper serves any number of waits, so that it costs
 * nothing per part of an answer.
 */
export function createWatchdog(clock: Clock, ms: number, bark: () => void): Watchdog {
  const stopped = new AbortController();
  let since: number | undefined;
  let running = false;
  const run = async (): Promise<void> => {
    running = true;
    for (;;) {
      if (since === undefined || stopped.signal.aborted) break;
      const left = since + ms - clock.monotonic();
      if (left <= 0) {
        stopped.abort();
        bark();
        break;
      }
      // oxlint-disable-next-line no-await-in-loop -- one sleep after the other is the point
      await clock.sleep(left, stopped.signal);
    }
    running = false;
  };
  return {
    watch() {
      since ??= clock.monotonic();
      if (ms > 0 && !running) void run();
    },
    rest() {
      since = undefined;
    },
    stop() {
      since = undefined;
      stopped.abort();
    },
  };
}
