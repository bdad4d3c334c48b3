import type { Output } from './output.ts';
import type { Garbage } from './play.ts';

/** Bytes of a huge line when the play does not say. */
const hugeLine = 50 * 1024 * 1024;
const piece = 1024 * 1024;

/** Writes junk of this kind to standard output. */
export function writeGarbage(output: Output, kind: Garbage, bytes: number = hugeLine): void {
  switch (kind) {
    case 'not-json':
      return output.raw('warning: this is no JSON {"type":\n');
    case 'bad-utf8':
      return output.raw(Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0xc3, 0x28, 0x22, 0x7d, 0x0a]));
    case 'huge-line':
      return writeHugeLine(output, bytes);
    case 'wrong-shape':
      return output.raw(
        '[]\nnull\n"text"\n{"type":7}\n{"type":"assistant","message":"no object"}\n{"type":"result"}\n',
      );
    case 'half-line':
      return output.raw('{"type":"assistant","message":{"content":[{"type":"te');
    case 'nul-bytes':
      return output.raw(Buffer.alloc(64));
    case 'blank-lines':
      return output.raw('\n\r\n   \n');
    default:
      return kind satisfies never;
  }
}

/** Valid JSON, of this many bytes including the line end, in pieces so that it needs little memory here. */
function writeHugeLine(output: Output, bytes: number): void {
  const [head, tail] = ['{"type":"huge","padding":"', '"}\n'];
  output.raw(head);
  for (let rest = bytes - head.length - tail.length; rest > 0; rest -= piece)
    output.raw('x'.repeat(Math.min(rest, piece)));
  output.raw(tail);
}
