import { hash } from 'node:crypto';
import { resolve } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import type { StoredEvent } from '../../kernel/envelope.ts';
import { OnwardError } from '../../kernel/error.ts';
import type { Append, Appended, BlobRef, Claimed, DueStream, Holder, Journal, Lease } from '../../kernel/journal.ts';
import type { Clock, Hash, Random } from '../../kernel/ports.ts';
import type { Signal } from '../../kernel/signal.ts';
import { checkPosition, checkStreamName, DEFAULT_PAYLOAD_CAP, prepareBatch } from '../batch.ts';
import type { OnCommit } from '../commit.ts';
import { checkTtl, leaseOf, toLimit } from '../rules.ts';
import { Wakeups } from '../wakeups.ts';
import { appendWork } from './append-work.ts';
import { sha256Of } from './blob-table.ts';
import { CommitQueue, type Work } from './commit-queue.ts';
import { FileGuard } from './file-guard.ts';
import { followStream } from './follow.ts';
import { openDatabase, prepareFile } from './open-database.ts';
import { Reader } from './reader.ts';
import type { Patience } from './retry.ts';
import { SchemaCheck } from './schema.ts';
import { toSchemaError } from './sqlite-error.ts';
import { blobWork, claimWork, eraseWork, heldWork } from './stream-work.ts';
import { openTables, type Tables } from './tables.ts';

/** How to open a journal in a SQLite file. */
export interface SqliteJournalOptions {
  /** The file. It (0600) and its folder (0700) are made when missing. */
  readonly path: string;
  readonly clock: Clock;
  readonly random: Random;
  /** For the checksums of rows; the platform's SHA-256 when absent. */
  readonly hash?: Hash;
  /** Largest JSON of one event in bytes; 256 KiB when absent. */
  readonly payloadCap?: number;
  /** How long to wait for another program's lock, in ms, before `journal/locked`; 10 s when absent. */
  readonly lockTimeoutMs?: number;
  /** How often `follow` looks for events of other processes, in ms; 50 when absent. */
  readonly pollMs?: number;
  readonly onCommit?: OnCommit;
}

/**
 * Opens a journal in one SQLite file, for any number of processes of one machine. Throws `OnwardError`: `journal/no-folder`,
 * `journal/not-a-database`, `journal/foreign`, `journal/newer-schema`, `journal/read-only`, `journal/locked`,
 * `journal/disk-full`, `journal/durability`, `journal/damaged`, `journal/io`, `journal/cannot-open`.
 */
export async function openSqliteJournal(options: SqliteJournalOptions): Promise<Journal> {
  const { clock, random, lockTimeoutMs = 10_000 } = options;
  const path = prepareFile(options.path);
  const patience: Patience = { clock, random, lockTimeoutMs, path };
  const db = await openDatabase(patience);
  try {
    return new SqliteJournal(options, patience, db);
  } catch (error) {
    db.close();
    throw toSchemaError(error, path);
  }
}

class SqliteJournal implements Journal {
  readonly #options: SqliteJournalOptions;
  readonly #db: DatabaseSync;
  readonly #tables: Tables;
  readonly #guard: FileGuard;
  readonly #queue: CommitQueue;
  readonly #reader: Reader;
  readonly #wakeups = new Wakeups();
  readonly #payloadCap: number;
  #closed = false;

  constructor(options: SqliteJournalOptions, patience: Patience, db: DatabaseSync) {
    const sha256 = options.hash?.sha256.bind(options.hash) ?? ((text: string) => hash('sha256', text, 'hex'));
    const guard = new FileGuard(resolve(options.path), patience.path);
    const schema = new SchemaCheck(db, patience.path);
    const isClosed = (): boolean => this.#closed;
    this.#options = options;
    this.#db = db;
    this.#guard = guard;
    this.#tables = openTables(db, sha256);
    this.#queue = new CommitQueue({ db, guard, schema, patience, onCommit: options.onCommit });
    this.#reader = new Reader({ db, tables: this.#tables, guard, schema, patience, isClosed });
    this.#payloadCap = options.payloadCap ?? DEFAULT_PAYLOAD_CAP;
  }

