import type { Append, Journal } from '../../../src/kernel/journal.ts';

/** A journal between the agent and the real one. */
export interface FaultyJournal extends Journal {
  /** Appends that reached it, also those that failed. */
  readonly batches: readonly (readonly Append[])[];
  /** As if the process had died: nothing that is asked from now on is done or answered. */
  kill(): void;
  readonly dead: boolean;
}

/** What a test does to an append: throw, or wait; what it does before anything is written. */
export type BeforeAppend = (batch: readonly Append[], nth: number) => void | Promise<void>;

/** Puts a test between an agent and its journal. */
export function faultyJournal(inner: Journal, before: BeforeAppend = () => undefined): FaultyJournal {
  const batches: (readonly Append[])[] = [];
  let dead = false;
  const alive = async <Value>(act: () => Promise<Value>): Promise<Value> =>
    dead ? await new Promise<never>(() => undefined) : await act();
  return {
    batches,
    kill: () => {
      dead = true;
    },
    get dead() {
      return dead;
    },
    append: (batch) =>
      alive(async () => {
        batches.push(batch);
        await before(batch, batches.length);
        return await alive(() => inner.append(batch));
      }),
    read: (stream, after) => alive(() => inner.read(stream, after)),
    follow: (stream, after, signal) => inner.follow(stream, after, signal),
    claim: (...args) => alive(() => inner.claim(...args)),
    renew: (...args) => alive(() => inner.renew(...args)),
    release: (lease) => alive(() => inner.release(lease)),
    lease: (stream) => alive(() => inner.lease(stream)),
    streams: (prefix) => alive(() => inner.streams(prefix)),
    due: (...args) => alive(() => inner.due(...args)),
    putBlob: (...args) => alive(() => inner.putBlob(...args)),
    getBlob: (ref) => alive(() => inner.getBlob(ref)),
    erase: (...args) => alive(() => inner.erase(...args)),
    close: () => inner.close(),
  };
}

/** Whether a batch would store an event of this type. */
export function stores(batch: readonly Append[], type: string): boolean {
  return batch.some(({ events }) => events.some((event) => event.type === type));
}

/** Fails the appends that hold an event of this type, as a full disk would; the first `times` of them. */
export function vetoing(inner: Journal, type: string, times: number = Number.POSITIVE_INFINITY): FaultyJournal {
  let left = times;
  return faultyJournal(inner, (batch) => {
    if (left <= 0 || !stores(batch, type)) return;
    left -= 1;
    throw new Error(`No space left for ${type}`);
  });
}
