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
  /** The items that `chunk` completes; the chunk may be overwritten afterwards. */
  push(chunk: Buffer): readonly SpoolItem[];
  /** What is left without a line end. */
  finish(): SpoolItem | undefined;
}

/** A splitter that starts at byte `from`, which must be the start of a line. */
export function createLineSplitter(from: number, capBytes: number): LineSplitter {
  const rest = createRest(capBytes);
  let offset = from;

  /** One line that ends in front of byte `end` of the chunk, however long, valid or begun before. */
  function takeLine(chunk: Buffer, start: number, end: number): SpoolItem {
    const endOffset = offset + rest.length() + end - start + 1;
    rest.add(chunk.subarray(start, end));
    const item = rest.take({ offset, endOffset });
    offset = endOffset;
    return item;
  }

  /**
   * Lines of valid text, decoded at once: one call per line would cost more than all the rest. Where text and bytes are of
   * the same length it is ASCII, and a place in one is a place in the other.
   */
  function takeText(block: Buffer, items: SpoolItem[]): void {
    const text = block.toString('utf8');
    const isAscii = text.length === block.length;
    for (let first = 0, start = 0; start < block.length;) {
      const to = text.indexOf('\n', first);
      const end = isAscii ? to : block.indexOf(NEWLINE, start);
      if (end - start > capBytes) items.push(takeLine(block, start, end));
      else items.push({ kind: 'line', line: text.slice(first, to), offset, endOffset: (offset += end - start + 1) });
      first = to + 1;
      start = end + 1;
    }
  }

  function takeLines(chunk: Buffer, begin: number, complete: number, items: SpoolItem[]): void {
    for (let start = begin; start < complete;) {
      const end = chunk.indexOf(NEWLINE, start);
      items.push(takeLine(chunk, start, end));
      start = end + 1;
    }
  }

  function push(chunk: Buffer): readonly SpoolItem[] {
    const items: SpoolItem[] = [];
    const complete = chunk.lastIndexOf(NEWLINE) + 1;
    const start = rest.length() === 0 || complete === 0 ? 0 : chunk.indexOf(NEWLINE) + 1;
    takeLines(chunk, 0, start, items);
    const block = chunk.subarray(start, complete);
    if (isUtf8(block)) takeText(block, items);
    else takeLines(chunk, start, complete, items);
    rest.add(chunk.subarray(complete));
    return items;
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
