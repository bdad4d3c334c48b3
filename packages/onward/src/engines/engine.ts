import type { Signal } from '../kernel/signal.ts';

/**
 * What one `advance` came to. `again` asks to be called at a time (ms since the epoch); `waiting` asks to be called
 * when something else happened: a person answered, a runner ended, a usage limit was lifted, the right host took over.
 */
export type Advance =
  | { readonly kind: 'done' }
  | { readonly kind: 'again'; readonly at: number }
  | { readonly kind: 'waiting'; readonly on: 'question' | 'runner' | 'quota' | 'host' };

/** Re-entrant work: whatever crashed, and wherever, calling `advance` again repairs it. */
export interface Work {
  /** Streams whose key begins so belong to this work, e.g. `run:`. */
  readonly prefix: string;
  /**
   * Does the next thing for a key and returns within seconds; long work goes to a runner beside it. Called by one
   * caller at a time for a key within an engine; across engines the journal's lease decides. A throw is a defect of the
   * work: the engine reports it and calls again later, it does not end the work.
   */
  advance(key: string, signal: Signal): Promise<Advance>;
}

/** A message that asks work to end; `cause` is recorded with its end. */
export interface CancelRequest {
  readonly id: string;
  readonly cause: string;
}

/** What an engine knows of one key. */
export interface WorkStatus {
  readonly key: string;
  /** The latest result; absent while the first advance is under way. */
  readonly last?: Advance;
  readonly advancing: boolean;
  /** Set when the latest advance threw. */
  readonly error?: string;
}

/**
 * Keeps work alive by calling `advance`: one call at a time for a key, never before `at`, again when the journal says
 * that it is due or its inbox got a message, and again after its worker died. No semantics live here.
 */
export interface Engine {
  /** Finds due and orphaned keys and begins to advance. */
  start(): Promise<void>;
  /** Advances a key now (or right after the call under way), e.g. since its runner has ended. */
  wake(key: string): void;
  /** Puts a cancel message into the key's inbox, durably, and wakes it. The same id twice is one message. */
  cancel(key: string, request: CancelRequest): Promise<void>;
  list(): readonly WorkStatus[];
  /** Resolves when the key is done, or comes to wait for something that this engine cannot bring about. */
  settled(key: string, signal: Signal): Promise<Advance>;
  /** Stops calling, waits for the calls under way, leaves all work as it stands. */
  [Symbol.asyncDispose](): Promise<void>;
}
