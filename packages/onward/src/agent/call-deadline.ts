import type { Signal } from '../kernel/signal.ts';
import type { Runtime } from './runtime.ts';

/** Without a reason an abort makes an error with a stack, for each call. */
const done = Object.freeze({ name: 'AbortError', message: 'The call is over.' });

/** The time of one call. */
export interface Deadline {
  readonly signal: Signal;
  /** Resolves when the time is up, with a moment more for a body that listens. */
  readonly late: Promise<'late'>;
  passed(): boolean;
  end(): void;
}

/** What a body that was told to stop gets to do so, ms. */
const graceMs = 2_000;

/** Starts the time of a call, ms; 0 = without end. Its signal aborts with the turn's, too. */
export function startDeadline(rt: Runtime, turn: Signal, ms: number): Deadline {
  const own = new AbortController();
  const over = new AbortController();
  let passed = false;
  const stop = (): void => own.abort(turn.reason);
  if (turn.aborted) stop();
  turn.addEventListener('abort', stop, { once: true });
  const late = (async (): Promise<'late'> => {
    if (ms === 0) return await new Promise(() => undefined);
    await rt.clock.sleep(ms, over.signal);
    if (over.signal.aborted) return await new Promise(() => undefined);
    passed = true;
    own.abort(new Error(`The tool had ${ms} ms.`));
    await rt.clock.sleep(graceMs, over.signal);
    return 'late';
  })();
  return {
    signal: own.signal,
    late,
    passed: () => passed,
    end() {
      over.abort(done);
      turn.removeEventListener('abort', stop);
    },
  };
}
