import { isUtf8 } from 'node:buffer';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createLineSplitter, type SpoolItem } from '../../../src/processes/line-splitter.ts';

/** Feeds the text in pieces that end at the given places, reusing one buffer as a reader of files does. */
function split(bytes: Buffer, cuts: readonly number[], { from = 0, cap = 1_000 } = {}): SpoolItem[] {
  const splitter = createLineSplitter(from, cap);
  const items: SpoolItem[] = [];
  const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).toSorted((a, b) => a - b), bytes.length];
  for (let i = 1; i < places.length; i++) {
    const chunk = Buffer.from(bytes.subarray(places[i - 1], places[i]));
    items.push(...splitter.push(chunk));
    chunk.fill(0x21);
  }
  const rest = splitter.finish();
  if (rest !== undefined) items.push(rest);
  return items;
}

describe('cutting bytes into lines', () => {
  test('gives each line with the exact bytes it spans, whatever its letters take', () => {
    expect(split(Buffer.from('é\n\n{"a":1}\r\n'), [])).toEqual([
      { kind: 'line', line: 'é', offset: 0, endOffset: 3 },
      { kind: 'line', line: '', offset: 3, endOffset: 4 },
      { kind: 'line', line: '{"a":1}\r', offset: 4, endOffset: 13 },
    ]);
  });

  test('a letter cut in two between chunks is whole again', () => {
    expect(split(Buffer.from('aé\n'), [2])).toMatchObject([{ line: 'aé', endOffset: 4 }]);
  });

  test('what has no line end comes last, as partial', () => {
    expect(split(Buffer.from('a\n{"torn'), [4])).toMatchObject([
      { kind: 'line' },
      { kind: 'partial', line: '{"torn', bytes: 6, offset: 2, endOffset: 8 },
    ]);
  });

  test('bytes that are no UTF-8 are a fact of that line alone, and NUL is a letter like others', () => {
    const bytes = Buffer.concat([Buffer.from('good\n'), Buffer.from([0x61, 0xff, 0x0a]), Buffer.from('\0\ngood\n')]);
    expect(split(bytes, [])).toMatchObject([
      { kind: 'line', line: 'good' },
      { kind: 'invalid-utf8', line: 'a\uFFFD', offset: 5, endOffset: 8 },
      { kind: 'line', line: '\0' },
      { kind: 'line', line: 'good' },
    ]);
  });

  test('letters of one to four bytes in one piece of many lines keep each line at its bytes', () => {
    const lines = Array.from({ length: 500 }, (_, n) => ['plain', 'é', '€uro', '😀', ''][n % 5]?.repeat(n % 7) ?? '');
    const items = split(Buffer.from(`${lines.join('\n')}\n`), []);
    expect(items.map((item) => item.kind === 'line' && item.line)).toEqual(lines);
    expect(items.map((item) => item.endOffset - item.offset)).toEqual(lines.map((line) => Buffer.byteLength(line) + 1));
  });

  test('a line over the cap is skipped to its end, with its size and its beginning', () => {
    const bytes = Buffer.from(`a\n${'x'.repeat(5_000)}\nb\n${'y'.repeat(2_000)}`);
    expect(split(bytes, [500, 1_500, 3_000])).toEqual([
      { kind: 'line', line: 'a', offset: 0, endOffset: 2 },
      { kind: 'overlong', bytes: 5_000, head: 'x'.repeat(1_024), offset: 2, endOffset: 5_003 },
      { kind: 'line', line: 'b', offset: 5_003, endOffset: 5_005 },
      { kind: 'overlong', bytes: 2_000, head: 'y'.repeat(1_024), offset: 5_005, endOffset: 7_005 },
    ]);
    expect(split(Buffer.from(`${'x'.repeat(1_000)}\n`), [])).toMatchObject([{ kind: 'line' }]);
    expect(split(Buffer.from(`${'x'.repeat(1_001)}\n`), [])).toMatchObject([{ kind: 'overlong' }]);
  });

  const bytes = fc
    .array(fc.oneof(fc.constant('\n'), fc.constant('é€😀'), fc.string(), fc.uint8Array({ maxLength: 6 })), {
      maxLength: 40,
    })
    .map((parts) => Buffer.concat(parts.map((part) => Buffer.from(part as string))));

  test('for all bytes and all cuts: the same items, without a gap, and reading on from any of them gives the rest', () => {
    fc.assert(
      fc.property(
        bytes,
        fc.array(fc.nat(400), { maxLength: 10 }),
        fc.integer({ min: 0, max: 30 }),
        (input, cuts, cap) => {
          const whole = split(input, [], { cap });
          expect(split(input, cuts, { cap })).toEqual(whole);
          let at = 0;
          for (const [index, item] of whole.entries()) {
            expect(item.offset).toBe(at);
            at = item.endOffset;
            expect(split(input.subarray(at), cuts, { from: at, cap })).toEqual(whole.slice(index + 1));
            const span = input.subarray(item.offset, item.endOffset);
            expect(item.kind !== 'line' || Buffer.from(`${item.line}\n`).equals(span)).toBe(true);
            expect(item.kind === 'invalid-utf8' && isUtf8(span)).toBe(false);
          }
          expect(at).toBe(input.length);
        },
      ),
    );
  });
});
