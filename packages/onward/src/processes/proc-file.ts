import { closeSync, openSync, readSync } from 'node:fs';

/**
 * One buffer for all: `readFileSync` takes 64 KiB for every file that tells no size, as those below /proc do, which is
 * megabytes for one look at all processes.
 */
const buffer = Buffer.allocUnsafeSlow(64 * 1024);

/** A small text file of the system, its bytes as Latin-1; `undefined` when it is gone or not ours to read. */
export function readProcFile(path: string): string | undefined {
  let file: number | undefined;
  try {
    file = openSync(path, 'r');
    for (let text = ''; ;) {
      const size = readSync(file, buffer, 0, buffer.length, null);
      text += buffer.toString('latin1', 0, size);
      // The system fills what it is given: less is the end, and asking again would be one more call for each file.
      if (size < buffer.length) return text;
    }
  } catch {
    // Also ESRCH: the process has ended since it was opened.
    return undefined;
  } finally {
    if (file !== undefined) closeSync(file);
  }
}
