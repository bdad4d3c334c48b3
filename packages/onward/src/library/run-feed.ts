import type { StoredEvent } from '../kernel/envelope.ts';
import type { Journal } from '../kernel/journal.ts';
import type { Clock } from '../kernel/ports.ts';
import type { Redactor } from '../kernel/redact.ts';
import {
  type LiveEvent,
  runStream,
  toLiveEvent,
  toStreamEvent,
  type RunStreamEvent,
  withTexts,
} from '../supervisor/index.ts';

/** Most live events kept for a reader who is slow; the oldest go first, since nothing in them is needed later. */
const maxLive = 1_000;

/** One reader's view of a run: what is recorded, in order and once, with live events in between as they come. */
export interface RunFeed {
  live(event: LiveEvent): void;
  /** Says that the run rests: what is recorded up to that position is delivered, then the feed ends. */
  end(position: number): void;
  read(after: number): AsyncIterable<RunStreamEvent>;
}

/** A feed of one run. Recorded events come from the journal at the reader's pace, so that a slow one costs no memory. */
export function createRunFeed(journal: Journal, id: string, clock: Clock, redactor: Redactor): RunFeed {
  const live: RunStreamEvent[] = [];
  const wakers = new Set<() => void>();
  const tell = (): void => {
    for (const wake of wakers) wake();
  };
  let end: number | undefined;
  return {
    live: (event) => {
      if (live.length >= maxLive) live.shift();
      live.push(toLiveEvent(event, clock.now(), redactor));
      tell();
    },
    end: (position) => {
      end = position;
      tell();
    },
    read: async function* (after) {
      let position = after;
      const recorded = takeFrom(journal, id, after, tell);
      const waker = createWaker();
      wakers.add(waker.wake);
      try {
        for (;;) {
          yield* live.splice(0);
          const step = recorded.take();
          if (step === 'none') {
            if (end !== undefined && position >= end) return;
            // oxlint-disable-next-line no-await-in-loop -- until there is something
            await waker.woken();
          } else if (step === 'over') return;
          else {
            position = step.position;
            // oxlint-disable-next-line no-await-in-loop -- one event after the other
            const event = toStreamEvent(id, await withTexts(journal, step), redactor);
            if (event !== undefined) yield event;
          }
        }
      } finally {
        wakers.delete(waker.wake);
        recorded.stop();
      }
    },
  };
}

/** Recorded events, asked for one ahead of the reader. */
interface Recorded {
  /** The next one, if it is there. Throws what the journal threw. */
  take(): StoredEvent | 'none' | 'over';
  stop(): void;
}

function takeFrom(journal: Journal, id: string, after: number, tell: () => void): Recorded {
  const stop = new AbortController();
  const events = journal.follow(runStream(id), after, stop.signal)[Symbol.asyncIterator]();
  let arrived: IteratorResult<StoredEvent> | undefined;
  let failed: { readonly error: unknown } | undefined;
  const ask = async (): Promise<void> => {
    try {
      arrived = await events.next();
    } catch (error) {
      failed = { error };
    }
    tell();
  };
  void ask();
  return {
    take: () => {
      if (failed !== undefined) throw failed.error;
      if (arrived === undefined) return 'none';
      if (arrived.done === true) return 'over';
      const { value } = arrived;
      arrived = undefined;
      void ask();
      return value;
    },
    stop: () => stop.abort(),
  };
}

/** Sleep that is ended by news, also by news that came before it. */
function createWaker(): { readonly wake: () => void; woken(): Promise<void> } {
  let isAwake = false;
  let resolve: (() => void) | undefined;
  return {
    wake: () => {
      isAwake = true;
      resolve?.();
    },
    woken: async () => {
      if (!isAwake) await new Promise<void>((done) => (resolve = done));
      isAwake = false;
      resolve = undefined;
    },
  };
}
