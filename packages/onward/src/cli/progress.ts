import type { Clock } from '../kernel/ports.ts';
import type { RunStreamEvent } from '../library/index.ts';
import { showDuration } from './duration.ts';
import type { Io } from './io.ts';
import { failureLine, lineFor, timeOf } from './progress-lines.ts';

/** How much is said on standard error. */
export type Verbosity = 'quiet' | 'normal' | 'verbose';

/** Says what happens to a run: one line for each thing, at once; on a terminal a wait counts down. */
export interface Progress {
  show(event: RunStreamEvent): void;
  /** Ends a countdown; nothing is kept back. */
  stop(): void;
}

/** Progress for one run. */
export function createProgress(io: Io, clock: Clock, verbosity: Verbosity): Progress {
  let counting: AbortController | undefined;
  let failed: RunStreamEvent | undefined;
  const stop = (): void => {
    counting?.abort();
    counting = undefined;
    io.status('');
  };
  const say = (at: number, line: string | undefined): void => {
    if (line !== undefined) io.err(`${io.color('dim', timeOf(at))} ${line}`);
  };
  const sayFailure = (decided?: RunStreamEvent): void => {
    if (failed === undefined) return;
    say(failed.at, failureLine(io, failed, decided));
    if (failed.nextAt !== null && io.isTerminal) {
      counting = new AbortController();
      void countDown(io, clock, failed.nextAt, counting.signal);
    }
    failed = undefined;
  };
  const show = (event: RunStreamEvent): void => {
    if (verbosity === 'quiet') return;
    stop();
    // Facts and decision are one append, so the second event is there at once: together they make one line.
    if (event.type === 'recovery.decided' && failed !== undefined) return sayFailure(event);
    sayFailure();
    if (event.type === 'attempt.failed') failed = event;
    else say(event.at, lineFor(io, event, verbosity));
  };
  const finish = (): void => {
    sayFailure();
    stop();
  };
  return { stop: finish, show };
}

async function countDown(io: Io, clock: Clock, until: number, signal: AbortSignal): Promise<void> {
  while (!signal.aborted && clock.now() < until) {
    io.status(`         next attempt in ${showDuration(Math.ceil((until - clock.now()) / 1_000) * 1_000)}`);
    // oxlint-disable-next-line no-await-in-loop -- a clock that is looked at
    await clock.sleep(1_000, signal);
  }
}
