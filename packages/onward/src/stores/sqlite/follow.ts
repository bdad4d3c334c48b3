import type { StoredEvent } from '../../kernel/envelope.ts';
import type { Clock } from '../../kernel/ports.ts';
import type { Signal } from '../../kernel/signal.ts';
import type { Wakeups } from '../wakeups.ts';
import type { Reader, ReadPage } from './reader.ts';

/** What following a stream needs. */
export interface FollowOptions {
  readonly reader: Reader;
  readonly wakeups: Wakeups;
  readonly clock: Clock;
  readonly pollMs: number;
  readonly isClosed: () => boolean;
}

/**
 * Yields what is there after a position and what comes later, in this process at once and from other processes at the
 * next poll. Ends quietly when the signal aborts, the journal closes, or the stream is erased.
 */
export async function* followStream(
  options: FollowOptions,
  stream: string,
  after: number,
  signal: Signal,
): AsyncGenerator<StoredEvent> {
  const { reader, wakeups, isClosed } = options;
  let page: ReadPage | undefined;
  const waiting: Waiting = { woken: false, wake: undefined };
  // Listens from before the first look, so that no append falls between a look and the wait.
  const stop = wakeups.listen(stream, () => {
    waiting.woken = true;
    waiting.wake?.();
  });
  try {
    while (!signal.aborted && !isClosed()) {
      if (page?.complete === true && !waiting.woken) {
        await pollOrWake(options, signal, waiting);
        // Nothing was committed in this process or another since the last look.
        if (!waiting.woken && page.version === (await reader.version().catch(quietly(isClosed)))) continue;
      }
      waiting.woken = false;
      const look: Promise<ReadPage> = page === undefined ? reader.first(stream, after) : reader.next(stream, page);
      const next = await look.catch(quietly(isClosed));
      if (next === undefined || isAnother(page, next)) return;
      page = next;
      for (const event of page.events) {
        if (signal.aborted) return;
        yield event;
      }
    }
  } finally {
    stop();
  }
}

/** True when the stream was erased between two looks. */
function isAnother(page: ReadPage | undefined, next: ReadPage): boolean {
  return page !== undefined && page.incarnation !== 0 && page.incarnation !== next.incarnation;
}

interface Waiting {
  /** Something was appended since the last look. */
  woken: boolean;
  /** Ends the wait under way. */
  wake: (() => void) | undefined;
}

/** Closing the journal ends a follower without an error; anything else is one. */
function quietly(isClosed: () => boolean): (error: unknown) => undefined {
  return (error) => {
    if (!isClosed()) throw error;
    return undefined;
  };
}

async function pollOrWake(options: FollowOptions, signal: Signal, waiting: Waiting): Promise<void> {
  const sleep = new AbortController();
  waiting.wake = () => sleep.abort();
  signal.addEventListener('abort', waiting.wake, { once: true });
  if (signal.aborted || options.isClosed()) sleep.abort();
  await options.clock.sleep(options.pollMs, sleep.signal);
  signal.removeEventListener('abort', waiting.wake);
  waiting.wake = undefined;
}
