import type { StoredEvent } from '../../kernel/envelope.ts';
import { OnwardError } from '../../kernel/error.ts';
import type { Append, Appended, BlobRef, Claimed, DueStream, Holder, Journal, Lease } from '../../kernel/journal.ts';
import type { Clock } from '../../kernel/ports.ts';
import type { Signal } from '../../kernel/signal.ts';
import { checkPosition, checkStreamName, DEFAULT_PAYLOAD_CAP, prepareBatch, type PreparedAppend } from '../batch.ts';
import type { OnCommit, Write } from '../commit.ts';
import {
  checkMayErase,
  checkMayStore,
  checkTtl,
  claimed,
  EMPTY_STREAM,
  isHeldBy,
  leaseOf,
  refusalOf,
  type StreamState,
  toLimit,
} from '../rules.ts';
import { Wakeups } from '../wakeups.ts';
import { MemoryStream } from './stream.ts';

/** How to make a journal in memory. */
export interface MemoryJournalOptions {
  readonly clock: Pick<Clock, 'now'>;
  /** Largest JSON of one event in bytes; 256 KiB when absent. */
  readonly payloadCap?: number;
  /** Sees each change, as the durable stores report their commits. */
  readonly onCommit?: OnCommit;
}

/** A journal that ends with the process. It keeps every rule of the contract but durability, and loads no platform module. */
export function createMemoryJournal(options: MemoryJournalOptions): Journal {
  return new MemoryJournal(options);
}

class MemoryJournal implements Journal {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #payloadCap: number;
  readonly #onCommit: OnCommit | undefined;
  readonly #streams = new Map<string, MemoryStream>();
  readonly #blobs = new Map<string, Uint8Array>();
  readonly #wakeups = new Wakeups();
  #commits = 0;
  #epochFloor = 0;
  #closed = false;

  constructor(options: MemoryJournalOptions) {
    this.#clock = options.clock;
    this.#payloadCap = options.payloadCap ?? DEFAULT_PAYLOAD_CAP;
    this.#onCommit = options.onCommit;
  }

