import { OnwardError } from '../../kernel/error.ts';

/** SQLITE_IOERR_SHMSIZE: no room for the index of the log. Of all faults of the disk only this one says that it is full. */
const NO_ROOM_FOR_INDEX = 4874;
const SQLITE_FULL = 13;

/** What a failed call of `node:sqlite` says: the primary SQLite result code, as in sqlite.org/rescode.html. */
function primaryCode(error: unknown): number | undefined {
  if (typeof error !== 'object' || error === null || !('errcode' in error)) return undefined;
  if (error.errcode === NO_ROOM_FOR_INDEX) return SQLITE_FULL;
  return typeof error.errcode === 'number' ? error.errcode & 0xff : undefined;
}

/** SQLITE_BUSY or SQLITE_LOCKED: another connection is in the way for now. */
export function isBusy(error: unknown): boolean {
  const code = primaryCode(error);
  return code === 5 || code === 6;
}

/** SQLITE_CORRUPT: the structure of the file is broken where it was read. */
export function isCorrupt(error: unknown): boolean {
  return primaryCode(error) === 11;
}

/** Turns whatever SQLite threw into the fact and the next step; an `OnwardError` passes unchanged. */
export function toOnwardError(error: unknown, path: string): OnwardError {
  if (error instanceof OnwardError) return error;
  const code = primaryCode(error);
  return describe((code === undefined ? undefined : FAULTS[code]) ?? FAILED, error, path);
}

/** As `toOnwardError`, while the file is being opened: SQL that is ours and yet refused means that its tables are not ours. */
export function toSchemaError(error: unknown, path: string): OnwardError {
  const SQLITE_ERROR = 1;
  return primaryCode(error) === SQLITE_ERROR ? describe(DAMAGED, error, path) : toOnwardError(error, path);
}

function describe(fault: Fault, error: unknown, path: string): OnwardError {
  const said = error instanceof Error ? error.message : String(error);
  return new OnwardError(fault.code, `${fault.sentence(path)} (${said})`, {
    place: path,
    next: fault.next(path),
    cause: error,
  });
}

interface Fault {
  readonly code: string;
  readonly sentence: (path: string) => string;
  readonly next: (path: string) => readonly string[];
}

const FAILED: Fault = {
  code: 'journal/failed',
  sentence: (path) => `The journal ${path} cannot be used.`,
  next: () => ['Look at the disk and the permissions of the folder.'],
};

const LOCKED: Fault = {
  code: 'journal/locked',
  sentence: (path) => `Another program holds the journal ${path}.`,
  next: (path) => [`See who has it open: fuser ${path}`, 'End that program or wait for it, then try again.'],
};

const READ_ONLY: Fault = {
  code: 'journal/read-only',
  sentence: (path) => `The journal ${path} cannot be written.`,
  next: (path) => [`Give yourself write access: chmod u+w ${path} and its folder`, 'Or choose another with --journal.'],
};

const DAMAGED: Fault = {
  code: 'journal/damaged',
  sentence: (path) => `The journal ${path} is damaged.`,
  next: (path) => [`Keep a copy of ${path} and of the files beside it.`, 'Restore a backup or start a new journal.'],
};

const FAULTS: Readonly<Record<number, Fault>> = {
  3: READ_ONLY,
  5: LOCKED,
  6: LOCKED,
  8: READ_ONLY,
  10: {
    code: 'journal/io',
    sentence: (path) => `The disk refused to read or write the journal ${path}.`,
    next: () => ['Check the disk (dmesg) and the quota; what was acknowledged before is not affected.'],
  },
  11: DAMAGED,
  13: {
    code: 'journal/disk-full',
    sentence: (path) => `There is no room left for the journal ${path}.`,
    next: () => ['Free some space, then resume: nothing that was acknowledged is lost.'],
  },
  14: {
    code: 'journal/cannot-open',
    sentence: (path) => `The journal ${path} cannot be opened.`,
    next: () => ['Check that its folder exists, is yours, and can be written.'],
  },
  18: {
    code: 'journal/payload-too-large',
    sentence: (path) => `A value is too large for the journal ${path}.`,
    next: () => ['Split the body or keep it outside the journal.'],
  },
  // Every row has its own place, so one that is taken was not written by an append.
  19: DAMAGED,
  26: {
    code: 'journal/not-a-database',
    sentence: (path) => `${path} is not a database, so it is no journal.`,
    next: () => ['Choose another file with --journal; this one was left as it is.'],
  },
};

/** The error for a lock that did not become free in time. */
export function lockedError(path: string, waitedMs: number): OnwardError {
  return new OnwardError('journal/locked', `${LOCKED.sentence(path)} It was not free for ${waitedMs} ms.`, {
    place: path,
    next: LOCKED.next(path),
  });
}

/** The error for a file or folder without write access. */
export function readOnlyError(path: string, cause: unknown): OnwardError {
  return new OnwardError('journal/read-only', READ_ONLY.sentence(path), {
    place: path,
    next: READ_ONLY.next(path),
    cause,
  });
}

/** The error for damage at a place: a stream, or `stream@position`. */
export function damagedError(place: string, what: string): OnwardError {
  return new OnwardError('journal/damaged', `${place} is damaged: ${what}.`, {
    place,
    next: ['Keep a copy of the journal; other streams in it stay usable.', 'Restore a backup, or erase the stream.'],
  });
}
