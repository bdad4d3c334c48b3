import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { OnwardError } from '../../kernel/error.ts';

/** "Onwd": marks the file as a journal of this program (sqlite.org/pragma.html#pragma_application_id). */
const APPLICATION_ID = 0x4f6e7764;

/**
 * A place is `stream * PLACES_PER_STREAM + position`: one whole number orders all events by stream and position, so the
 * table is clustered without an index, and adding to the last stream fills page after page. There is room for
 * 67 million events in each of 134 million streams before a place is no exact JavaScript number.
 */
export const PLACES_PER_STREAM: number = 2 ** 26;

/**
 * `migrations[n]` brings schema n to n + 1, inside one transaction. Never edited once released: old files pass through all
 * of them.
 */
const migrations: readonly string[] = [
  `
  create table stream (
    id integer primary key autoincrement,
    name text not null unique,
    last integer not null,
    head text not null,
    epoch integer not null,
    holder text,
    expires integer,
    due integer,
    seal text not null
  ) strict;
  create index stream_due on stream (due) where due is not null;
  create table event (
    place integer primary key,
    at integer not null,
    epoch integer,
    type text not null,
    v integer not null,
    id text,
    ignorable integer,
    data text not null,
    checksum text not null
  ) strict;
  create unique index event_id on event (place / ${PLACES_PER_STREAM}, id) where id is not null;
  create table blob (sha256 text not null primary key, bytes blob not null) strict;
  create table blob_use (
    stream integer not null,
    sha256 text not null,
    primary key (stream, sha256)
  ) strict, without rowid;
  create index blob_use_sha256 on blob_use (sha256);
  create table fence (epoch_floor integer not null) strict;
  insert into fence values (0);
  `,
];

/** What a file turned out to be. */
export type FileKind = 'empty' | 'old' | 'current';

/**
 * Looks at the file without changing it. Throws `journal/foreign` for another program's database and
 * `journal/newer-schema` for a journal of a newer onward.
 */
export function inspect(db: DatabaseSync, path: string): FileKind {
  const application = pragmaNumber(db, 'application_id');
  const version = pragmaNumber(db, 'user_version');
  const tables = db.prepare('select count(*) as n from sqlite_schema').get() as { n: number };
  // A crash between making the file and its schema leaves a database without tables.
  if (application === 0 && version === 0 && tables.n === 0) return 'empty';
  if (application !== APPLICATION_ID) {
    throw new OnwardError('journal/foreign', `${path} is the database of another program, so it is no journal.`, {
      place: path,
      next: ['Choose another file with --journal; this one was left as it is.'],
    });
  }
  if (version > migrations.length) throw newerSchemaError(path, version);
  return version === migrations.length ? 'current' : 'old';
}

/** Looks, inside each transaction, whether a newer onward has changed the schema since this one opened the file. */
export class SchemaCheck {
  readonly #path: string;
  readonly #version: StatementSync;

  constructor(db: DatabaseSync, path: string) {
    this.#path = path;
    this.#version = db.prepare('pragma user_version');
  }

  /** Throws `journal/newer-schema`: what this program would write is not what the newer one reads. */
  check(): void {
    const version = (this.#version.get() as { user_version: number }).user_version;
    if (version !== migrations.length) throw newerSchemaError(this.#path, version);
  }
}

function newerSchemaError(path: string, version: number): OnwardError {
  return new OnwardError(
    'journal/newer-schema',
    `The journal ${path} was written by a newer onward (schema ${version}; this one knows ${migrations.length}).`,
    { place: path, next: ['Update onward on this machine.', 'Or choose another file with --journal.'] },
  );
}

/** Brings the file to the newest schema. The caller holds the write lock and commits. */
export function migrate(db: DatabaseSync, path: string): void {
  if (inspect(db, path) === 'current') return;
  for (const step of migrations.slice(pragmaNumber(db, 'user_version'))) db.exec(step);
  db.exec(`pragma application_id = ${APPLICATION_ID}; pragma user_version = ${migrations.length}`);
}

/** The value of a pragma that is a whole number. */
export function pragmaNumber(db: DatabaseSync, name: string): number {
  return Number(Object.values(db.prepare(`pragma ${name}`).get() ?? {})[0]);
}
