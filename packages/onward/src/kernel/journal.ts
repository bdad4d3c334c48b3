import type { NewEvent, StoredEvent } from './envelope.ts';
import type { Signal } from './signal.ts';

/** Who holds a lease. `pid` and `startedAt` together name one process of one host, also after pids are used again. */
export interface Holder {
  /** Unique for each claim-taking object (not only each process). */
  readonly id: string;
  /** Machine, user and agent home: where the holder's processes and session files are. */
  readonly host: string;
  readonly pid: number;
  /** Start time of that process as the system reports it; opaque. */
  readonly startedAt: string;
}

/** A held stream. The epoch fences: after another claim every append under this one is refused. */
export interface Lease {
  readonly stream: string;
  readonly epoch: number;
  readonly holder: Holder;
  /** Wall clock, ms since the epoch. */
  readonly expiresAt: number;
}

/** A claim is granted, or refused with the lease that stands in its way. */
export type Claimed = { readonly ok: true; readonly lease: Lease } | { readonly ok: false; readonly held: Lease };

/** What to add to one stream. */
export interface Append {
  readonly stream: string;
  /** Position of the last event the writer has seen (0 = none), or `any` for inboxes. */
  readonly expected: number | 'any';
  /** Epoch of the writer's lease. A stream that was ever claimed takes appends only under its newest epoch, others none. */
  readonly epoch?: number;
  /** May be empty: to set the due time, or only to hold a stream to its expected position. */
  readonly events: readonly NewEvent[];
  /** Sets (ms since the epoch, rounded up) or clears (null) when the stream is due; left alone when absent. */
  readonly due?: number | null;
}

/** Why a batch was refused; nothing of it was written. */
export type Refusal =
  | { readonly kind: 'stale-position'; readonly stream: string; readonly expected: number; readonly actual: number }
  | { readonly kind: 'stale-epoch'; readonly stream: string; readonly epoch: number | null; readonly current: number };

/** Result of a batch: for each stream its last position, and the ids of inbox messages that were there already. */
export type Appended =
  | { readonly ok: true; readonly positions: Readonly<Record<string, number>>; readonly duplicates: readonly string[] }
  | { readonly ok: false; readonly refusal: Refusal };

/** A stored body too large for an event, named by the SHA-256 of its bytes. */
export interface BlobRef {
  readonly sha256: string;
  readonly bytes: number;
}

/** A stream whose due time has come. */
export interface DueStream {
  readonly stream: string;
  /** Wall clock, ms since the epoch. */
  readonly due: number;
}

/**
 * The journal: append-only streams of events. What `append` acknowledged survives a kill of the process.
 * Methods throw `OnwardError` for a broken medium (`journal/...`), bad input (`journal/bad-event`) or a damaged stream
 * (`journal/damaged`, with the place); refusals that are part of normal life are values.
 */
export interface Journal {
  /** One transaction over all streams of the batch: all of it or nothing. */
  append(batch: readonly Append[]): Promise<Appended>;
  /** The events after a position, oldest first, each checked against the chain. An unknown stream is empty. */
  read(stream: string, after?: number): Promise<readonly StoredEvent[]>;
  /** As `read`, then what any process appends later; ends quietly on abort, close or erasing. Waits without a transaction. */
  follow(stream: string, after: number, signal: Signal): AsyncIterable<StoredEvent>;
  /** Takes the lease, raising the epoch, if it is free, expired, already this holder's, or its holder is `dead`. */
  claim(stream: string, holder: Holder, ttlMs: number, dead?: (held: Holder) => boolean): Promise<Claimed>;
  /** Extends a lease; false when another has claimed the stream since. Writes no event. */
  renew(lease: Lease, ttlMs: number): Promise<boolean>;
  /** Gives the lease up, if it is still this one. The epoch stays, so the next claim raises it. */
  release(lease: Lease): Promise<void>;
  /** The lease on record, also when expired. */
  lease(stream: string): Promise<Lease | undefined>;
  /** Names of streams with that prefix that hold events, in order of creation: by an append, a claim or a blob. */
  streams(prefix: string): Promise<readonly string[]>;
  /** Streams due at or before `now`, earliest first; a damaged one too, so that a caller who meets it goes on to the next. */
  due(now: number, limit: number): Promise<readonly DueStream[]>;
  /**
   * Stores bytes for a stream, before the append that names them. The same bytes twice are stored once. With the `epoch` of a
   * lease only while it is the newest (else `journal/stale-epoch`): a zombie brings back nothing that was erased.
   */
  putBlob(stream: string, bytes: Uint8Array, epoch?: number): Promise<BlobRef>;
  /** The bytes, checked against their name. */
  getBlob(ref: BlobRef): Promise<Uint8Array>;
  /**
   * Erases a stream, its lease, its due time, and blobs that no other stream uses. One that was ever claimed needs its newest
   * epoch (else `journal/stale-epoch`), and epochs given out later are above it: a zombie stays fenced.
   */
  erase(stream: string, epoch?: number): Promise<void>;
  close(): Promise<void>;
}
