import { type SessionEvent, sessionPrefix, sessionStream } from '../agent/index.ts';
import { isOnwardError, OnwardError } from '../kernel/error.ts';
import type { Journal } from '../kernel/journal.ts';
import { type ChatRecord, chatRecordIn } from '../library/chat/index.ts';
import { acceptedOf, findRun, runIds } from './find-run.ts';

/** What an id stands for: runs and sessions share them. */
export interface Work {
  readonly kind: 'run' | 'session';
  readonly id: string;
}

/** The ids of all sessions, newest first. */
export async function sessionIds(journal: Journal): Promise<readonly string[]> {
  const streams = await journal.streams(sessionPrefix);
  return streams.map((stream) => stream.slice(sessionPrefix.length)).toReversed();
}

/**
 * The run or session that somebody means: none = the newest of this directory, else a whole id, a beginning of at least four
 * characters, or the name of a run. Throws as `findRun` does.
 */
export async function findWork(journal: Journal, wanted: string | undefined, cwd: string): Promise<Work> {
  if (wanted === undefined) return newestHere(journal, cwd);
  const session = await findSession(journal, wanted);
  if (session === undefined) return { kind: 'run', id: await findRun(journal, wanted, cwd) };
  const bare = wanted.replace(/^session:/, '');
  const runs = (await runIds(journal)).filter((id) => id.startsWith(bare));
  if (session !== bare && runs.length > 0) throw ambiguous(bare, [session, ...runs]);
  return { kind: 'session', id: session };
}

/** The session of that id, or of the only one that begins so. Throws `run/ambiguous`. */
export async function findSession(journal: Journal, wanted: string): Promise<string | undefined> {
  const ids = await sessionIds(journal);
  const bare = wanted.startsWith(sessionPrefix) ? wanted.slice(sessionPrefix.length) : wanted;
  if (ids.includes(bare)) return bare;
  const found = bare.length >= 4 ? ids.filter((id) => id.startsWith(bare)) : [];
  if (found.length > 1) throw ambiguous(bare, found);
  return found[0];
}

function ambiguous(wanted: string, found: readonly string[]): OnwardError {
  return new OnwardError('run/ambiguous', `${found.length} runs and sessions begin with ${wanted}.`, {
    place: wanted,
    next: found.slice(0, 10).map((id) => `onward show ${id}`),
  });
}

/** Newest first over both kinds: streams come in the order in which they were made. */
async function newestHere(journal: Journal, cwd: string): Promise<Work> {
  const streams = (await journal.streams('')).toReversed();
  for (const stream of streams) {
    if (stream.startsWith('run:')) {
      const id = stream.slice('run:'.length);
      // oxlint-disable-next-line no-await-in-loop -- newest first, and mostly the first fits
      if ((await acceptedOf(journal, id))?.cwd === cwd) return { kind: 'run', id };
    } else if (stream.startsWith(sessionPrefix)) {
      const id = stream.slice(sessionPrefix.length);
      // oxlint-disable-next-line no-await-in-loop
      if ((await firstRecord(journal, id))?.cwd === cwd) return { kind: 'session', id };
    }
  }
  throw new OnwardError('run/none-here', 'Nothing was started in this directory.', {
    place: cwd,
    next: ['All runs and sessions: onward ls', 'onward run -- claude -p "..."'],
  });
}

/** How far into a session its first record is looked for: it is written right after the session was made. */
const farthest = 10;

/** What a chat was made with, without reading all of it; `undefined` for a session of a program, or one that cannot be read. */
async function firstRecord(journal: Journal, id: string): Promise<ChatRecord | undefined> {
  try {
    const last = (await journal.read(sessionStream(id))).slice(0, farthest);
    return last.map((event) => chatRecordIn(event as unknown as SessionEvent)).find((record) => record !== undefined);
  } catch (error) {
    if (isOnwardError(error) && error.code !== 'journal/vanished') return undefined;
    throw error;
  }
}
