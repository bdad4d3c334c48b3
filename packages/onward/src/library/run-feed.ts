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
  /** Says that the run rests: what is recorded by now is delivered, then the feed ends. */
  end(): void;
  read(after: number): AsyncIterable<RunStreamEvent>;
}

/** A feed of one run. Recorded events come from the journal at the reader's pace, so that a slow one costs no memory. */
export function createRunFeed(journal: Journal, id: string, clock: Clock, redactor: Redactor): RunFeed {
  const live: RunStreamEvent[] = [];
  const stop = new AbortController();
  let news = Promise.withResolvers<void>();
  return {
    live: (event) => {
      if (live.length >= maxLive) live.shift();
      live.push(toLiveEvent(event, clock.now(), redactor));
      news.resolve();
    },
    end: () => {
      stop.abort();
      news.resolve();
    },
    read: async function* (after) {
      let position = after;
      const recorded = journal.follow(runStream(id), after, stop.signal)[Symbol.asyncIterator]();
      let next = recorded.next();
      for (;;) {
        yield* live.splice(0);
        // oxlint-disable-next-line no-await-in-loop -- one event after the other
        const step = await Promise.race([next, news.promise.then(() => undefined)]);
        if (step === undefined) {
          news = Promise.withResolvers<void>();
          if (!stop.signal.aborted) continue;
          break;
        }
        if (step.done === true) break;
        position = step.value.position;
        next = recorded.next();
        const event = toStreamEvent(id, await withTexts(journal, step.value), redactor);
        if (event !== undefined) yield event;
      }
      yield* live.splice(0);
      // What was recorded while the follower was being stopped.
      for (const stored of await journal.read(runStream(id), position)) {
        const event = toStreamEvent(id, await withTexts(journal, stored), redactor);
        if (event !== undefined) yield event;
      }
      await next.catch(() => undefined);
      await recorded.return?.();
    },
  };
}
