import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { StoredEvent } from '../../kernel/envelope.ts';
import type { Json } from '../../kernel/json.ts';
import type { PreparedEvent } from '../batch.ts';
import { chain, type EventRow, type Sha256, type StreamHead } from './chain.ts';
import { damagedError } from './sqlite-error.ts';
import { isOutOfRange, type StreamRow } from './stream-table.ts';

/** A point in the chain: a position and the checksum there, from which reading goes on. */
export interface Cursor {
  readonly position: number;
  /** `undefined` = not known yet: it is read from the row at that position. */
  readonly checksum: string | undefined;
}

/** Where and under which lease events are added. */
export interface Addition {
  readonly name: string;
  readonly head: StreamHead;
  readonly at: number;
  readonly epoch: number | null;
}

/** A verified part of a stream. */
export interface Page {
  readonly events: readonly StoredEvent[];
  readonly cursor: Cursor;
  /** True when the stream ends here, and its end was checked too. */
  readonly complete: boolean;
}

/** The table of events: adds rows to the chain and verifies it when reading. */
export class EventTable {
  readonly #sha256: Sha256;
  readonly #insert: StatementSync;
  readonly #page: StatementSync;
  readonly #checksum: StatementSync;
  readonly #known: StatementSync;
  readonly #delete: StatementSync;

  constructor(db: DatabaseSync, sha256: Sha256) {
    this.#sha256 = sha256;
    this.#insert = db.prepare('insert into event values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)');
    this.#page = db.prepare(
      'select position, at, epoch, type, v, id, ignorable, data, checksum from event ' +
        'where stream = ? and position > ? order by position limit ?',
    );
    this.#checksum = db.prepare('select checksum from event where stream = ? and position = ?');
    this.#known = db.prepare('select 1 as known from event where stream = ? and id = ?');
    this.#delete = db.prepare('delete from event where stream = ?');
  }

  /** True when the stream holds a message with that id. */
  holds(stream: number, id: string): boolean {
    return this.#known.get(stream, id) !== undefined;
  }

  /** The rows that these events become, chained to the head of their stream. */
  chained(addition: Addition, events: readonly PreparedEvent[]): readonly EventRow[] {
    let { last, head } = addition.head;
    return events.map((event) => {
      last += 1;
      const row = {
        position: last,
        at: addition.at,
        epoch: addition.epoch,
        type: event.type,
        v: event.v,
        id: event.id,
        ignorable: event.ignorable ? 1 : null,
        data: event.json,
      };
      head = chain(this.#sha256, head, addition.name, row);
      return { ...row, checksum: head };
    });
  }

  insert(stream: number, rows: readonly EventRow[]): void {
    for (const row of rows) {
      const { position, at, epoch, type, v, id, ignorable, data, checksum } = row;
      this.#insert.run(stream, position, at, epoch, type, v, id, ignorable, data, checksum);
    }
  }

  /** The next events after a cursor, each checked. Throws `journal/damaged` with `stream@position`. */
  page(name: string, stream: StreamRow, cursor: Cursor, limit: number): Page {
    if (cursor.position > stream.last) return { events: [], cursor, complete: true };
    let checksum = cursor.checksum ?? this.#checksumAt(name, stream.id, cursor.position);
    let { position } = cursor;
    const events = this.#rows(stream.id, position, limit).map((row) => {
      position += 1;
      if (row.position !== position || position > stream.last) throw damagedAt(name, position, 'this event is missing');
      checksum = chain(this.#sha256, checksum, name, row);
      if (checksum !== row.checksum) throw damagedAt(name, position, 'this event is not as it was written');
      return toEvent(name, row);
    });
    const complete = events.length < limit;
    if (complete && position < stream.last) throw damagedAt(name, position + 1, 'the stream ends before this event');
    if (position === stream.last && checksum !== stream.head)
      throw damagedAt(name, position, 'the stream ends otherwise');
    return { events, cursor: { position, checksum }, complete };
  }

  delete(stream: number): void {
    this.#delete.run(stream);
  }

  #checksumAt(name: string, stream: number, position: number): string {
    if (position === 0) return '';
    const row = this.#checksum.get(stream, position) as { checksum: string } | undefined;
    if (row === undefined) throw damagedAt(name, position, 'this event is missing');
    return row.checksum;
  }

  #rows(stream: number, after: number, limit: number): readonly EventRow[] {
    try {
      return this.#page.all(stream, after, limit) as unknown as readonly EventRow[];
    } catch (error) {
      if (!isOutOfRange(error)) throw error;
    }
    // A damaged number does not fit into a JavaScript number: read it all the same, so that the chain names the place.
    this.#page.setReadBigInts(true);
    try {
      return this.#page.all(stream, after, limit).map(withNumbers);
    } finally {
      this.#page.setReadBigInts(false);
    }
  }
}

function withNumbers(row: Record<string, unknown>): EventRow {
  const entries = Object.entries(row).map(([key, value]) => [key, typeof value === 'bigint' ? Number(value) : value]);
  return Object.fromEntries(entries) as EventRow;
}

function toEvent(stream: string, row: EventRow): StoredEvent {
  const event: { -readonly [Key in keyof StoredEvent]: StoredEvent[Key] } = {
    stream,
    position: row.position,
    at: row.at,
    type: row.type,
    v: row.v,
    data: JSON.parse(row.data) as Json,
  };
  if (row.epoch !== null) event.epoch = row.epoch;
  if (row.id !== null) event.id = row.id;
  if (row.ignorable !== null) event.ignorable = true;
  return event;
}

function damagedAt(name: string, position: number, what: string): Error {
  return damagedError(`${name}@${position}`, what);
}
