import { writeSync } from 'node:fs';

/**
 * Standard output and error of the stand-in, written at once so that nothing is lost when it kills itself next. A reader
 * that has gone is ignored: the real CLIs go on working without one, and that is a fault to be tested.
 */
export class Output {
  #gone = false;

  /** Writes one line of JSON. */
  json(value: unknown): void {
    this.raw(`${JSON.stringify(value)}\n`);
  }

  /** Writes bytes as they are. */
  raw(content: string | Uint8Array): void {
    if (!this.#gone) this.#gone = !writeAll(1, content);
  }

  /** Writes to standard error. */
  error(content: string): void {
    writeAll(2, content);
  }
}

const pause = new Int32Array(new SharedArrayBuffer(4));

function writeAll(descriptor: number, content: string | Uint8Array): boolean {
  let rest = typeof content === 'string' ? Buffer.from(content) : content;
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(descriptor, rest));
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code;
      if (code === 'EPIPE' || code === 'ECONNRESET') return false;
      if (code !== 'EAGAIN') throw error;
      Atomics.wait(pause, 0, 0, 2);
    }
  }
  return true;
}
