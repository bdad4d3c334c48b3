import { statSync } from 'node:fs';
import { OnwardError } from '../../kernel/error.ts';

/**
 * Remembers which files on the disk the open connection uses. SQLite goes on acknowledging writes into a file that was
 * unlinked or renamed, so this is looked at around every commit. Only `stat`: opening and closing the file here would
 * drop the locks that SQLite holds on it (sqlite.org/howtocorrupt.html, section 2.2).
 */
export class FileGuard {
  readonly #path: string;
  readonly #files: readonly { readonly path: string; readonly identity: string }[];

  /** Call when the connection has read once, so that the files beside the database exist. */
  constructor(given: string, path: string) {
    this.#path = path;
    // The given path may be a link, and SQLite puts its files beside what it points to.
    this.#files = [given, `${path}-wal`, `${path}-shm`].map((file) => ({ path: file, identity: identityOf(file) }));
    this.check();
  }

  /** Throws `journal/vanished` when one of the files is gone or another file is in its place. */
  check(): void {
    for (const file of this.#files) {
      const identity = identityOf(file.path);
      if (identity === file.identity && identity !== GONE) continue;
      const what = identity === GONE ? 'is gone' : 'was replaced by another file';
      throw new OnwardError('journal/vanished', `${file.path} ${what} while the journal was open.`, {
        place: this.#path,
        next: [
          'Find out what removed it: a cleaning step, an agent, a restored backup.',
          'Put the file back or start again with a new journal; keep it outside of working trees.',
        ],
      });
    }
  }
}

const GONE = '';

function identityOf(path: string): string {
  const stat = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stat === undefined ? GONE : `${stat.dev}:${stat.ino}`;
}
