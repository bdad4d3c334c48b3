import type { Journal, Lease } from '../kernel/journal.ts';
import type { AttemptHost } from '../supervisor/index.ts';
import { runStream } from '../supervisor/index.ts';

/** As {@link liveLease}, for any stream. */
export async function liveLeaseOf(
  journal: Journal,
  host: Pick<AttemptHost, 'isDead'>,
  stream: string,
  now: number,
): Promise<Lease | undefined> {
  const lease = await journal.lease(stream);
  if (lease === undefined || lease.expiresAt <= now || host.isDead(lease.holder)) return undefined;
  return lease;
}

/** The lease of a run if a live process holds it; a holder whose process is gone, or whose time is up, does not count. */
export async function liveLease(
  journal: Journal,
  host: AttemptHost,
  id: string,
  now: number,
): Promise<Lease | undefined> {
  return liveLeaseOf(journal, host, runStream(id), now);
}
