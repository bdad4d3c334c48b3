import type { DatabaseSync } from 'node:sqlite';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { StoredEvent } from '../../kernel/envelope.ts';
import { OnwardError } from '../../kernel/error.ts';
import type { Cursor, Page } from './event-table.ts';
import type { FileGuard } from './file-guard.ts';
import { type Patience, whileBusy } from './retry.ts';
import type { SchemaCheck } from './schema.ts';
import { toOnwardError } from './sqlite-error.ts';
import type { Tables } from './tables.ts';

/** What reading needs of its connection. */
export interface ReaderOptions {
  readonly db: DatabaseSync;
  readonly tables: Tables;
  readonly guard: FileGuard;
  readonly schema: SchemaCheck;
  readonly patience: Patience;
  readonly isClosed: () => boolean;
}

/** A page and where it comes from. */
export interface ReadPage extends Page {
  /** Which incarnation of the stream (0 = it does not exist): one that is erased and made anew is another. */
  readonly incarnation: number;
  /** As `Reader.version`. */
  readonly version: number;
}

/** So many events are read at a time: a few milliseconds, then the event loop goes on. */
const PAGE_SIZE = 1000;

/** Reads in short snapshots, none of which lasts across an await. */
export class Reader {
  readonly #options: ReaderOptions;

  constructor(options: ReaderOptions) {
    this.#options = options;
  }

  /** Runs a query against one snapshot. */
  async snapshot<T>(query: (tables: Tables) => T): Promise<T> {
    const { db, tables, guard, schema, patience, isClosed } = this.#options;
    try {
      guard.check();
      return await whileBusy(patience, () => {
        if (isClosed()) throw new OnwardError('journal/closed', 'The journal is closed.');
        db.exec('begin');
        try {
          schema.check();
          return query(tables);
        } finally {
          db.exec('rollback');
        }
      });
    } catch (error) {
      throw toOnwardError(error, patience.path);
    }
  }

  /**
   * A number that changes when another connection has committed (sqlite.org/pragma.html#pragma_data_version). Much cheaper
   * than looking for events.
   */
  async version(): Promise<number> {
    return this.snapshot((tables) => tables.version());
  }

  /** The next events after a cursor, in one snapshot. */
  page(stream: string, cursor: Cursor): Promise<ReadPage> {
    return this.snapshot((tables) => {
      const row = tables.streams.get(stream);
      const version = tables.version();
      if (row === undefined) return { events: [], cursor, complete: true, incarnation: 0, version };
      return { ...tables.events.page(stream, row, cursor, PAGE_SIZE), incarnation: row.id, version };
    });
  }

  /** All events after a position. */
  async all(stream: string, after: number): Promise<readonly StoredEvent[]> {
    const first = await this.page(stream, { position: after, checksum: undefined });
    if (first.complete) return first.events;
    const found = [first.events];
    let page = first;
    while (!page.complete) {
      await nextTurn();
      page = await this.page(stream, page.cursor);
      // Erased, and perhaps made anew, between two pages: what was read so far is no history of anything.
      if (page.incarnation !== first.incarnation) return this.all(stream, after);
      found.push(page.events);
    }
    return found.flat();
  }
}
