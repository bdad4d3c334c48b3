import type { DueStream, Holder, Journal, Lease } from '../../kernel/journal.ts';
import type { Entry } from './entry.ts';

/** Tells whether a holder is known to be gone before its lease has run out. */
export type IsDead = (held: Holder) => boolean;

/** All rows that are due. Rows of work that this engine does not know must not hide its own behind a limit. */
export async function allDue(journal: Journal, now: number): Promise<readonly DueStream[]> {
  for (let limit = 100; ; limit *= 4) {
    const rows = await journal.due(now, limit);
    if (rows.length < limit) return rows;
  }
}

/** Position of the last message of an inbox, given one that is known; a lower one when the inbox was erased since. */
export async function lastPosition(journal: Journal, inbox: string, known: number): Promise<number> {
  // From the known one on, so that its absence shows.
  const news = await journal.read(inbox, Math.max(0, known - 1));
  const last = news.at(-1)?.position;
  if (last !== undefined) return last;
  return known === 0 ? 0 : lastPosition(journal, inbox, 0);
}

/** The lease that a worker left behind when it died; `undefined` while its holder lives or none is held. */
export async function deadLease(
  journal: Journal,
  stream: string,
  now: number,
  isDead: IsDead,
): Promise<Lease | undefined> {
  const lease = await journal.lease(stream);
  if (lease === undefined) return undefined;
  return lease.expiresAt <= now || isDead(lease.holder) ? lease : undefined;
}

/** True when a runner is said to be at work for this entry, but its lease is one that has led to no call yet. */
export async function hasLostRunner(journal: Journal, entry: Entry, now: number, isDead: IsDead): Promise<boolean> {
  if (entry.last?.kind !== 'waiting' || entry.last.on !== 'runner') return false;
  const lease = await deadLease(journal, entry.key, now, isDead);
  if (lease === undefined || lease.epoch === entry.deadEpoch) return false;
  entry.deadEpoch = lease.epoch;
  return true;
}
