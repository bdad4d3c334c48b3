import { createHash } from 'node:crypto';
import { closeSync, openSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { OnwardError } from '../kernel/error.ts';
import { isAlive, ownIdentity, type ProcessIdentity } from './identity.ts';
import { ensurePrivateDir } from './private-dir.ts';

/** The one live holder of a CLI session on this host. */
export interface SessionLock {
  /** Frees the lock; twice is fine. The system frees it too when this process dies, however it dies. */
  release(): void;
}

/** What came of asking for a lock; `by` is known unless the holder has only just taken it. */
export type SessionLockResult =
  | { readonly kind: 'locked'; readonly lock: SessionLock }
  | { readonly kind: 'held'; readonly by: ProcessIdentity | undefined };

/** Which session, and where the locks of this user live. */
export interface SessionLockRequest {
  readonly folder: string;
  /** The agent CLI, e.g. `claude`. */
  readonly cli: string;
  readonly sessionId: string;
}

const SQLITE_BUSY = 5;

/** Held connections: one that nobody refers to would be collected, and the lock with it. */
const held = new Set<DatabaseSync>();

/**
 * Takes the lock of one (CLI, session id) if nobody has it; never waits. It is an exclusive transaction on an empty
 * SQLite file, so the system frees it at death, also after `kill -9`.
 *
 * The file is never opened by other means nor deleted: POSIX drops a process's locks on a file when that process closes
 * *any* descriptor of it (https://sqlite.org/howtocorrupt.html, 2.2), and a new file would be a second lock.
 */
export async function tryLockSession(request: SessionLockRequest): Promise<SessionLockResult> {
  const folder = await ensurePrivateDir(request.folder);
  const name = createHash('sha256').update(`${request.cli}\0${request.sessionId}`).digest('hex').slice(0, 40);
  const path = join(folder, `${name}.lock`);
  const ownerPath = join(folder, `${name}.owner`);
  createOnce(path);
  const database = lock(path);
  if (database === undefined) return { kind: 'held', by: readOwner(ownerPath) };
  held.add(database);
  writeOwner(ownerPath);
  return { kind: 'locked', lock: { release: () => release(database) } };
}

function createOnce(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw broken(path, error);
  }
}

function lock(path: string): DatabaseSync | undefined {
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(path, { timeout: 0 });
    database.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
    return database;
  } catch (error) {
    database?.close();
    if ((error as { errcode?: number }).errcode === SQLITE_BUSY) return undefined;
    throw broken(path, error);
  }
}

function release(database: DatabaseSync): void {
  if (held.delete(database)) database.close();
}

/** In a file of its own, whole or not at all, since the locked one must not be read. */
function writeOwner(path: string): void {
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, JSON.stringify(ownIdentity()), { mode: 0o600 });
  renameSync(draft, path);
}

function readOwner(path: string): ProcessIdentity | undefined {
  try {
    const { pid, startedAt } = JSON.parse(readFileSync(path, 'utf8')) as Partial<ProcessIdentity>;
    if (typeof pid !== 'number' || typeof startedAt !== 'string') return undefined;
    // The holder before this one: it died, and the new one has not written its name yet.
    return isAlive({ pid, startedAt }) ? { pid, startedAt } : undefined;
  } catch {
    return undefined;
  }
}

function broken(path: string, cause: unknown): OnwardError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new OnwardError('processes/lock-broken', `The session lock ${path} cannot be used: ${why}.`, {
    place: path,
    next: ['Keep the state folder on a local disk.', `If no run is alive, remove '${path}' and try again.`],
    cause,
  });
}
