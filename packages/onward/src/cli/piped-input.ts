import { fstatSync } from 'node:fs';
import { OnwardError } from '../kernel/error.ts';
import { systemClock } from '../processes/index.ts';
import type { Io } from './io.ts';

/** How long to wait for the first byte of a pipe that may never write; Claude Code waits as long. */
const firstByteMs = 3_000;
const mostBytes = 16 * 1024 * 1024;

/**
 * Text piped into `onward run`, which the bare agent would have read as part of its prompt. `undefined` without a pipe or
 * file, or when nobody writes within 3 s (an inherited pipe of a job runner). Throws `cli/input-too-large`.
 */
export async function readPipedInput(io: Io): Promise<string | undefined> {
  if (!hasInput()) return undefined;
  const chunks = process.stdin.iterator({ destroyOnReturn: true }) as AsyncIterableIterator<Buffer>;
  const first = chunks.next();
  const waiting = new AbortController();
  const begun = await Promise.race([first, systemClock.sleep(firstByteMs, waiting.signal)]);
  waiting.abort();
  if (begun === undefined) {
    io.err(`onward: no input came through the pipe within ${firstByteMs / 1_000} s; going on without it`);
    process.stdin.unref();
    return undefined;
  }
  const parts: Buffer[] = begun.done === true ? [] : [begun.value];
  let bytes = parts[0]?.length ?? 0;
  for await (const chunk of chunks) {
    parts.push(chunk);
    bytes += chunk.length;
    if (bytes > mostBytes) throw tooLarge();
  }
  const text = Buffer.concat(parts).toString('utf8');
  return text === '' ? undefined : text;
}

/** Whether standard input is something that text may come through. */
export function hasInput(): boolean {
  try {
    const kind = fstatSync(0);
    return kind.isFIFO() || kind.isFile() || kind.isSocket();
  } catch {
    return false;
  }
}

function tooLarge(): OnwardError {
  return new OnwardError(
    'cli/input-too-large',
    'More than 16 MiB came through the pipe; that is more than a prompt can hold.',
    {
      next: ['Put it into a file and name the file in the prompt.'],
    },
  );
}
