import { systemClock } from '../processes/index.ts';
import type { RunResult, Supervision } from '../library/index.ts';
import { exitCodeOf } from './exit-codes.ts';
import type { Io } from './io.ts';
import { createProgress, type Verbosity } from './progress.ts';

/** How a run is shown while this process keeps it going. */
export interface WatchOptions {
  readonly json: boolean;
  readonly verbosity: Verbosity;
}

type StopSignal = 'SIGINT' | 'SIGTERM' | 'SIGHUP';

/**
 * Shows a run until it is over or rests: events as JSON lines or the final answer on standard output, progress on
 * standard error. The first Ctrl-C ends it cleanly, the second at once. Gives the exit status.
 */
export async function watchRun(io: Io, run: Supervision, options: WatchOptions): Promise<number> {
  const progress = createProgress(io, systemClock, options.verbosity, redraw);
  const stopping = listenForStop(io, run, options.verbosity);
  try {
    for await (const event of run) {
      if (options.json) io.out(JSON.stringify(event));
      progress.show(event);
    }
    progress.stop();
    const result = await run.result;
    showEnd(io, result, options);
    return exitCodeOf(result, stopping.signal());
  } finally {
    progress.stop();
    stopping.forget();
  }
}

function listenForStop(
  io: Io,
  run: Supervision,
  verbosity: Verbosity,
): { signal(): StopSignal | undefined; forget(): void } {
  let first: StopSignal | undefined;
  const stop = (signal: StopSignal): void => {
    if (first === undefined && verbosity !== 'quiet')
      io.err(`onward: ${signal}, ending the attempt and keeping a checkpoint; once more ends it at once`);
    first ??= signal;
    run.interrupt(signal);
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

function showEnd(io: Io, result: RunResult, { json, verbosity }: WatchOptions): void {
  if (result.status === 'done') {
    if (!json) io.out(result.text);
    return;
  }
  const state = result.status === 'paused' ? `paused (${result.reason})` : result.status;
  io.err(`${io.color('bold', `onward: ${state}`)} ${result.because}`);
  if (verbosity === 'quiet') return;
  if (result.status === 'paused') {
    if (result.until !== undefined) io.err(`  makes sense again at ${new Date(result.until).toISOString()}`);
    io.err(`  go on:  onward resume ${result.run}`);
  }
  io.err(`  look:   onward why ${result.run}`);
}

function redraw(line: string): void {
  process.stderr.write(`\r\u001B[2K${line}`);
}
