import { isOnwardError, OnwardError } from '../kernel/error.ts';
import { upcast } from '../kernel/fold.ts';
import type { Append, BlobRef, Journal, Lease } from '../kernel/journal.ts';
import type { Json } from '../kernel/json.ts';
import type { Clock } from '../kernel/ports.ts';
import type { StoredEvent } from '../kernel/envelope.ts';
import { type NewSessionEvent, type SessionEvent, sessionEvents } from './session-events.ts';
import { applySessionEvent, emptySession, type SessionState } from './session-state.ts';

/** A private fold over the session's events, e.g. a plugin's. */
export interface SideFold {
  readonly initial: unknown;
  readonly apply: (state: unknown, event: SessionEvent) => unknown;
  state: unknown;
}

/**
 * The log of one session under one lease. `add` is at once in the state and seen by observers; `flush` makes it durable,
 * in one append for all that was added. What cannot be stored is taken back: the state is what the journal says. Kept, to be
 * stored with the next flush, are accepted messages, and results of calls whose start is on record.
 */
export interface SessionLog {
  readonly stream: string;
  readonly lease: Lease;
  state(): SessionState;
  add(event: NewSessionEvent): void;
  /**
   * Resolves when all that was added so far is durable, together with `also` (e.g. a question's stream). Throws what the
   * journal threw, or `session/lost-lease`; messages that were only accepted stay, to be stored with the next flush.
   */
  flush(also?: readonly Append[]): Promise<void>;
  /**
   * As `flush`, for whoever is not the turn under way. When it fails and takes back what the turn had added, the turn hears of it,
   * too: the next event that it adds throws what the journal threw.
   */
  store(): Promise<void>;
  /** Position up to which everything is durable. */
  durable(): number;
  observe(listener: (event: SessionEvent) => void): () => void;
  /** Called with events as they become durable. */
  onDurable(listener: (events: readonly SessionEvent[]) => void): () => void;
  fold(side: SideFold): void;
  /** True once another process has claimed the session: nothing can be written any more. */
  lost(): boolean;
  /** Number of appends made; for those who count them. */
  appends(): number;
}

/** What a log is written with. */
export interface LogParts {
  readonly journal: Journal;
  readonly clock: Clock;
  readonly lease: Lease;
}

/** Reads the events of a session, with bodies that were too large for an event put back. Throws as `upcast` does. */
export async function readSession(journal: Journal, stream: string, after = 0): Promise<readonly SessionEvent[]> {
  return (await readStored(journal, stream, after)).events;
}

/** What a stream holds. Its last events may be such as this program may ignore: the position is behind those, too. */
export interface Stored {
  readonly events: readonly SessionEvent[];
  readonly position: number;
}

/** As {@link readSession}, with the position of the last event. */
export async function readStored(journal: Journal, stream: string, after = 0): Promise<Stored> {
  const events: SessionEvent[] = [];
  let position = after;
  for (const stored of await journal.read(stream, after)) {
    const event = upcast(isBlob(stored.data) ? await unwrapped(journal, stored) : stored, sessionEvents);
    if (event !== undefined) events.push(event as SessionEvent);
    position = stored.position;
  }
  return { events, position };
}

const blobKey = '$blob';

function isBlob(data: Json): data is { readonly $blob: Json } {
  return typeof data === 'object' && data !== null && !Array.isArray(data) && blobKey in data;
}

async function unwrapped(journal: Journal, stored: StoredEvent): Promise<StoredEvent> {
  const { $blob } = stored.data as unknown as { readonly $blob: BlobRef };
  const bytes = await journal.getBlob($blob);
  return { ...stored, data: JSON.parse(new TextDecoder().decode(bytes)) as Json };
}

/** Opens the log for writing, folding the events that are there. */
export function createSessionLog(parts: LogParts, stored: Stored): SessionLog {
  return new Log(parts, stored);
}

/** Kept as a class for its private mutable parts: a buffer, a durable mark and the states derived from them. */
class Log implements SessionLog {
  readonly #parts: LogParts;
  readonly #sides: SideFold[] = [];
  readonly #observers = new Set<(event: SessionEvent) => void>();
  readonly #durableListeners = new Set<(events: readonly SessionEvent[]) => void>();
  #state = emptySession();
  #buffer: SessionEvent[] = [];
  #durable = 0;
  #tail: Promise<void> = Promise.resolve();
  /** Counts failed appends, so that a flush that waited behind one knows that its events went with it. */
  #failures = 0;
  #failure: unknown;
  /** Why events that the turn takes for added are gone. */
  #torn: { readonly error: unknown } | undefined;
  #lost = false;
  #appends = 0;
  #loaded: readonly SessionEvent[];

