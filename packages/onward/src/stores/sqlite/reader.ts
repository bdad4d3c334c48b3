import type { DatabaseSync } from 'node:sqlite';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { StoredEvent } from '../../kernel/envelope.ts';
import { OnwardError } from '../../kernel/error.ts';
import type { Cursor, Page } from './event-table.ts';
import type { FileGuard } from './file-guard.ts';
import { type Patience, whileBusy } from './retry.ts';
import { toOnwardError } from './sqlite-error.ts';
import type { Tables } from './tables.ts';

/** What reading needs of its connection. */
export interface ReaderOptions {
  readonly db: DatabaseSync;
  readonly tables: Tables;
  readonly guard: FileGuard;
  readonly patience: Patience;
  readonly isClosed: () => boolean;
}

/** A page, and which incarnation of the stream it comes from (0 = the stream does not exist). */
export interface ReadPage extends Page {
  readonly incarnation: number;
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
    const { db, tables, guard, patience, isClosed } = this.#options;
    try {
      guard.check();
      return await whileBusy(patience, () => {
        if (isClosed()) throw new OnwardError('journal/closed', 'The journal is closed.');
        db.exec('begin');
        try {
          return query(tables);
        } finally {
          db.exec('rollback');
        }
      });
    } catch (error) {
      throw toOnwardError(error, patience.path);
    }
  }

  /** The next events after a cursor, in one snapshot. */
  page(stream: string, cursor: Cursor): Promise<ReadPage> {
    return this.snapshot(({ streams, events }) => {
      const row = streams.get(stream);
      if (row === undefined) return { events: [], cursor, complete: true, incarnation: 0 };
      return { ...events.page(stream, row, cursor, PAGE_SIZE), incarnation: row.id };
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
