import type { DatabaseSync } from 'node:sqlite';
import type { Clock, Random } from '../../kernel/ports.ts';
import { isBusy, lockedError } from './sqlite-error.ts';

/** How to wait for a lock that another connection holds. */
export interface Patience {
  readonly clock: Clock;
  readonly random: Random;
  /** How long in ms before `journal/locked`. */
  readonly lockTimeoutMs: number;
  readonly path: string;
}

/**
 * Calls `attempt` until it is not refused as busy. SQLite's own `busy_timeout` would block the event loop meanwhile and
 * lets one of two writers starve for seconds; 1 to 5 ms of jitter does not.
 */
export async function whileBusy<T>(patience: Patience, attempt: () => T): Promise<T> {
  const { clock, random, lockTimeoutMs, path } = patience;
  const start = clock.monotonic();
  for (;;) {
    try {
      return attempt();
    } catch (error) {
      if (!isBusy(error)) throw error;
    }
    if (clock.monotonic() - start >= lockTimeoutMs) throw lockedError(path, lockTimeoutMs);
    await clock.sleep(1 + random.next() * 4);
  }
}

/** Ends a transaction without a trace. SQLite may have done it already; the error that led here is the one to report. */
export function rollBack(db: DatabaseSync): void {
  try {
    db.exec('rollback');
  } catch {
    // There was no transaction any more.
  }
}
