import type { Signal } from '../../kernel/signal.ts';
import type { Advance, Work, WorkStatus } from '../engine.ts';

/** What the engine remembers of one key. Only memory: all of it can be lost, since the journal says what is due. */
export interface Entry {
  readonly key: string;
  readonly work: Work;
  last?: Advance;
  /** What the latest call threw; the calls that threw in a row are counted in `failures`. */
  error?: string;
  failures: number;
  advancing: boolean;
  /** A call was asked for since the latest one began. Asking twice is asking once. */
  wanted: boolean;
  /** The loop that calls for this key, while there is one: that is what makes it one call at a time. */
  driving?: Promise<void>;
  /** Ends the pause before the next call. */
  nap?: AbortController;
  /** Wall clock of the next call, while the loop pauses for it. */
  at?: number;
  /** Position of the last inbox message that a call has been able to see. */
  inbox: number;
  /** The due time that has led to a call: a row left as it was is no news. */
  due?: number;
  /** The epoch of the dead lease that has led to a call. */
  deadEpoch?: number;
  /** Told when the loop for this key has ended, and when the engine is disposed of. */
  readonly watchers: Set<() => void>;
}

/** An entry of which nothing is known yet. */
export function newEntry(key: string, work: Work): Entry {
  return { key, work, failures: 0, advancing: false, wanted: false, inbox: 0, watchers: new Set() };
}

/** True when nothing that this engine does will change the result any more. */
export function isAtRest(entry: Entry): boolean {
  if (entry.driving !== undefined || entry.last === undefined || entry.error !== undefined) return false;
  return entry.last.kind === 'done' || (entry.last.kind === 'waiting' && entry.last.on !== 'runner');
}

/** What a caller may know of an entry. */
export function statusOf(entry: Entry): WorkStatus {
  return {
    key: entry.key,
    advancing: entry.advancing,
    ...(entry.last !== undefined && { last: entry.last }),
    ...(entry.error !== undefined && { error: entry.error }),
  };
}

/** Resolves when the loop of the entry ends or the signal aborts. */
export async function nextEnd(entry: Entry, signal: Signal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const tell = (): void => resolve();
  entry.watchers.add(tell);
  signal.addEventListener('abort', tell, { once: true });
  await promise;
  entry.watchers.delete(tell);
  signal.removeEventListener('abort', tell);
}
