import type { Place } from '../fault.ts';
import type { Frame } from '../wire-format.ts';

/** Text is streamed in this many pieces at most, arguments in two. */
const TEXT_PIECES = 6;

/** The pieces in which a text is streamed. Never empty pieces; none for an empty text. */
export function textPieces(text: string): readonly string[] {
  const size = Math.max(1, Math.ceil(text.length / TEXT_PIECES));
  const pieces: string[] = [];
  for (let at = 0; at < text.length; at += size) pieces.push(text.slice(at, at + size));
  return pieces;
}

/** The two halves in which the arguments of a call are streamed. */
export function jsonHalves(json: string): readonly [string, string] {
  const middle = Math.ceil(json.length / 2);
  return [json.slice(0, middle), json.slice(middle)];
}

/** One server-sent event. */
export function sse(event: string | undefined, data: string): string {
  return event === undefined ? `data: ${data}\n\n` : `event: ${event}\ndata: ${data}\n\n`;
}

/** A frame of one server-sent event, at a place or not. */
export function frame(wire: string, mark?: Place): Frame {
  return mark === undefined ? { wire } : { wire, mark };
}

/** The mark of piece `index` out of `count`: the middle piece of a text is where faults "in text" act. */
export function textMark(index: number, count: number): Place | undefined {
  return index === Math.floor((count - 1) / 2) ? 'text' : undefined;
}

/** A made-up but steady token count: about four characters each. */
export function tokens(text: string): number {
  return Math.ceil(text.length / 4);
}