  async append(batch: readonly Append[]): Promise<Appended> {
    this.#checkOpen();
    const appends = prepareBatch(batch, this.#payloadCap);
    for (const append of appends) {
      const refusal = refusalOf(this.#state(append.stream), append);
      if (refusal !== undefined) return { ok: false, refusal };
    }
    const changes = appends.filter((append) => (this.#streams.get(append.stream) ?? NO_STREAM).isChangedBy(append));
    const duplicates = this.#commit(changes.map(toWrite), () => this.#add(appends, changes));
    for (const append of changes) this.#wakeups.wake(append.stream);
    const positions = appends.map(({ stream }) => [stream, this.#state(stream).last]);
    return { ok: true, positions: Object.fromEntries(positions) as Record<string, number>, duplicates };
  }

  async read(stream: string, after = 0): Promise<readonly StoredEvent[]> {
    this.#checkOpen();
    checkPosition(after);
    return this.#streams.get(stream)?.after(after) ?? [];
  }

  async *follow(stream: string, after: number, signal: Signal): AsyncGenerator<StoredEvent> {
    this.#checkOpen();
    checkPosition(after);
    let position = after;
    let followed = this.#streams.get(stream);
    while (!signal.aborted && !this.#closed) {
      const current = this.#streams.get(stream);
      if (followed !== undefined && current !== followed) return;
      followed = current;
      for (const event of current?.after(position) ?? []) {
        position = event.position;
        yield event;
        if (signal.aborted) return;
      }
      if (position >= (current?.state.last ?? 0) && current === this.#streams.get(stream)) {
        await this.#wakeOrAbort(stream, signal);
      }
    }
  }

  async claim(stream: string, holder: Holder, ttlMs: number, dead?: (held: Holder) => boolean): Promise<Claimed> {
    this.#checkOpen();
    checkStreamName(stream);
    const ttl = checkTtl(ttlMs);
    const state = this.#state(stream);
    const claim = { holder: { ...holder }, ttlMs: ttl, now: this.#now(), epochFloor: this.#epochFloor };
    let next = claimed(state, { ...claim, deadEpoch: undefined });
    if (next === undefined) {
      const held = leaseOf(stream, state) as Lease;
      if (dead?.(held.holder) !== true) return { ok: false, held };
      next = claimed(state, { ...claim, deadEpoch: held.epoch }) ?? state;
    }
    const granted = next;
    return this.#commit([{ kind: 'claim', stream, types: [] }], () => {
      this.#stream(stream).state = granted;
      return { ok: true, lease: leaseOf(stream, granted) as Lease };
    });
  }

  async renew(lease: Lease, ttlMs: number): Promise<boolean> {
    this.#checkOpen();
    const expiresAt = this.#now() + checkTtl(ttlMs);
    return this.#updateHeld(lease, 'renew', (state) => ({ ...state, expiresAt }));
  }

  async release(lease: Lease): Promise<void> {
    this.#checkOpen();
    this.#updateHeld(lease, 'release', (state) => ({ ...state, holder: null, expiresAt: null }));
  }

  async lease(stream: string): Promise<Lease | undefined> {
    this.#checkOpen();
    return leaseOf(stream, this.#state(stream));
  }

  async streams(prefix: string): Promise<readonly string[]> {
    this.#checkOpen();
    const found = [...this.#streams.values()].filter(
      (stream) => stream.name.startsWith(prefix) && stream.state.last > 0,
    );
    return found.map((stream) => stream.name);
  }

  async due(now: number, limit: number): Promise<readonly DueStream[]> {
    this.#checkOpen();
    const found = [...this.#streams.values()].flatMap(({ name, state }) =>
      state.due !== null && state.due <= now ? [{ stream: name, due: state.due }] : [],
    );
    return found.toSorted((a, b) => a.due - b.due).slice(0, toLimit(limit));
  }

  async putBlob(stream: string, bytes: Uint8Array, epoch?: number): Promise<BlobRef> {
    this.#checkOpen();
    checkStreamName(stream);
    const copy = Uint8Array.from(bytes);
    const digest = new Uint8Array(await globalThis.crypto.subtle.digest('SHA-256', copy));
    this.#checkOpen();
    checkMayStore(stream, this.#state(stream), epoch);
    const sha256 = Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('');
    return this.#commit([{ kind: 'blob', stream, types: [] }], () => {
      this.#blobs.set(sha256, copy);
      this.#stream(stream).blobs.add(sha256);
      return { sha256, bytes: copy.byteLength };
    });
  }

  async getBlob(ref: BlobRef): Promise<Uint8Array> {
    this.#checkOpen();
    const bytes = this.#blobs.get(ref.sha256);
    if (bytes === undefined)
      throw new OnwardError('journal/blob-missing', `There is no blob ${ref.sha256}.`, { place: ref.sha256 });
    return Uint8Array.from(bytes);
  }

  async erase(name: string, epoch?: number): Promise<void> {
    this.#checkOpen();
    const stream = this.#streams.get(name);
    checkMayErase(name, stream?.state ?? EMPTY_STREAM, epoch);
    if (stream === undefined) return;
    this.#commit([{ kind: 'erase', stream: name, types: [] }], () => {
      this.#epochFloor = Math.max(this.#epochFloor, stream.state.epoch);
      this.#streams.delete(name);
      const used = new Set([...this.#streams.values()].flatMap((other) => [...other.blobs]));
      for (const blob of stream.blobs) if (!used.has(blob)) this.#blobs.delete(blob);
    });
    this.#wakeups.wake(name);
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#wakeups.wakeAll();
  }

  #add(appends: readonly PreparedAppend[], changes: readonly PreparedAppend[]): readonly string[] {
    const at = this.#now();
    return appends.flatMap((append) =>
      // What changes nothing makes no stream either.
      changes.includes(append) ? this.#stream(append.stream).add(append, at) : idsOf(append),
    );
  }

  #updateHeld(lease: Lease, kind: Write['kind'], update: (state: StreamState) => StreamState): boolean {
    const stream = this.#streams.get(lease.stream);
    if (stream === undefined || !isHeldBy(stream.state, lease)) return false;
    this.#commit([{ kind, stream: lease.stream, types: [] }], () => {
      stream.state = update(stream.state);
    });
    return true;
  }

  #commit<T>(writes: readonly Write[], change: () => T): T {
    if (writes.length === 0) return change();
    const commit = { number: this.#commits + 1, writes };
    this.#onCommit?.('before', commit);
    const result = change();
    this.#commits = commit.number;
    this.#onCommit?.('after', commit);
    return result;
  }

  async #wakeOrAbort(stream: string, signal: Signal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const stop = this.#wakeups.listen(stream, resolve);
    const onAbort = (): void => resolve();
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted || this.#closed) resolve();
    await promise;
    signal.removeEventListener('abort', onAbort);
    stop();
  }

  #state(stream: string): StreamState {
    return this.#streams.get(stream)?.state ?? EMPTY_STREAM;
  }

  #stream(name: string): MemoryStream {
    const stream = this.#streams.get(name) ?? new MemoryStream(name);
    this.#streams.set(name, stream);
    return stream;
  }

  #now(): number {
    return Math.trunc(this.#clock.now());
  }

  #checkOpen(): void {
    if (this.#closed) throw new OnwardError('journal/closed', 'The journal is closed.');
  }
}

const NO_STREAM = new MemoryStream('');

/** The ids of an append that holds only messages that are there already. */
function idsOf(append: PreparedAppend): readonly string[] {
  return append.events.flatMap(({ id }) => id ?? []);
}

function toWrite(append: PreparedAppend): Write {
  return { kind: 'append', stream: append.stream, types: append.events.map((event) => event.type) };
}
