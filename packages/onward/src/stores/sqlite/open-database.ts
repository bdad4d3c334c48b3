import { accessSync, chmodSync, closeSync, constants, mkdirSync, openSync, realpathSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { OnwardError } from '../../kernel/error.ts';
import { type Patience, rollBack, whileBusy } from './retry.ts';
import { inspect, migrate } from './schema.ts';
import { readOnlyError, toSchemaError } from './sqlite-error.ts';

const OURS_ONLY = 0o600;

/** Opens the journal file that `prepareFile` made or found, asserts durability, and brings the schema up to date. */
export async function openDatabase(patience: Patience): Promise<DatabaseSync> {
  const { path } = patience;
  refuseFolder(path);
  refuseReadOnly(path);
  let db: DatabaseSync | undefined;
  try {
    db = new DatabaseSync(path);
    await prepareDatabase(db, patience);
    return db;
  } catch (error) {
    db?.close();
    throw toSchemaError(error, path);
  }
}

async function prepareDatabase(db: DatabaseSync, patience: Patience): Promise<void> {
  const { path } = patience;
  // Before anything is written: the file may belong to somebody else.
  const kind = await whileBusy(patience, () => inspect(db, path));
  closeToOthers(path);
  await whileBusy(patience, () => setPragmas(db));
  assertDurable(db, path);
  // A file that was not in this mode, such as a backup made by `vacuum into`, gets its log only when it is read.
  await whileBusy(patience, () => inspect(db, path));
  if (kind !== 'current') {
    await whileBusy(patience, () => db.exec('begin immediate'));
    try {
      migrate(db, path);
      db.exec('commit');
    } catch (error) {
      rollBack(db);
      throw error;
    }
  }
}

function setPragmas(db: DatabaseSync): void {
  db.exec(`
    pragma busy_timeout = 0;
    pragma journal_mode = wal;
    pragma synchronous = full;
    pragma fullfsync = on;
    pragma checkpoint_fullfsync = on;
    pragma secure_delete = on;
    pragma trusted_schema = off;
    pragma cell_size_check = on;
    pragma journal_size_limit = 16777216;
  `);
}

/** What must hold on a connection for `append` to mean what it says. */
const REQUIRED: readonly (readonly [pragma: string, value: string | number])[] = [
  ['journal_mode', 'wal'],
  ['synchronous', 2],
  ['busy_timeout', 0],
  ['fullfsync', 1],
  ['secure_delete', 1],
];

/** Throws `journal/durability` when a setting did not take, as on file systems without shared memory. */
export function assertDurable(db: DatabaseSync, path: string): void {
  for (const [pragma, wanted] of REQUIRED) {
    const actual = Object.values(db.prepare(`pragma ${pragma}`).get() ?? {})[0];
    if (actual === wanted) continue;
    throw new OnwardError(
      'journal/durability',
      `The journal ${path} would not survive a crash: ${pragma} is ${String(actual)}, not ${wanted}.`,
      { place: path, next: ['Keep the journal on a local disk, not on a network share.'] },
    );
  }
}

/**
 * Makes the folder (0700) and the file (0600) where they are missing, and returns the true path. SQLite gives the files
 * beside it the same mode.
 */
export function prepareFile(given: string): string {
  const path = resolve(given);
  try {
    if (statSync(path, { throwIfNoEntry: false }) === undefined) {
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
      makeFile(path);
    }
    return realpathSync(path);
  } catch (cause) {
    throw new OnwardError('journal/no-folder', `The journal ${path} cannot be made.`, {
      place: path,
      next: [`Make a folder that you can write: ${dirname(path)}`, 'Or choose another file with --journal.'],
      cause,
    });
  }
}

function makeFile(path: string): void {
  try {
    closeSync(openSync(path, 'wx', OURS_ONLY));
  } catch (error) {
    // Another process made it just now.
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  }
}

/** A file that others can read would hand them the history. One that belongs to somebody else cannot be changed, only used. */
function closeToOthers(path: string): void {
  for (const file of [path, `${path}-wal`, `${path}-shm`]) {
    const stat = statSync(file, { throwIfNoEntry: false });
    if (stat === undefined || (stat.mode & 0o077) === 0 || stat.uid !== process.getuid?.()) continue;
    chmodSync(file, OURS_ONLY);
  }
}

/** SQLite would open such a file for reading, and fail only at the first append. */
function refuseReadOnly(path: string): void {
  try {
    accessSync(path, constants.W_OK);
    accessSync(dirname(path), constants.W_OK);
  } catch (cause) {
    throw readOnlyError(path, cause);
  }
}

function refuseFolder(path: string): void {
  if (!statSync(path).isDirectory()) return;
  throw new OnwardError('journal/not-a-database', `${path} is a folder, so it is no journal.`, {
    place: path,
    next: [`Name a file in it: ${path}/journal.db`],
  });
}
