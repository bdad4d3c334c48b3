import { isUtf8 } from 'node:buffer';
import type { FileHandle } from 'node:fs/promises';

/** Longer lines are not read: no agent writes one, and each must fit into memory. */
export const LONGEST_LINE: number = 64 * 1024 * 1024;

const CHUNK = 1024 * 1024;
const NEWLINE = 10;

/** A line as it lies in the file. `bytes` are without its line end; absent where it is too long to be read. */
export interface RawLine {
  /** From 1. */
  readonly number: number;
  /** Byte at which it begins, and its length without line end. */
  readonly offset: number;
  readonly length: number;
  readonly bytes: Buffer | undefined;
  /** False for the last line of a file that does not end with a line end. */
  readonly ended: boolean;
}

/** The lines of the first `size` bytes of a file, in memory bounded by the longest line. */
export async function* readLines(
  file: FileHandle,
  size: number,
  longest: number = LONGEST_LINE,
): AsyncGenerator<RawLine> {
  const pending = createPending(longest);
  const chunk = Buffer.allocUnsafe(Math.min(CHUNK, Math.max(size, 1)));
  let number = 0;
  let begin = 0;
  for (let offset = 0; offset < size;) {
    // oxlint-disable-next-line no-await-in-loop -- one piece after the other is the point
    const { bytesRead } = await file.read(chunk, 0, Math.min(chunk.length, size - offset), offset);
    if (bytesRead === 0) break;
    const piece = chunk.subarray(0, bytesRead);
    for (let start = 0; start < bytesRead;) {
      const newline = piece.indexOf(NEWLINE, start);
      const end = newline < 0 ? bytesRead : newline;
      pending.add(piece.subarray(start, end));
      start = end + 1;
      if (newline < 0) break;
      const line = pending.take();
      yield { number: ++number, offset: begin, ended: true, ...line };
      begin += line.length + 1;
    }
    offset += bytesRead;
  }
  const rest = pending.take();
  if (rest.length > 0) yield { number: number + 1, offset: begin, ended: false, ...rest };
}

interface Pending {
  add(part: Buffer): void;
  take(): { readonly length: number; readonly bytes: Buffer | undefined };
}

function createPending(longest: number): Pending {
  let parts: Buffer[] = [];
  let length = 0;
  return {
    add(part) {
      length += part.length;
      if (length <= longest) parts.push(Buffer.from(part));
      else parts = [];
    },
    take() {
      const taken = { length, bytes: length <= longest ? Buffer.concat(parts) : undefined };
      parts = [];
      length = 0;
      return taken;
    },
  };
}

/** What a line says, or why nothing can be read from it. `mended`: some of its bytes were no UTF-8. */
export type DecodedLine =
  | { readonly kind: 'blank' }
  | { readonly kind: 'value'; readonly value: { readonly [key: string]: unknown }; readonly mended: boolean }
  | { readonly kind: 'unreadable'; readonly why: string };

const MARK = '\uFEFF';

/** Reads a line as one JSON object. A byte order mark in front of the first is left to `hasMark`. */
export function decodeLine(line: RawLine): DecodedLine {
  if (line.bytes === undefined) return { kind: 'unreadable', why: `is ${line.length} bytes long` };
  const text = textOf(line);
  if (text.trim() === '') return { kind: 'blank' };
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      return { kind: 'unreadable', why: 'is no JSON object' };
    return { kind: 'value', value: value as { readonly [key: string]: unknown }, mended: !isUtf8(line.bytes) };
  } catch {
    return { kind: 'unreadable', why: text.includes('\0') ? 'has zero bytes in it' : 'is no JSON' };
  }
}

/** The text of a line without the mark of the file; what is no UTF-8 is U+FFFD in it. */
export function textOf(line: RawLine): string {
  const text = line.bytes?.toString('utf8') ?? '';
  return line.number === 1 && text.startsWith(MARK) ? text.slice(1) : text;
}

/** True for the first line of a file that begins with a byte order mark. */
export function hasMark(line: RawLine): boolean {
  return line.number === 1 && line.bytes?.toString('utf8', 0, 3) === MARK;
}
