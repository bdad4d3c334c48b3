import type { Journal } from '../kernel/journal.ts';
import type { Signal } from '../kernel/signal.ts';
import type { AgentEvent, LiveEvent } from './agent-api.ts';
import type { SessionEvent } from './session-events.ts';
import { readSession } from './session-log.ts';

/** Carries events to any number of readers. A slow reader gets live pieces joined, and never loses a durable event. */
export interface Feed {
  durable(events: readonly SessionEvent[]): void;
  live(event: LiveEvent): void;
  /** Stored events after a position, then what comes; ends after `until` when what it had been given by then is read. */
  read(options: {
    readonly after: number;
    readonly signal?: Signal | undefined;
    readonly until?: Promise<unknown> | undefined;
  }): AsyncIterable<AgentEvent>;
  end(): void;
}

/** A feed over one stream. */
export function createFeed(journal: Journal, stream: string): Feed {
  const readers = new Set<Reader>();
  let over = false;
  return {
    durable: (events) => {
      for (const reader of readers) reader.push(events);
    },
    live: (event) => {
      for (const reader of readers) reader.pushLive(event);
    },
    async *read({ after, signal, until }) {
      const reader = new Reader();
      readers.add(reader);
      const stop = (): void => reader.finish();
      signal?.addEventListener('abort', stop, { once: true });
      void until?.then(stop);
      if (over || signal?.aborted === true) stop();
      try {
        let last = after;
        for (const event of await readSession(journal, stream, after)) {
          if (signal?.aborted === true) return;
          last = event.position;
          yield event;
        }
        for await (const event of reader) {
          if (signal?.aborted === true) return;
          if ('position' in event && event.position <= last) continue;
          yield event;
        }
      } finally {
        readers.delete(reader);
        signal?.removeEventListener('abort', stop);
      }
    },
    end() {
      over = true;
      for (const reader of readers) reader.finish();
    },
  };
}

/** The queue of one reader. */
class Reader {
  #queue: AgentEvent[] = [];
  #finished = false;
  #wake: (() => void) | undefined;

  push(events: readonly SessionEvent[]): void {
    for (const event of events) this.#queue.push(event);
    this.#wake?.();
  }

  pushLive(event: LiveEvent): void {
    const last = this.#queue.at(-1);
    if (event.type === 'live.delta' && last?.type === 'live.delta' && isSame(last, event))
      this.#queue[this.#queue.length - 1] = { ...event, first: last.first ?? last.n, text: last.text + event.text };
    else this.#queue.push(event);
    this.#wake?.();
  }

  finish(): void {
    this.#finished = true;
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<AgentEvent> {
    for (;;) {
      const batch = this.#queue;
      this.#queue = [];
      for (const event of batch) yield event;
      if (this.#queue.length > 0) continue;
      if (this.#finished) return;
      // oxlint-disable-next-line no-await-in-loop -- until there is more
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.#wake = undefined;
    }
  }
}

type Delta = Extract<LiveEvent, { readonly type: 'live.delta' }>;

function isSame(a: Delta, b: Delta): boolean {
  return a.turn === b.turn && a.step === b.step && a.block === b.block;
}
