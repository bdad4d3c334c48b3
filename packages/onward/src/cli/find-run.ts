import type { StoredEvent } from '../kernel/envelope.ts';
import { isOnwardError, OnwardError } from '../kernel/error.ts';
import type { Journal } from '../kernel/journal.ts';
import { foldRun, type RunAccepted, type RunState, runStream } from '../supervisor/index.ts';

const prefix = 'run:';

/** The ids of all runs, newest first. */
export async function runIds(journal: Journal): Promise<readonly string[]> {
  const streams = await journal.streams(prefix);
  return streams.map((stream) => stream.slice(prefix.length)).toReversed();
}

/** A run, folded. Throws `run/unknown` when there is none of that id. */
export async function loadRun(journal: Journal, id: string): Promise<RunState> {
  const run = foldRun(id, await journal.read(runStream(id)));
  if (run !== undefined) return run;
  throw new OnwardError('run/unknown', `There is no run ${id}.`, { next: ['onward ls'] });
}

/** A run in a list: one that is damaged or was written by a newer version must not hide all others. */
export type Listed =
  | { readonly ok: true; readonly run: RunState }
  | { readonly ok: false; readonly id: string; readonly error: OnwardError };

/** All runs, newest first, one at a time. A run that is erased meanwhile is left out. */
export async function* listRuns(journal: Journal): AsyncGenerator<Listed> {
  for (const id of await runIds(journal)) {
    try {
      // oxlint-disable-next-line no-await-in-loop -- one run in memory at a time
      const run = foldRun(id, await journal.read(runStream(id)));
      if (run !== undefined) yield { ok: true, run };
    } catch (error) {
      if (!isOnwardError(error) || error.code === 'journal/vanished') throw error;
      yield { ok: false, id, error };
    }
  }
}

/**
 * The id that somebody means: none = the newest of this directory, else a whole id, a beginning of at least four
 * characters, or a name (the newest that has it). Throws `run/none-here`, `run/unknown`, `run/ambiguous`.
 */
export async function findRun(journal: Journal, wanted: string | undefined, cwd: string): Promise<string> {
  const ids = await runIds(journal);
  if (wanted === undefined) return newestHere(journal, ids, cwd);
  const whole = wanted.startsWith(prefix) ? wanted.slice(prefix.length) : wanted;
  if (ids.includes(whole)) return whole;
  const found = whole.length >= 4 ? ids.filter((id) => id.startsWith(whole)) : [];
  if (found.length === 1) return found[0] as string;
  if (found.length > 1) {
    throw new OnwardError('run/ambiguous', `${found.length} runs begin with ${whole}.`, {
      place: whole,
      next: found.slice(0, 10).map((id) => `onward show ${id}`),
    });
  }
  for (const id of ids) {
    // oxlint-disable-next-line no-await-in-loop -- newest first, and mostly the first fits
    if ((await acceptedOf(journal, id))?.name === wanted) return id;
  }
  throw new OnwardError('run/unknown', `No run has the id, beginning (4 characters or more) or name ${wanted}.`, {
    place: wanted,
    next: ['onward ls'],
  });
}

async function newestHere(journal: Journal, ids: readonly string[], cwd: string): Promise<string> {
  for (const id of ids) {
    // oxlint-disable-next-line no-await-in-loop -- newest first, and mostly the first fits
    if ((await acceptedOf(journal, id))?.cwd === cwd) return id;
  }
  throw new OnwardError('run/none-here', 'No run was started in this directory.', {
    place: cwd,
    next: ['All runs: onward ls', 'onward run -- claude -p "..."'],
  });
}

/** What a run was accepted with, without reading all of it; `undefined` for a run that cannot be read. */
export async function acceptedOf(journal: Journal, id: string): Promise<RunAccepted | undefined> {
  const first = await firstEvent(journal, id).catch((error: unknown) => {
    if (isOnwardError(error) && error.code !== 'journal/vanished') return undefined;
    throw error;
  });
  return first?.type === 'run.accepted' ? (first.data as unknown as RunAccepted) : undefined;
}

async function firstEvent(journal: Journal, id: string): Promise<StoredEvent | undefined> {
  for await (const event of journal.follow(runStream(id), 0, new AbortController().signal)) return event;
  return undefined;
}
