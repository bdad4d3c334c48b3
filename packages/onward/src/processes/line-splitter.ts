import { isUtf8 } from 'node:buffer';

/** What a spool holds at a place. Offsets are bytes from the start of the file; `endOffset` is where reading goes on. */
export type SpoolItem = SpoolPlace &
  (
    | { readonly kind: 'line'; readonly line: string }
    /** A line over the cap: skipped, only its beginning (1 KiB) kept. `bytes` is its length. */
    | { readonly kind: 'overlong'; readonly bytes: number; readonly head: string }
    /** A line that is no UTF-8: what is wrong is U+FFFD in `line`. */
    | { readonly kind: 'invalid-utf8'; readonly line: string }
    /** The end of the file after the writer's exit, without a line end: torn, or a writer that does not end its last line. */
    | { readonly kind: 'partial'; readonly line: string; readonly bytes: number }
  );

/** Where an item is; its line end is not part of `line` but is part of the place. */
export interface SpoolPlace {
  readonly offset: number;
  readonly endOffset: number;
}

const NEWLINE = 10;
const HEAD_BYTES = 1024;

/** Cuts bytes into lines with exact offsets, in memory bounded by the cap plus one chunk. */
export interface LineSplitter {
  /** The items that `chunk` completes. Iterate to the end before the next call; the chunk may be overwritten after that. */
  push(chunk: Buffer): Iterable<SpoolItem>;
  /** What is left without a line end. */
  finish(): SpoolItem | undefined;
}

/** A splitter that starts at byte `from`, which must be the start of a line. */
export function createLineSplitter(from: number, capBytes: number): LineSplitter {
  const rest = createRest(capBytes);
  let offset = from;

  function* push(chunk: Buffer): Iterable<SpoolItem> {
    const last = chunk.lastIndexOf(NEWLINE);
    // One look at all complete lines is much faster than one per line; only bad input is looked at line by line.
    const allValid = last !== -1 && isUtf8(chunk.subarray(0, last));
    let start = 0;
    while (start <= last) {
      const end = chunk.indexOf(NEWLINE, start);
      const endOffset = offset + rest.length() + end - start + 1;
      const place = { offset, endOffset };
      if (rest.length() === 0 && allValid && end - start <= capBytes) {
        yield { kind: 'line', line: chunk.toString('utf8', start, end), ...place };
      } else {
        rest.add(chunk.subarray(start, end));
        yield rest.take(place);
      }
      offset = endOffset;
      start = end + 1;
    }
    rest.add(chunk.subarray(start));
  }

  function finish(): SpoolItem | undefined {
    const bytes = rest.length();
    if (bytes === 0) return undefined;
    const item = rest.take({ offset, endOffset: offset + bytes });
    offset += bytes;
    return item.kind === 'overlong' ? item : { ...item, kind: 'partial', bytes };
  }

  return { push, finish };
}

interface Rest {
  length(): number;
  add(part: Buffer): void;
  take(place: SpoolPlace): Exclude<SpoolItem, { kind: 'partial' }>;
}

/** A line that is not complete yet. Over the cap only its head and its length are kept. */
function createRest(capBytes: number): Rest {
  let parts: Buffer[] = [];
  let bytes = 0;
  let head: Buffer | undefined;
  return {
    length: () => bytes,
    add(part) {
      if (part.length === 0) return;
      bytes += part.length;
      if (bytes <= capBytes) {
        parts.push(Buffer.from(part));
      } else if (head === undefined || head.length < HEAD_BYTES) {
        const start = Buffer.concat([head ?? Buffer.concat(parts), part.subarray(0, HEAD_BYTES)]);
        head = Buffer.from(start.subarray(0, HEAD_BYTES));
        parts = [];
      }
    },
    take(place) {
      const whole = head ?? Buffer.concat(parts);
      const length = bytes;
      const isOverlong = head !== undefined;
      parts = [];
      bytes = 0;
      head = undefined;
      const line = whole.toString('utf8');
      if (isOverlong) return { kind: 'overlong', bytes: length, head: line, ...place };
      return { kind: isUtf8(whole) ? 'line' : 'invalid-utf8', line, ...place };
    },
  };
}
