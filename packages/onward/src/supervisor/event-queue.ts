import type { NewEvent } from '../kernel/envelope.ts';
import type { RunWriter } from './run-writer.ts';

/** How many events an append takes before the next one begins, and how many may wait before the reader has to. */
const batchSize = 200;
const highWater = 1_000;

/** Events on their way to the journal: in order, several to an append, never more than a bounded number waiting. */
export interface EventQueue {
  /** Takes events that belong together (one line's): they are in one append. Resolves at once unless too many wait. */
  push(events: readonly NewEvent[]): Promise<void>;
  /** Resolves when everything pushed so far is durable. Rejects with what the journal threw, now and ever after. */
  flush(): Promise<void>;
}

/** A queue onto one writer. `onBroken` hears of the first refused append; from then on nothing is taken. */
export function createEventQueue(writer: Pick<RunWriter, 'append'>, onBroken: (error: unknown) => void): EventQueue {
  const waiting: (readonly NewEvent[])[] = [];
  let count = 0;
  let busy: Promise<void> | undefined;
  let broken: { readonly error: unknown } | undefined;
  const takeBatch = (): readonly NewEvent[] => {
    const batch: NewEvent[] = [];
    while (batch.length < batchSize && waiting.length > 0) batch.push(...(waiting.shift() ?? []));
    count -= batch.length;
    return batch;
  };
  const drain = async (): Promise<void> => {
    while (waiting.length > 0 && broken === undefined) {
      try {
        // oxlint-disable-next-line no-await-in-loop -- the order of appends is the order of events
        await writer.append(takeBatch());
      } catch (error) {
        broken = { error };
        waiting.length = 0;
        onBroken(error);
      }
    }
    // In the same turn as the last look at what waits, so that nothing pushed is left lying.
    busy = undefined;
  };
  const flush = async (): Promise<void> => {
    // oxlint-disable-next-line no-await-in-loop, no-unmodified-loop-condition -- `drain` ends it, when nothing is left
    while (busy !== undefined) await busy;
    if (broken !== undefined) throw broken.error;
  };
  return {
    push: async (events) => {
      if (events.length === 0 || broken !== undefined) return;
      waiting.push(events);
      count += events.length;
      // There is something to append, so draining goes on beyond this line and ends later than it is noted.
      busy ??= drain();
      if (count > highWater) await flush();
    },
    flush,
  };
}
