import { closeSync, fstatSync, openSync, readSync, watch, type FSWatcher } from 'node:fs';
import type { Clock } from '../kernel/ports.ts';
import type { Signal } from '../kernel/signal.ts';
import { createLineSplitter, type SpoolItem } from './line-splitter.ts';

/** Which file, and from where. */
export interface TailOptions {
  readonly path: string;
  /** The byte to start at: 0, or the `endOffset` of the last item that was journalled. */
  readonly from?: number;
  /** The longest line that is handed out, in bytes. Default 8 MiB. */
  readonly capBytes?: number;
  readonly clock: Clock;
  /** Ends the iteration at once, without a word. */
  readonly signal?: Signal;
}

/** The lines of a file that grows. Iterate it once; nothing is open before the first item is asked for. */
export interface SpoolTail extends AsyncIterable<SpoolItem> {
  /** Says that the writer has exited: what is there now is read, then the iteration ends. */
  final(): void;
  /** True while there is output that nobody has asked for: the agent is not silent, we are slow. */
  hasUnread(): boolean;
}

const CHUNK_BYTES = 64 * 1024;
/** How often to look without notifications from the system, and how often to make sure with them. */
const POLL_MS = 25;
const SAFETY_POLL_MS = 200;
const DEFAULT_CAP_BYTES = 8 * 1024 * 1024;

/**
 * Reads an append-only file line by line while it is written, at the reader's pace: at most one chunk (64 KiB) and one
 * line ahead. A file that is not there yet is waited for.
 */
export function tailLines(options: TailOptions): SpoolTail {
  const waker = createWaker(options);
  const state: TailState = {
    position: options.from ?? 0,
    end: Infinity,
    isFinal: false,
    isDelivering: false,
    file: undefined,
  };
  const iterator = iterate(readBatches(options, state, waker), options.signal);
  return {
    [Symbol.asyncIterator]: () => iterator,
    final: () => {
      state.isFinal = true;
      waker.wake();
    },
    hasUnread: () => {
      if (state.file === undefined) return false;
      return state.isDelivering || fstatSync(state.file).size > state.position;
    },
  };
}

interface TailState {
  position: number;
  /** Where to stop, once it is known that the writer has exited. */
  end: number;
  isFinal: boolean;
  isDelivering: boolean;
  file: number | undefined;
}

/** Hands the items of batches out one by one; written by hand since an async generator takes three turns per item. */
function iterate(
  batches: AsyncGenerator<readonly SpoolItem[], void>,
  signal: Signal | undefined,
): AsyncIterator<SpoolItem, undefined> {
  const end = { done: true, value: undefined } as const;
  let batch: readonly SpoolItem[] = [];
  let at = 0;
  const nextBatch = async (): Promise<IteratorResult<SpoolItem, undefined>> => {
    for (;;) {
      // oxlint-disable-next-line no-await-in-loop -- a batch may hold no whole line
      const { done, value } = await batches.next();
      if (done === true || signal?.aborted === true) return end;
      batch = value;
      const first = batch[0];
      at = 1;
      if (first !== undefined) return { done: false, value: first };
    }
  };
  return {
    next: () => {
      const item = signal?.aborted === true ? undefined : batch[at++];
      return item === undefined ? nextBatch() : Promise.resolve({ done: false, value: item });
    },
    return: async () => {
      batch = [];
      await batches.return();
      return end;
    },
  };
}

async function* readBatches(
  options: TailOptions,
  state: TailState,
  waker: Waker,
): AsyncGenerator<readonly SpoolItem[], void> {
  const splitter = createLineSplitter(state.position, options.capBytes ?? DEFAULT_CAP_BYTES);
  const chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES);
  // Also when nobody asks for the next item any more.
  const stop = (): void => close(state, waker);
  options.signal?.addEventListener('abort', stop, { once: true });
  try {
    state.file = await openWhenThere(options, state, waker);
    // While it was opened there was nothing that the listener could close.
    if (options.signal?.aborted === true) return;
    waker.watch();
    for (let size = 0; (size = await fillWhenWritten(chunk, state, waker)) > 0;) {
      state.isDelivering = true;
      yield splitter.push(chunk.subarray(0, size));
      state.isDelivering = false;
      // Reading does not wait for anything, so that timers and signals get their turn here.
      await new Promise((resolve) => setImmediate(resolve));
    }
    const rest = splitter.finish();
    if (rest !== undefined) yield [rest];
  } finally {
    options.signal?.removeEventListener('abort', stop);
    close(state, waker);
  }
}

/** How many bytes were read, waiting for the writer; 0 at the end. */
async function fillWhenWritten(chunk: Buffer, state: TailState, waker: Waker): Promise<number> {
  while (state.file !== undefined) {
    waker.reset();
    // What a left-behind child appends after the exit is not part of the attempt, and might never end.
    if (state.isFinal && state.end === Infinity) state.end = fstatSync(state.file).size;
    const size = fill(chunk, state, state.file);
    if (size > 0 || state.end !== Infinity) return size;
    // oxlint-disable-next-line no-await-in-loop -- until the file has grown
    await waker.wait();
  }
  return 0;
}

/** Ends waiting and frees the file. */
function close(state: TailState, waker: Waker): void {
  const { file } = state;
  state.file = undefined;
  waker.close();
  if (file !== undefined) closeSync(file);
}

/** In place: what was just written is in memory, and a turn through the thread pool costs more than the copy. */
function fill(chunk: Buffer, state: TailState, file: number): number {
  const length = Math.min(chunk.length, Math.max(state.end - state.position, 0));
  if (length === 0) return 0;
  const size = readSync(file, chunk, 0, length, state.position);
  state.position += size;
  return size;
}

async function openWhenThere(options: TailOptions, state: TailState, waker: Waker): Promise<number | undefined> {
  while (options.signal?.aborted !== true) {
    try {
      return openSync(options.path, 'r');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      if (state.isFinal) return undefined;
      // oxlint-disable-next-line no-await-in-loop -- until it is there
      await waker.wait();
    }
  }
  return undefined;
}

/** Waits for news about a file: a notification if the system gives them, else a look every few milliseconds. */
interface Waker {
  watch(): void;
  /** Forgets news so far: call it before looking. */
  reset(): void;
  wait(): Promise<void>;
  wake(): void;
  /** Ends the notifications and the wait. */
  close(): void;
}

function createWaker({ path, clock, signal }: TailOptions): Waker {
  let watcher: FSWatcher | undefined;
  let hasNews = false;
  let waiting: AbortController | undefined;
  const wake = (): void => {
    hasNews = true;
    // With a reason, since without one an error with its stack is made.
    waiting?.abort('news');
  };
  const unwatch = (): void => {
    watcher?.close();
    watcher = undefined;
  };
  return {
    watch: () => {
      try {
        watcher = watch(path, { persistent: false }, wake);
        watcher.on('error', unwatch);
      } catch {
        // No watches left, or a file system without them: polling does.
      }
    },
    reset: () => {
      hasNews = false;
    },
    wait: async () => {
      if (hasNews || signal?.aborted === true) return;
      waiting = new AbortController();
      await clock.sleep(watcher === undefined ? POLL_MS : SAFETY_POLL_MS, waiting.signal);
    },
    wake,
    close: () => {
      unwatch();
      wake();
    },
  };
}
