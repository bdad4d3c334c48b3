import { fstatSync } from 'node:fs';
import { OnwardError } from '../kernel/error.ts';
import type { Io } from './io.ts';

/** How long to wait for the first byte of a pipe that may never write; Claude Code waits as long. */
const firstByteMs = 3_000;
const mostBytes = 16 * 1024 * 1024;

/**
 * Text piped into `onward run`, which the bare agent would have read as part of its prompt. `undefined` without a pipe or
 * file, or when nobody writes within 3 s (an inherited pipe of a job runner).
 */
export async function readPipedInput(io: Io): Promise<string | undefined> {
  const { stdin } = process;
  if (stdin.isTTY === true || !hasInput()) return undefined;
  const chunks: Buffer[] = [];
  const text = await new Promise<string | undefined>((resolve, reject) => {
    const timer = setTimeout(() => {
      io.err('onward: no input came through the pipe within 3 s; going on without it');
      stop();
      resolve(undefined);
    }, firstByteMs);
    let size = 0;
    const take = (chunk: Buffer): void => {
      clearTimeout(timer);
      chunks.push(chunk);
      size += chunk.length;
      if (size > mostBytes)
        reject(
          new OnwardError(
            'cli/input-too-large',
            'More than 16 MiB came through the pipe; that is more than a prompt can hold.',
            { next: ['Put it into a file and name the file in the prompt.'] },
          ),
        );
    };
    const end = (): void => {
      clearTimeout(timer);
      resolve(Buffer.concat(chunks).toString('utf8'));
    };
    const stop = (): void => {
      stdin.off('data', take).off('end', end);
      stdin.pause();
      stdin.unref();
    };
    stdin.on('data', take).on('end', end).on('error', end);
  });
  return text === undefined || text === '' ? undefined : text;
}

function hasInput(): boolean {
  try {
    const kind = fstatSync(0);
    return kind.isFIFO() || kind.isFile() || kind.isSocket();
  } catch {
    return false;
  }
}
