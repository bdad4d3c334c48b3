import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { DueStream } from '../../kernel/journal.ts';
import { EMPTY_STREAM } from '../rules.ts';
import { holderText, seal, type Sha256, type StreamHead, toHolder } from './chain.ts';
import { damagedError } from './sqlite-error.ts';

/** A stream row that is there. `id` is never given out again, so an erased and remade stream has another. */
export interface StreamRow extends StreamHead {
  readonly id: number;
}

interface RawRow {
  readonly id: number;
  readonly last: number;
  readonly head: string;
  readonly epoch: number;
  readonly holder: string | null;
  readonly expires: number | null;
  readonly due: number | null;
  readonly seal: string;
}

/** The head of a stream that nobody has touched. */
export const EMPTY_HEAD: StreamHead = { ...EMPTY_STREAM, head: '' };

/** Nobody claims a stream that often; a larger number is damage. */
const HIGHEST_EPOCH = 2 ** 40;

/** The table of streams: where each ends, who holds it, when it is due. Every row is sealed by a checksum. */
export class StreamTable {
  readonly #sha256: Sha256;
  readonly #select: StatementSync;
  readonly #insert: StatementSync;
  readonly #update: StatementSync;
  readonly #delete: StatementSync;
  readonly #names: StatementSync;
  readonly #due: StatementSync;
  readonly #remains: StatementSync;
  readonly #integrity: StatementSync;
  #isChecked = false;

  constructor(db: DatabaseSync, sha256: Sha256) {
    this.#sha256 = sha256;
    this.#select = db.prepare('select id, last, head, epoch, holder, expires, due, seal from stream where name = ?');
    this.#insert = db.prepare(
      'insert into stream (name, last, head, epoch, holder, expires, due, seal) values (?, ?, ?, ?, ?, ?, ?, ?)',
    );
    this.#update = db.prepare(
      'update stream set last = ?, head = ?, epoch = ?, holder = ?, expires = ?, due = ?, seal = ? where id = ?',
    );
    this.#integrity = db.prepare('pragma integrity_check(stream)');
    this.#delete = db.prepare('delete from stream where id = ?');
    // Either says that there are events, so that one damaged value does not hide the stream from the list.
    this.#names = db.prepare(
      "select name from stream where (last > 0 or head <> '') and name >= ? and name < ? order by id",
    );
    this.#remains = db.prepare('select id, iif(epoch > ?2, 0, epoch) as epoch from stream where name = ?1');
    this.#due = db.prepare(
      // A damaged time may not fit into a JavaScript number, and must not hide the others.
      `select name as stream, max(due, ${Number.MIN_SAFE_INTEGER}) as due from stream ` +
        `where due is not null and due <= min(?, ${Number.MAX_SAFE_INTEGER}) order by stream.due, id limit ?`,
    );
  }

  /** The row of a stream. Throws `journal/damaged` when its seal does not hold. */
  get(name: string): StreamRow | undefined {
    const raw = this.#raw(name);
    if (raw === undefined) {
      this.#checkOnce();
      return undefined;
    }
    const { id, last, head, epoch, due } = raw;
    const holder = toHolderOrDamage(name, raw.holder);
    const row: StreamRow = { id, last, head, epoch, holder, expiresAt: raw.expires, due };
    if (seal(this.#sha256, name, row) !== raw.seal) throw damagedError(name, 'its row is not as it was written');
    return row;
  }

  /** Stores what a stream has become; a stream without `id` is new. Returns the id. */
  put(name: string, row: StreamHead, id: number | undefined): number {
    const { last, head, epoch, holder, expiresAt, due } = row;
    const stamp = seal(this.#sha256, name, row);
    const values = [last, head, epoch, holderText(holder), expiresAt, due, stamp] as const;
    if (id === undefined) return Number(this.#insert.run(name, ...values).lastInsertRowid);
    this.#update.run(...values, id);
    return id;
  }

  delete(id: number): void {
    this.#delete.run(id);
  }

  /** Names of streams with events that begin so, in order of creation. */
  names(prefix: string): readonly string[] {
    this.#checkOnce();
    // U+10FFFF sorts after every character that can follow the prefix.
    const rows = this.#names.all(prefix, `${prefix}\u{10ffff}`) as unknown as readonly { name: string }[];
    return rows.map((row) => row.name);
  }

  /**
   * Streams that are due, earliest first. Their seals are not looked at: one damaged stream must not hide the others, and
   * whoever advances it meets the damage.
   */
  due(now: number, limit: number): readonly DueStream[] {
    this.#checkOnce();
    return (this.#due.all(now, limit) as unknown as readonly DueStream[]).map(({ stream, due }) => ({ stream, due }));
  }

  /** Id and, as far as it can be believed, epoch of a row whose seal may be broken: enough to erase the stream. */
  remains(name: string): { readonly id: number; readonly epoch: number } | undefined {
    const row = this.#remains.get(name, HIGHEST_EPOCH) as { id: number; epoch: number } | undefined;
    return row === undefined ? undefined : { id: row.id, epoch: row.epoch };
  }

  /**
   * That something is not there rests on the indexes, which no seal covers: a stream hidden by a broken index would be
   * taken for a new one, and its effects repeated. So they are compared with the table before the first such answer of this
   * connection (4 ms for 10,000 streams).
   */
  #checkOnce(): void {
    if (this.#isChecked) return;
    const [first] = this.#integrity.all() as unknown as readonly { integrity_check: string }[];
    if (first?.integrity_check !== 'ok')
      throw damagedError('the list of streams', first?.integrity_check ?? 'unreadable');
    this.#isChecked = true;
  }

  #raw(name: string): RawRow | undefined {
    try {
      return this.#select.get(name) as RawRow | undefined;
    } catch (error) {
      // A number too large for JavaScript, which nobody wrote.
      if (isOutOfRange(error)) throw damagedError(name, 'its row holds an impossible number');
      throw error;
    }
  }
}

/** True when a stored number does not fit into a JavaScript number. */
export function isOutOfRange(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_OUT_OF_RANGE';
}

function toHolderOrDamage(name: string, text: string | null): StreamHead['holder'] {
  if (text === null) return null;
  try {
    return toHolder(text);
  } catch {
    throw damagedError(name, 'the holder of its lease is unreadable');
  }
}
