import type { Journal } from '../../kernel/journal.ts';
import { createRedactor } from '../../kernel/redact.ts';
import { createDeps } from '../../library/index.ts';
import { systemClock } from '../../processes/index.ts';
import {
  foldRun,
  readBody,
  resultOf,
  type RunResult,
  runStream,
  type SupervisorDeps,
  toStreamEvent,
  withTexts,
} from '../../supervisor/index.ts';
import { exitCodeOf, exitCodeOfSignal, exitCodes, type StopSignal } from '../exit-codes.ts';
import { findWork } from '../find-work.ts';
import type { Io } from '../io.ts';
import { liveLease } from '../live-lease.ts';
import { withJournal } from '../open-journal.ts';
import { createProgress } from '../progress.ts';
import { tailSession } from '../sessions/session-pages.ts';
import { showEnd } from '../watch-run.ts';

/** The flags of `tail`. */
export interface TailFlags {
  readonly journal?: string;
  readonly json?: boolean;
  readonly verbose?: boolean;
}

/** How often to look whether anybody still keeps the run going. */
const lookMs = 2_000;

/**
 * `onward tail`: what happened so far and what happens next, until the run is over or rests. Changes nothing. The lines are
 * what was asked for, so they go to standard output.
 */
export async function tail(io: Io, wanted: string | undefined, flags: TailFlags): Promise<number> {
  return withJournal(io, flags.journal, async (journal) => {
    const deps = createDeps({ env: io.env, journal });
    const { kind, id } = await findWork(journal, wanted, io.cwd);
    if (kind === 'session') return tailSession(io, journal, id, flags.json === true);
    const stop = listenForStop(io);
    void stopWhenOrphaned(deps, id, stop);
    try {
      const result = await followToRest(io, deps, id, { flags, signal: stop.signal });
      if (result === undefined) return stopped(io, id, stop.signal.reason);
      if (flags.json !== true) showEnd(io, result, { json: false, verbosity: 'normal' });
      return exitCodeOf(result);
    } finally {
      stop.abort();
    }
  });
}

async function followToRest(
  io: Io,
  { journal, env }: SupervisorDeps,
  id: string,
  { flags, signal }: { readonly flags: TailFlags; readonly signal: AbortSignal },
): Promise<RunResult | undefined> {
  const redactor = createRedactor(env);
  const lines: Io = { ...io, err: (line) => io.out(line), isTerminal: false, color: (_style, text) => text };
  const progress = createProgress(lines, systemClock, flags.verbose === true ? 'verbose' : 'normal');
  for await (const stored of journal.follow(runStream(id), 0, signal)) {
    const event = toStreamEvent(id, await withTexts(journal, stored), redactor);
    if (event === undefined) continue;
    if (flags.json === true) io.json(event);
    else progress.show(event);
    await io.drained();
    if (stored.type !== 'run.ended' && stored.type !== 'run.paused') continue;
    const result = await restOf(journal, id, stored.position);
    if (result !== undefined) return result;
  }
  return undefined;
}

/** The result, if the run rests at this event: an old pause of a run that went on is only a part of its story. */
async function restOf(journal: Journal, id: string, position: number): Promise<RunResult | undefined> {
  const run = foldRun(id, await journal.read(runStream(id)));
  return run?.position === position ? resultOf(run, (body) => readBody(journal, body)) : undefined;
}

/** A run that nobody keeps going would be followed for ever. Twice in a row, since one process may take over from another. */
async function stopWhenOrphaned(
  { journal, host, clock }: SupervisorDeps,
  id: string,
  stop: AbortController,
): Promise<void> {
  for (let missed = 0; missed < 2 && !stop.signal.aborted;) {
    // oxlint-disable-next-line no-await-in-loop -- a look now and then
    const held = await liveLease(journal, host, id, clock.now()).catch(() => undefined);
    missed = held === undefined ? missed + 1 : 0;
    // oxlint-disable-next-line no-await-in-loop -- as above
    await clock.sleep(lookMs, stop.signal);
  }
  stop.abort('orphaned');
}

function listenForStop(io: Io): AbortController {
  const stop = new AbortController();
  const handlers = (['SIGINT', 'SIGTERM', 'SIGHUP'] as const).map(
    (signal) => [signal, (): void => stop.abort(signal)] as const,
  );
  for (const [signal, handler] of handlers) process.on(signal, handler);
  io.gone.addEventListener('abort', () => stop.abort('gone'), { once: true });
  stop.signal.addEventListener('abort', () => {
    for (const [signal, handler] of handlers) process.off(signal, handler);
  });
  return stop;
}

function stopped(io: Io, id: string, reason: unknown): number {
  switch (reason) {
    case 'gone':
      return exitCodes.done.code;
    case 'orphaned':
      io.err('onward: no live process keeps this run going');
      io.err(`  go on:  ${io.hint(`resume ${id}`)}`);
      return exitCodes.needsHuman.code;
    default:
      return exitCodeOfSignal(reason as StopSignal | undefined);
  }
}
