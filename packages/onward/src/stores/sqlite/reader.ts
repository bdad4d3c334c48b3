import type { DatabaseSync } from 'node:sqlite';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { StoredEvent } from '../../kernel/envelope.ts';
import { OnwardError } from '../../kernel/error.ts';
import type { Cursor, Page } from './event-table.ts';
import type { FileGuard } from './file-guard.ts';
import { type Patience, rollBack, whileBusy } from './retry.ts';
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
          rollBack(db);
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

  /** The first events after a position, in one snapshot. */
  first(stream: string, after: number): Promise<ReadPage> {
    return this.#page(stream, { position: after, checksum: undefined }, 0);
  }

  /**
   * The events after those of a page. When the stream was erased since, and perhaps made anew, the result is empty and of
   * another incarnation.
   */
  next(stream: string, page: ReadPage): Promise<ReadPage> {
    return this.#page(stream, page.cursor, page.incarnation);
  }

  #page(stream: string, cursor: Cursor, expected: number): Promise<ReadPage> {
    return this.snapshot((tables) => {
      const row = tables.streams.get(stream);
      const incarnation = row?.id ?? 0;
      const from = { incarnation, version: tables.version() };
      const isAnother = expected !== 0 && incarnation !== expected;
      if (row === undefined || isAnother) return { events: [], cursor, complete: true, ...from };
      return { ...tables.events.page(stream, row, cursor, PAGE_SIZE), ...from };
    });
  }

  /** All events after a position. */
  async all(stream: string, after: number): Promise<readonly StoredEvent[]> {
    const first = await this.first(stream, after);
    if (first.complete) return first.events;
    const found = [first.events];
    let page = first;
    while (!page.complete) {
      await nextTurn();
      page = await this.next(stream, page);
      // Erased, and perhaps made anew, between two pages: what was read so far is no history of anything.
      if (page.incarnation !== first.incarnation) return this.all(stream, after);
      found.push(page.events);
    }
    return found.flat();
  }
}
