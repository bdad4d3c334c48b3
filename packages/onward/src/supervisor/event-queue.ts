import type { NewEvent } from '../kernel/envelope.ts';
import type { RunWriter } from './run-writer.ts';

/** Most events in one append, and how many may wait before the reader has to. */
const batchSize = 200;
const highWater = 1_000;

/** Events on their way to the journal: in order, several to an append, never more than a bounded number waiting. */
export interface EventQueue {
  /** Takes events; resolves at once unless too many wait. */
  push(events: readonly NewEvent[]): Promise<void>;
  /** Resolves when everything pushed so far is durable. Rejects with what the journal threw, now and ever after. */
  flush(): Promise<void>;
}

/** A queue onto one writer. `onBroken` hears of the first refused append. */
export function createEventQueue(writer: RunWriter, onBroken: (error: unknown) => void): EventQueue {
  const waiting: NewEvent[] = [];
  let busy: Promise<void> | undefined;
  const broken: { readonly error: unknown }[] = [];
  const drain = async (): Promise<void> => {
    while (waiting.length > 0 && broken.length === 0) {
      try {
        // oxlint-disable-next-line no-await-in-loop -- the order of appends is the order of events
        await writer.append(waiting.splice(0, batchSize));
      } catch (error) {
        broken.push({ error });
        onBroken(error);
      }
    }
    busy = undefined;
  };
  const flush = async (): Promise<void> => {
    while (busy !== undefined || (waiting.length > 0 && broken.length === 0)) {
      busy ??= drain();
      // oxlint-disable-next-line no-await-in-loop -- until nothing is left
      await busy;
    }
    if (broken[0] !== undefined) throw broken[0].error;
  };
  return {
    push: async (events) => {
      if (events.length === 0) return;
      waiting.push(...events);
      busy ??= drain();
      if (waiting.length > highWater) await flush();
    },
    flush,
  };
}
