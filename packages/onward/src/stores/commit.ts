/** What one piece of work changed. */
export interface Write {
  readonly kind: 'append' | 'claim' | 'renew' | 'release' | 'erase' | 'blob';
  readonly stream: string;
  /** Types of the events that an append added. */
  readonly types: readonly string[];
}

/** One durable transaction of a store. */
export interface Commit {
  /** Counts the commits of this open journal, from 1. */
  readonly number: number;
  readonly writes: readonly Write[];
}

/**
 * Called in the process around each commit: `before` it becomes durable and `after`, ahead of the acknowledgement.
 * Made for tests that kill a process at each durable write; it must not call the journal.
 */
export type OnCommit = (moment: 'before' | 'after', commit: Commit) => void;
