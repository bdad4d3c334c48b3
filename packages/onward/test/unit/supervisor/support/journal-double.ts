import type { Append, Appended, Journal } from '../../../../src/kernel/journal.ts';

/** A journal that a test can slow down, break and stop. */
export interface JournalDouble {
  readonly journal: Journal;
  /** Every batch that was asked for, in order. */
  readonly appends: (readonly Append[])[];
  /** Runs before a batch is written; what it returns is waited for, what it throws is thrown. */
  before: (batch: readonly Append[]) => void | Promise<void>;
  /** From now on nothing asked of it ever comes to an end. */
  freeze(): void;
}

/** Wraps a journal. */
export function watchedJournal(store: Journal): JournalDouble {
  let isFrozen = false;
  const live = async <T>(work: () => Promise<T>): Promise<T> => {
    if (isFrozen) return never();
    const value = await work();
    return isFrozen ? never() : value;
  };
  const double: { -readonly [Key in keyof JournalDouble]: JournalDouble[Key] } = {
    appends: [],
    before: () => undefined,
    freeze: () => {
      isFrozen = true;
    },
    journal: {
      append: (batch) => live(() => append(batch)),
      read: (stream, after) => live(() => store.read(stream, after)),
      follow: (stream, after, signal) => followed(store.follow(stream, after, signal), () => isFrozen),
      claim: (...args) => live(() => store.claim(...args)),
      renew: (...args) => live(() => store.renew(...args)),
      release: (lease) => live(() => store.release(lease)),
      lease: (stream) => live(() => store.lease(stream)),
      streams: (prefix) => live(() => store.streams(prefix)),
      due: (...args) => live(() => store.due(...args)),
      putBlob: (...args) => live(() => store.putBlob(...args)),
      getBlob: (ref) => live(() => store.getBlob(ref)),
      erase: (...args) => live(() => store.erase(...args)),
      close: () => store.close(),
    },
  };
  const append = async (batch: readonly Append[]): Promise<Appended> => {
    await double.before(batch);
    if (isFrozen) return never();
    double.appends.push(batch);
    return store.append(batch);
  };
  return double;
}

async function* followed<T>(events: AsyncIterable<T>, isFrozen: () => boolean): AsyncGenerator<T> {
  for await (const event of events) {
    if (isFrozen()) await never();
    yield event;
  }
}

function never(): Promise<never> {
  return new Promise(() => undefined);
}
