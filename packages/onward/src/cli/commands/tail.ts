import { systemClock } from '../../processes/index.ts';
import { createDeps } from '../../library/index.ts';
import { createRedactor } from '../../kernel/redact.ts';
import { foldRun, resultOf, readBody, runStream, toStreamEvent } from '../../supervisor/index.ts';
import { exitCodeOf } from '../exit-codes.ts';
import { findRun } from '../find-run.ts';
import type { Io } from '../io.ts';
import { withJournal } from '../open-journal.ts';
import { createProgress } from '../progress.ts';

/** `onward tail`: what happened so far and what happens next, until the run is over or rests. Changes nothing. */
export async function tail(
  io: Io,
  wanted: string | undefined,
  flags: { readonly journal?: string; readonly json?: boolean; readonly verbose?: boolean },
): Promise<number> {
  return withJournal(io, flags.journal, async (journal) => {
    const { env } = createDeps({ env: io.env, journal });
    const id = await findRun(journal, wanted, io.cwd);
    const redactor = createRedactor(env);
    const progress = createProgress(
      { ...io, isTerminal: false },
      systemClock,
      flags.verbose === true ? 'verbose' : 'normal',
      () => undefined,
    );
    const stop = new AbortController();
    const forget = stopOnSignal(stop);
    try {
      for await (const stored of journal.follow(runStream(id), 0, stop.signal)) {
        const event = toStreamEvent(id, stored, redactor);
        if (event === undefined) continue;
        if (flags.json === true) io.out(JSON.stringify(event));
        else progress.show(event);
        if (stored.type !== 'run.ended' && stored.type !== 'run.paused') continue;
        // oxlint-disable-next-line no-await-in-loop -- only at a rest
        const run = foldRun(id, await journal.read(runStream(id)));
        // oxlint-disable-next-line no-await-in-loop -- as above
        const result = run === undefined ? undefined : await resultOf(run, (body) => readBody(journal, body));
        if (result === undefined) continue;
        if (flags.json !== true) io.err(`onward: ${result.status}${'because' in result ? `, ${result.because}` : ''}`);
        return exitCodeOf(result);
      }
      return 130;
    } finally {
      forget();
    }
  });
}

function stopOnSignal(stop: AbortController): () => void {
  const abort = (): void => stop.abort();
  process.once('SIGINT', abort).once('SIGTERM', abort);
  return () => void process.off('SIGINT', abort).off('SIGTERM', abort);
}
