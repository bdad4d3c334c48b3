import type { StoredEvent } from '../../kernel/envelope.ts';
import type { Json } from '../../kernel/json.ts';
import type { PreparedAppend, PreparedEvent } from '../batch.ts';
import { EMPTY_STREAM, type StreamState } from '../rules.ts';

interface Row extends PreparedEvent {
  readonly at: number;
  readonly epoch: number | null;
}

/** One stream in memory. Data is kept as text, so that nobody can change a stored event through an object he holds. */
export class MemoryStream {
  readonly name: string;
  readonly blobs: Set<string> = new Set();
  state: StreamState = EMPTY_STREAM;
  readonly #rows: Row[] = [];
  readonly #ids = new Set<string>();

  constructor(name: string) {
    this.name = name;
  }

  /** True when the append leaves something behind: an event that is not there yet, or another due time. */
  isChangedBy(append: PreparedAppend): boolean {
    const isDueNew = append.due !== undefined && append.due !== this.state.due;
    return isDueNew || append.events.some(({ id }) => id === null || !this.#ids.has(id));
  }

  /** Adds the events that are not there yet, and returns the ids of those that were. */
  add(append: PreparedAppend, at: number): readonly string[] {
    const duplicates: string[] = [];
    for (const event of append.events) {
      if (event.id !== null && this.#ids.has(event.id)) duplicates.push(event.id);
      else this.#rows.push({ ...event, at, epoch: append.epoch });
      if (event.id !== null) this.#ids.add(event.id);
    }
    const due = append.due === undefined ? this.state.due : append.due;
    this.state = { ...this.state, last: this.#rows.length, due };
    return duplicates;
  }

  /** The events after a position, each a fresh object. */
  after(position: number): readonly StoredEvent[] {
    return this.#rows.slice(position).map((row, index) => this.#toEvent(row, position + index + 1));
  }

  #toEvent(row: Row, position: number): StoredEvent {
    return {
      stream: this.name,
      position,
      at: row.at,
      type: row.type,
      v: row.v,
      data: JSON.parse(row.json) as Json,
      ...(row.epoch === null ? {} : { epoch: row.epoch }),
      ...(row.id === null ? {} : { id: row.id }),
      ...(row.ignorable ? { ignorable: true as const } : {}),
    };
  }
}
