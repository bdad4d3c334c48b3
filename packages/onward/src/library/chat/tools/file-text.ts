import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { OnwardError } from '../../../kernel/error.ts';

/** Files over this size are not for a model's eyes, bytes. */
const mostBytes = 8 * 1024 * 1024;

/** The text of a regular file. Throws `chat/not-a-file`, `chat/not-text` and `chat/too-large`. */
export async function readText(path: string, shown: string): Promise<string> {
  // Without O_NONBLOCK opening a named pipe would wait for whoever writes into it.
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const about = await file.stat();
    if (!about.isFile()) throw new OnwardError('chat/not-a-file', `${shown} is no regular file.`, { place: shown });
    if (about.size > mostBytes)
      throw new OnwardError('chat/too-large', `${shown} has ${about.size} bytes; ${mostBytes} can be read.`, {
        place: shown,
        next: ['Search in it instead.'],
      });
    const bytes = await file.readFile();
    if (bytes.includes(0)) throw new OnwardError('chat/not-text', `${shown} is not a text.`, { place: shown });
    return bytes.toString('utf8');
  } finally {
    await file.close();
  }
}

/** Puts a text into a file, all of it or nothing: written beside it and moved into place. Missing folders are made. */
export async function writeText(path: string, text: string): Promise<void> {
  const known = await stat(path).catch(() => undefined);
  if (known !== undefined && !known.isFile())
    throw new OnwardError('chat/not-a-file', 'There is something at that path that is no regular file.', {
      place: path,
    });
  await mkdir(dirname(path), { recursive: true });
  const beside = join(dirname(path), `.onward-${randomUUID()}.tmp`);
  try {
    const file = await open(beside, 'wx', known?.mode ?? 0o666);
    try {
      await file.writeFile(text, 'utf8');
      if (known !== undefined) await file.chmod(known.mode);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(beside, path);
  } catch (error) {
    await rm(beside, { force: true });
    throw error;
  }
}