  constructor(parts: LogParts, { events, position }: Stored) {
    this.#parts = parts;
    this.#loaded = events;
    for (const event of events) applySessionEvent(this.#state, event);
    this.#state.position = position;
    this.#durable = position;
  }

  get stream(): string {
    return this.#parts.lease.stream;
  }
  get lease(): Lease {
    return this.#parts.lease;
  }
  state(): SessionState {
    return this.#state;
  }
  durable(): number {
    return this.#durable;
  }
  lost(): boolean {
    return this.#lost;
  }
  appends(): number {
    return this.#appends;
  }
  observe(listener: (event: SessionEvent) => void): () => void {
    this.#observers.add(listener);
    return () => void this.#observers.delete(listener);
  }
  onDurable(listener: (events: readonly SessionEvent[]) => void): () => void {
    this.#durableListeners.add(listener);
    return () => void this.#durableListeners.delete(listener);
  }

  fold(side: SideFold): void {
    this.#sides.push(side);
    for (const event of this.#loaded) side.state = side.apply(side.state, event);
  }

  add(event: NewSessionEvent): void {
    if (this.#torn !== undefined && isOfTurn(event.type)) {
      const { error } = this.#torn;
      this.#torn = undefined;
      throw error;
    }
    const { stream, epoch } = this.#parts.lease;
    const position = this.#state.position + 1;
    const stored = { ...event, stream, position, at: this.#parts.clock.now(), epoch } as unknown as SessionEvent;
    for (const side of this.#sides) side.state = side.apply(side.state, stored);
    applySessionEvent(this.#state, stored);
    this.#buffer.push(stored);
    this.#loaded = [];
    for (const observer of this.#observers) {
      try {
        observer(stored);
      } catch {
        // An observer watches: what it throws changes nothing (A20).
      }
    }
  }

  async flush(also: readonly Append[] = []): Promise<void> {
    try {
      await this.#flush(also);
    } catch (error) {
      this.#torn = undefined;
      throw error;
    }
  }

  async store(): Promise<void> {
    await this.#flush([]);
  }

  async #flush(also: readonly Append[]): Promise<void> {
    const [mark, failures] = [this.#state.position, this.#failures];
    const before = this.#tail;
    const turn = (async (): Promise<void> => {
      await before;
      if (this.#failures !== failures) throw this.#failure;
      if (this.#durable < mark || also.length > 0) await this.#write(also);
    })();
    this.#tail = turn.catch(() => undefined);
    await turn;
  }

  async #write(also: readonly Append[]): Promise<void> {
    const { lease } = this.#parts;
    const events = this.#buffer;
    this.#buffer = [];
    try {
      if (this.#lost) throw lostLease(lease.stream);
      await this.#append(events, also);
    } catch (error) {
      if (this.#lost || !(await this.#isStored(events))) {
        await this.#takeBack(events, error);
        throw error;
      }
    }
    this.#durable += events.length;
    for (const listener of this.#durableListeners) listener(events);
  }

  async #append(events: readonly SessionEvent[], also: readonly Append[]): Promise<void> {
    const { journal, lease } = this.#parts;
    this.#appends += 1;
    const batch = (list: readonly { readonly type: string; readonly v: number; readonly data: Json }[]): Append[] => [
      {
        stream: lease.stream,
        expected: this.#durable,
        epoch: lease.epoch,
        events: list.map(({ type, v, data }) => ({ type, v, data })),
      },
      ...also,
    ];
    const plain = events as unknown as readonly StoredEvent[];
    const appended = await journal.append(batch(plain)).catch(async (error: unknown) => {
      if (!isOnwardError(error, 'journal/payload-too-large')) throw error;
      return await journal.append(batch(await this.#withBlobs(plain)));
    });
    if (appended.ok) return;
    const { refusal } = appended;
    if (refusal.stream !== lease.stream) throw refused(refusal.stream);
    if (refusal.kind === 'stale-position' && (await this.#isStored(events))) return;
    this.#lost = true;
    throw lostLease(lease.stream);
  }

  /**
   * True when the append was stored although its answer was lost: nobody else writes under this epoch, and a batch is stored as a
   * whole. Without that, what is on record would be done again or be called a failure.
   */
  async #isStored(events: readonly SessionEvent[]): Promise<boolean> {
    if (events.length === 0) return false;
    const { journal, lease } = this.#parts;
    const behind = await journal.read(lease.stream, this.#durable).catch(() => []);
    return (
      behind.length === events.length &&
      behind.every(({ type, epoch }, index) => type === events[index]?.type && epoch === lease.epoch)
    );
  }

  async #withBlobs(events: readonly StoredEvent[]): Promise<readonly StoredEvent[]> {
    const { journal, lease } = this.#parts;
    return await Promise.all(
      events.map(async (event) => {
        const text = JSON.stringify(event.data);
        if (text.length < 60_000) return event;
        const ref = await journal.putBlob(lease.stream, new TextEncoder().encode(text), lease.epoch);
        return { ...event, data: { [blobKey]: { sha256: ref.sha256, bytes: ref.bytes } } };
      }),
    );
  }

  /**
   * The state becomes what the journal says again. What people did (messages sent, messages withdrawn) and what calls came to is
   * added anew: nobody may lose input, and a prompt that was cancelled never runs.
   */
  async #takeBack(events: readonly SessionEvent[], error: unknown): Promise<void> {
    this.#failures += 1;
    this.#failure = error;
    const gone = [...events, ...this.#buffer];
    this.#buffer = [];
    if (this.#lost) return;
    const stored = await readStored(this.#parts.journal, this.stream).catch(() => undefined);
    if (stored === undefined) {
      this.#lost = true;
      return;
    }
    const late = this.#buffer;
    this.#buffer = [];
    this.#state = emptySession();
    for (const side of this.#sides) side.state = side.initial;
    for (const event of stored.events) {
      applySessionEvent(this.#state, event);
      for (const side of this.#sides) side.state = side.apply(side.state, event);
    }
    this.#state.position = stored.position;
    this.#durable = stored.position;
    for (const event of [...gone, ...late]) {
      if (event.type === 'session.created' && this.#state.position === 0) this.#readd(event);
      if (event.type === 'message.accepted' && !this.#isAccepted(event.data.id)) this.#readd(event);
      if (event.type === 'message.dropped' && this.#isWaiting(event.data.ids)) this.#readd(event);
      // What a call came to is known, whatever becomes of its turn: the write is repeated, never the call (R100).
      if (event.type === 'call.finished' && this.#isOpenCall(event.data)) this.#readd(event);
      else if (isOfTurn(event.type)) this.#torn = { error };
    }
  }

  #isWaiting(ids: readonly string[]): boolean {
    return [...this.#state.queue, ...this.#state.staged].some(({ id }) => ids.includes(id));
  }

  /** The append may have been stored although its answer was lost. */
  #isAccepted(id: string): boolean {
    return this.#state.prompts.has(id) || this.#state.staged.some((message) => message.id === id);
  }

  #isOpenCall({ turn, step, id }: { readonly turn: number; readonly step: number; readonly id: string }): boolean {
    const { open } = this.#state;
    if (open?.turn !== turn || open.step?.step !== step) return false;
    const call = open.step.calls.get(id);
    return call !== undefined && call.outcome === undefined;
  }

  #readd(event: SessionEvent): void {
    const again = { ...event, position: this.#state.position + 1 };
    for (const side of this.#sides) side.state = side.apply(side.state, again);
    applySessionEvent(this.#state, again);
    this.#buffer.push(again);
  }
}

/** Events that only the turn under way adds, and counts on. */
function isOfTurn(type: SessionEvent['type']): boolean {
  return /^(turn|step|block|answer|call|input|header)\./.test(type);
}

function lostLease(stream: string): OnwardError {
  return new OnwardError('session/lost-lease', `Another process has taken over ${stream}; this one has stopped.`, {
    place: stream,
    next: ['Work with the session where it is open now.'],
  });
}

function refused(stream: string): OnwardError {
  return new OnwardError('session/raced', `${stream} was changed by another process at the same moment.`, {
    place: stream,
  });
}
