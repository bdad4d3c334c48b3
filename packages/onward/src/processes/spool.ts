import { fstatSync, watch, type FSWatcher } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
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
  const state: TailState = { position: options.from ?? 0, isFinal: false, isDelivering: false, handle: undefined };
  const iterator = read(options, state, waker);
  return {
    [Symbol.asyncIterator]: () => iterator,
    final: () => {
      state.isFinal = true;
      waker.wake();
    },
    hasUnread: () => {
      if (state.handle === undefined) return false;
      return state.isDelivering || fstatSync(state.handle.fd).size > state.position;
    },
  };
}

interface TailState {
  position: number;
  isFinal: boolean;
  isDelivering: boolean;
  handle: FileHandle | undefined;
}

async function* read(options: TailOptions, state: TailState, waker: Waker): AsyncGenerator<SpoolItem> {
  const splitter = createLineSplitter(state.position, options.capBytes ?? DEFAULT_CAP_BYTES);
  const chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES);
  const stopped = (): boolean => options.signal?.aborted === true;
  // Also when nobody asks for the next item any more.
  const stop = (): void => void close(state, waker);
  options.signal?.addEventListener('abort', stop, { once: true });
  try {
    state.handle = await openWhenThere(options, state, waker);
    waker.watch();
    for (let end = Infinity; state.handle !== undefined && !stopped();) {
      waker.reset();
      // What a left-behind child appends after the exit is not part of the attempt, and might never end.
      if (state.isFinal && end === Infinity) end = fstatSync(state.handle.fd).size;
      const size = await fill(chunk, state, end);
      state.isDelivering = true;
      for (const item of splitter.push(chunk.subarray(0, size))) {
        if (stopped()) return;
        yield item;
      }
      state.isDelivering = false;
      if (size > 0) continue;
      if (end !== Infinity) break;
      await waker.wait();
    }
    const rest = splitter.finish();
    if (rest !== undefined && !stopped()) yield rest;
  } finally {
    options.signal?.removeEventListener('abort', stop);
    await close(state, waker);
  }
}

/** Ends waiting and frees the file; a read that is under way is waited for. */
async function close(state: TailState, waker: Waker): Promise<void> {
  const { handle } = state;
  state.handle = undefined;
  waker.close();
  await handle?.close();
}

async function fill(chunk: Buffer, state: TailState, end: number): Promise<number> {
  const length = Math.min(chunk.length, Math.max(end - state.position, 0));
  if (length === 0 || state.handle === undefined) return 0;
  const { bytesRead } = await state.handle.read(chunk, 0, length, state.position);
  state.position += bytesRead;
  return bytesRead;
}

async function openWhenThere(options: TailOptions, state: TailState, waker: Waker): Promise<FileHandle | undefined> {
  while (options.signal?.aborted !== true) {
    try {
      return await open(options.path, 'r');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      if (state.isFinal) return undefined;
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
    waiting?.abort();
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
