import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { StoredEvent } from '../../kernel/envelope.ts';
import { OnwardError } from '../../kernel/error.ts';
import type { Json } from '../../kernel/json.ts';
import type { PreparedEvent } from '../batch.ts';
import { chain, type EventRow, type Sha256, type StreamHead } from './chain.ts';
import { PLACES_PER_STREAM } from './schema.ts';
import { damagedError, isCorrupt } from './sqlite-error.ts';
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
    this.#insert = db.prepare('insert into event values (?, ?, ?, ?, ?, ?, ?, ?, ?)');
    this.#page = db.prepare(
      'select place - ? as position, at, epoch, type, v, id, ignorable, data, checksum from event ' +
        'where place > ? and place < ? order by place limit ?',
    );
    this.#checksum = db.prepare('select checksum from event where place = ?');
    this.#known = db.prepare(`select 1 as known from event where place / ${PLACES_PER_STREAM} = ? and id = ?`);
    this.#delete = db.prepare('delete from event where place >= ? and place < ?');
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
    const { start, end } = placesOf(stream);
    for (const row of rows) {
      const { position, at, epoch, type, v, id, ignorable, data, checksum } = row;
      const place = start + position;
      if (place >= end || !Number.isSafeInteger(place)) throw fullError(position);
      this.#insert.run(place, at, epoch, type, v, id, ignorable, data, checksum);
    }
  }

  /** The next events after a cursor, each checked. Throws `journal/damaged` with `stream@position`. */
  page(name: string, stream: StreamRow, cursor: Cursor, limit: number): Page {
    if (cursor.position > stream.last) return { events: [], cursor, complete: true };
    let checksum = cursor.checksum ?? this.#checksumAt(name, stream.id, cursor.position);
    let { position } = cursor;
    const { rows, isCut } = this.#rowsOrPlace(name, stream.id, position, limit);
    const events = rows.map((row) => {
      position += 1;
      if (row.position !== position || position > stream.last) throw damagedAt(name, position, 'this event is missing');
      checksum = chain(this.#sha256, checksum, name, row);
      if (checksum !== row.checksum) throw damagedAt(name, position, 'this event is not as it was written');
      return toEvent(name, row);
    });
    if (!isCut && position < stream.last) throw damagedAt(name, position + 1, 'the stream ends before this event');
    if (position === stream.last && checksum !== stream.head)
      throw damagedAt(name, position, 'the stream ends otherwise');
    return { events, cursor: { position, checksum }, complete: !isCut };
  }

  delete(stream: number): void {
    const { start, end } = placesOf(stream);
    this.#delete.run(start, end);
  }

  #checksumAt(name: string, stream: number, position: number): string {
    if (position === 0) return '';
    const row = this.#checksum.get(placesOf(stream).start + position) as { checksum: string } | undefined;
    if (row === undefined) throw damagedAt(name, position, 'this event is missing');
    return row.checksum;
  }

  /** The rows; when the structure of the file is broken somewhere among them, that place. */
  #rowsOrPlace(name: string, stream: number, after: number, limit: number): Rows {
    try {
      return this.#rows(stream, after, limit);
    } catch (error) {
      if (!isCorrupt(error)) throw error;
      if (limit === 1) throw damagedAt(name, after + 1, 'the file is broken there');
    }
    const rows: EventRow[] = [];
    for (let position = after; rows.length < limit; position++) {
      const [row] = this.#rowsOrPlace(name, stream, position, 1).rows;
      if (row === undefined) return { rows, isCut: false };
      rows.push(row);
    }
    return { rows, isCut: true };
  }

  #rows(stream: number, after: number, limit: number): Rows {
    const { start, end } = placesOf(stream);
    const values = [start, start + after, end, limit] as const;
    try {
      return firstRows(this.#page.iterate(...values) as Iterable<unknown> as Iterable<EventRow>, limit);
    } catch (error) {
      if (!isOutOfRange(error)) throw error;
    }
    // A damaged number does not fit into a JavaScript number: read it all the same, so that the chain names the place.
    this.#page.setReadBigInts(true);
    try {
      return firstRows(this.#page.all(...values).map(withNumbers), limit);
    } finally {
      this.#page.setReadBigInts(false);
    }
  }
}

interface Rows {
  readonly rows: readonly EventRow[];
  /** True when there may be more. */
  readonly isCut: boolean;
}

/** A page ends also when it holds so much text: large events must not hold the event loop. */
const LARGEST_PAGE = 2 ** 20;

function firstRows(from: Iterable<EventRow>, limit: number): Rows {
  const rows: EventRow[] = [];
  let length = 0;
  for (const row of from) {
    rows.push(row);
    length += row.data.length;
    if (rows.length === limit || length >= LARGEST_PAGE) return { rows, isCut: true };
  }
  return { rows, isCut: false };
}

/** The places of a stream: its events lie between the two. */
function placesOf(stream: number): { readonly start: number; readonly end: number } {
  const start = stream * PLACES_PER_STREAM;
  return { start, end: start + PLACES_PER_STREAM };
}

function fullError(position: number): OnwardError {
  return new OnwardError('journal/full', `There is no place left for event ${position} of this stream.`, {
    next: ['Go on in another stream; when it is the first event of one, start a new journal.'],
  });
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
