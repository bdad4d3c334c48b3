import { systemClock } from '../processes/index.ts';
import type { RunResult, Supervision } from '../library/index.ts';
import { exitCodeOf, exitCodeOfSignal, type StopSignal } from './exit-codes.ts';
import type { Io } from './io.ts';
import { oneLine } from './plain-text.ts';
import { createProgress, type Progress, type Verbosity } from './progress.ts';

/** How a run is shown while this process keeps it going. */
export interface WatchOptions {
  readonly json: boolean;
  readonly verbosity: Verbosity;
}

/** The part of the flags that says how. */
export interface WatchFlags {
  readonly json?: boolean;
  readonly quiet?: boolean;
  readonly verbose?: boolean;
}

/** `--quiet` wins over `--verbose`. */
export function watchOptions({ json, quiet, verbose }: WatchFlags): WatchOptions {
  return { json: json === true, verbosity: quiet === true ? 'quiet' : verbose === true ? 'verbose' : 'normal' };
}

/**
 * Shows a run until it is over or rests: events as JSON lines or the final answer on standard output, progress on
 * standard error. The first Ctrl-C ends it cleanly, the second at once. Gives the exit status.
 */
export async function watchRun(io: Io, run: Supervision, options: WatchOptions): Promise<number> {
  const progress = createProgress(io, systemClock, options.verbosity);
  const stopping = listenForStop(io, run, options.verbosity);
  try {
    await showEvents(io, run, options, progress);
    progress.stop();
    const result = await run.result;
    showEnd(io, result, options);
    return exitCodeOf(result, stopping.signal());
  } catch (error) {
    // What can no longer be shown is not left running unseen: the attempt is ended before this process goes.
    run.interrupt('it could no longer be followed');
    await run.result.catch(() => undefined);
    throw error;
  } finally {
    progress.stop();
    stopping.forget();
  }
}

async function showEvents(io: Io, run: Supervision, { json }: WatchOptions, progress: Progress): Promise<void> {
  for await (const event of run) {
    progress.show(event);
    if (!json) continue;
    io.json(event);
    await io.drained();
  }
}

const causes: Readonly<Record<StopSignal, string>> = {
  SIGINT: 'interrupted by Ctrl-C (SIGINT)',
  SIGTERM: 'ended from outside (SIGTERM)',
  SIGHUP: 'the terminal was closed (SIGHUP)',
};

function listenForStop(
  io: Io,
  run: Supervision,
  verbosity: Verbosity,
): { signal(): StopSignal | undefined; forget(): void } {
  let first: StopSignal | undefined;
  let count = 0;
  const stop = (signal: StopSignal): void => {
    first ??= signal;
    count += 1;
    // The guard ends the agent when this process is gone, and `resume` takes over from there.
    if (count > 2) process.exit(exitCodeOfSignal(first));
    if (verbosity !== 'quiet') {
      const how = count === 1 ? 'ending the attempt and keeping a checkpoint; once more ends it at once' : 'at once';
      io.err(`onward: ${signal}, ${how}`);
    }
    run.interrupt(causes[signal]);
  };
  const handlers = (['SIGINT', 'SIGTERM', 'SIGHUP'] as const).map((signal) => [signal, () => stop(signal)] as const);
  for (const [signal, handler] of handlers) process.on(signal, handler);
  return {
    signal: () => first,
    forget: () => {
      for (const [signal, handler] of handlers) process.off(signal, handler);
    },
  };
}

/** The end of a run: the answer on standard output; for everything else what it is, why, and how to go on. */
export function showEnd(io: Io, result: RunResult, { json, verbosity }: WatchOptions): void {
  if (result.status === 'done') {
    if (!json) io.out(result.text);
    return;
  }
  const state = result.status === 'paused' ? `paused (${result.reason})` : result.status;
  io.err(`${io.color('bold', `onward: ${state}:`)} ${oneLine(result.because, 1_000)}`);
  if (verbosity === 'quiet') return;
  if (result.status === 'paused') {
    if (result.until !== undefined && result.until > systemClock.now())
      io.err(`  not before ${new Date(result.until).toISOString()}`);
    const when = result.reason === 'needs-human' ? 'then:   ' : 'go on:  ';
    io.err(`  ${when}${io.hint(`resume ${result.run}`)}`);
  }
  io.err(`  why:    ${io.hint(`why ${result.run}`)}`);
}
