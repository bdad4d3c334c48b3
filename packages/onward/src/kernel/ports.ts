import type { Signal } from './signal.ts';

/**
 * Time, as an argument. `now` may jump (it is the wall clock); `monotonic` never goes back and, where the platform
 * allows, stands still while the machine sleeps. Both are milliseconds.
 */
export interface Clock {
  /** Wall clock, ms since the epoch. */
  now(): number;
  /** Monotonic clock, ms since an arbitrary start. */
  monotonic(): number;
  /**
   * Resolves after at least `ms` milliseconds, of any size (longer than a platform timer can hold is split). Resolves
   * early, without an error, when the signal aborts: the caller looks at the signal, since cancelling is no exception.
   */
  sleep(ms: number, signal?: Signal): Promise<void>;
}

/** Source of jitter: a number in [0, 1). */
export interface Random {
  next(): number;
}

/** Source of ids. */
export interface Ids {
  /** A UUID version 7 in lower case: unique, and sortable by time of creation. */
  uuid(): string;
}

/** SHA-256 of a UTF-8 text, as 64 lower-case hexadecimal digits. */
export interface Hash {
  sha256(text: string): string;
}