  async append(batch: readonly Append[]): Promise<Appended> {
    const prepared = prepareBatch(batch, this.#payloadCap);
    const appended = await this.#submit(appendWork(this.#tables, prepared, this.#now));
    if (appended.ok) for (const { stream } of prepared) this.#wakeups.wake(stream);
    return appended;
  }

  async read(stream: string, after = 0): Promise<readonly StoredEvent[]> {
    checkPosition(after);
    return this.#read((reader) => reader.all(stream, after));
  }

  async *follow(stream: string, after: number, signal: Signal): AsyncGenerator<StoredEvent> {
    this.#checkOpen();
    checkPosition(after);
    const { clock, pollMs = 50 } = this.#options;
    const isClosed = (): boolean => this.#closed;
    const options = { reader: this.#reader, wakeups: this.#wakeups, clock, pollMs, isClosed };
    yield* followStream(options, stream, after, signal);
  }

  async claim(stream: string, holder: Holder, ttlMs: number, dead?: (held: Holder) => boolean): Promise<Claimed> {
    checkStreamName(stream);
    const ttl = checkTtl(ttlMs);
    let deadEpoch: number | undefined;
    for (;;) {
      const claim = (): { holder: Holder; ttlMs: number; now: number; deadEpoch: number | undefined } => ({
        holder,
        ttlMs: ttl,
        now: this.#now(),
        deadEpoch,
      });
      const claimed = await this.#submit(claimWork(this.#tables, stream, claim));
      // The callback looks at processes, so it is never called while the lock is held; it judged one lease, not the next.
      if (claimed.ok || dead?.(claimed.held.holder) !== true) return claimed;
      deadEpoch = claimed.held.epoch;
    }
  }

  async renew(lease: Lease, ttlMs: number): Promise<boolean> {
    const ttl = checkTtl(ttlMs);
    const update = (): { expiresAt: number } => ({ expiresAt: this.#now() + ttl });
    return this.#submit(heldWork(this.#tables, 'renew', lease, (state) => ({ ...state, ...update() })));
  }

  async release(lease: Lease): Promise<void> {
    await this.#submit(
      heldWork(this.#tables, 'release', lease, (state) => ({ ...state, holder: null, expiresAt: null })),
    );
  }

  async lease(stream: string): Promise<Lease | undefined> {
    const row = await this.#read((reader) => reader.snapshot(({ streams }) => streams.get(stream)));
    return row === undefined ? undefined : leaseOf(stream, row);
  }

  streams(prefix: string): Promise<readonly string[]> {
    return this.#read((reader) => reader.snapshot(({ streams }) => streams.names(prefix)));
  }

  due(now: number, limit: number): Promise<readonly DueStream[]> {
    return this.#read((reader) => reader.snapshot(({ streams }) => streams.due(Math.floor(now), toLimit(limit))));
  }

  async putBlob(stream: string, bytes: Uint8Array, epoch?: number): Promise<BlobRef> {
    checkStreamName(stream);
    const copy = Uint8Array.from(bytes);
    const ref = { sha256: sha256Of(copy), bytes: copy.byteLength };
    return this.#submit(blobWork(this.#tables, { stream, epoch }, ref, copy));
  }

  getBlob(ref: BlobRef): Promise<Uint8Array> {
    return this.#read((reader) => reader.snapshot(({ blobs }) => blobs.get(ref.sha256)));
  }

  async erase(stream: string, epoch?: number): Promise<void> {
    await this.#submit(eraseWork(this.#tables, stream, epoch));
    this.#emptyWal();
    this.#wakeups.wake(stream);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#wakeups.wakeAll();
    await this.#queue.drained();
    this.#db.close();
  }

  /** What was erased stays in the write-ahead log until it is written over. Readers elsewhere may keep it for a while. */
  #emptyWal(): void {
    try {
      this.#guard.check();
      this.#db.exec('pragma wal_checkpoint(truncate)');
    } catch {
      // Busy: the next checkpoint does it. The erasing itself is durable.
    }
  }

  #submit<T>(work: Work<T>): Promise<T> {
    this.#checkOpen();
    return this.#queue.submit(work);
  }

  async #read<T>(query: (reader: Reader) => Promise<T>): Promise<T> {
    this.#checkOpen();
    return query(this.#reader);
  }

  readonly #now = (): number => Math.trunc(this.#options.clock.now());

  #checkOpen(): void {
    if (this.#closed) throw new OnwardError('journal/closed', 'The journal is closed.');
  }
}
