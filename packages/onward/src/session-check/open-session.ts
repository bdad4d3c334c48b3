import { type BigIntStats, constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { OnwardError } from '../kernel/error.ts';

/** A session file that is open for reading, and what it was like then. */
export interface OpenSession {
  readonly path: string;
  readonly file: FileHandle;
  readonly size: number;
  /** Throws `session/changed` when somebody wrote to it meanwhile. */
  unchanged(): Promise<void>;
}

/** Opens a file for reading and hands it to `use`. Throws `session/unreadable` for what is no file that can be read. */
export async function withSession<Result>(
  path: string,
  use: (session: OpenSession) => Promise<Result>,
): Promise<Result> {
  // Without blocking, since a pipe would be waited for.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch((cause: unknown) => {
    throw unreadable(path, cause);
  });
  try {
    const stats = await file.stat({ bigint: true });
    if (!stats.isFile()) throw notAFile(path, stats);
    if (stats.size === 0n) throw refused(path, 'The file is empty.');
    const unchanged = async (): Promise<void> => {
      const now = await file.stat({ bigint: true });
      if (now.size === stats.size && now.mtimeNs === stats.mtimeNs) return;
      throw new OnwardError('session/changed', 'The file was written to while it was read.', {
        place: path,
        next: ['End the agent that writes it, then check again.'],
      });
    };
    return await use({ path, file, size: Number(stats.size), unchanged });
  } finally {
    await file.close();
  }
}

function notAFile(path: string, stats: BigIntStats): OnwardError {
  if (stats.isDirectory()) return refused(path, 'This is a folder: name the file of one session.');
  return refused(path, 'This is no regular file.');
}

function unreadable(path: string, cause: unknown): OnwardError {
  const code = (cause as NodeJS.ErrnoException).code ?? String(cause);
  const known: Readonly<Record<string, string>> = {
    ENOENT: 'There is no such file.',
    EACCES: 'The file may not be read by this user.',
    EISDIR: 'This is a folder: name the file of one session.',
  };
  return refused(path, known[code] ?? `The file cannot be read (${code}).`, cause);
}

function refused(path: string, sentence: string, cause?: unknown): OnwardError {
  return new OnwardError('session/unreadable', sentence, {
    place: path,
    next: ['onward session check ~/.claude/projects/FOLDER/ID.jsonl'],
    ...(cause === undefined ? {} : { cause }),
  });
}
