import * as fc from 'fast-check';

/** One way in which a file is spoilt, at a place that is a share of its lines. */
export type Damage =
  | {
      readonly kind: 'lose-line' | 'garble' | 'repeat-line' | 'repeat-as-other' | 'not-utf8' | 'move-down';
      readonly at: number;
    }
  | { readonly kind: 'tear'; readonly at: number }
  | {
      readonly kind: 'empty-thinking' | 'unsign' | 'another-model' | 'rename-call' | 'empty-message' | 'empty-text';
      readonly at: number;
    }
  | { readonly kind: 'byte-order-mark' | 'crlf' | 'blank-lines' | 'zeros-at-end'; readonly at: number };

const kinds = [
  'lose-line',
  'garble',
  'repeat-line',
  'repeat-as-other',
  'not-utf8',
  'move-down',
  'tear',
  'empty-thinking',
  'unsign',
  'another-model',
  'rename-call',
  'empty-message',
  'empty-text',
  'byte-order-mark',
  'crlf',
  'blank-lines',
  'zeros-at-end',
] as const;

/** Any damage at any place. */
export const anyDamage: fc.Arbitrary<Damage> = fc.record({
  kind: fc.constantFrom(...kinds),
  at: fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
}) as fc.Arbitrary<Damage>;

/** The bytes after the damage. */
export function spoil(bytes: Buffer, { kind, at }: Damage): Buffer {
  const text = bytes.toString('latin1');
  if (kind === 'tear') return bytes.subarray(0, Math.max(1, Math.floor(at * bytes.length)));
  if (kind === 'byte-order-mark') return text.startsWith('ï»¿') ? bytes : Buffer.concat([Buffer.from('\uFEFF'), bytes]);
  if (kind === 'crlf') return Buffer.from(text.replaceAll(/\r?\n/g, '\r\n'), 'latin1');
  if (kind === 'zeros-at-end') return Buffer.concat([bytes, Buffer.alloc(30)]);
  // Latin-1 keeps every byte, also those that are no UTF-8.
  const lines = text.split('\n');
  const index = Math.floor(at * (lines.length - 1));
  const line = lines[index] ?? '';
  lines.splice(index, 1, ...spoilLine(kind, line, index));
  if (kind === 'move-down') lines.splice(Math.min(index + 5, lines.length - 1), 0, line);
  return Buffer.from(lines.join('\n'), 'latin1');
}

function spoilLine(
  kind: Exclude<Damage['kind'], 'tear' | 'byte-order-mark' | 'crlf' | 'zeros-at-end'>,
  line: string,
  index: number,
): readonly string[] {
  switch (kind) {
    case 'lose-line':
    case 'move-down':
      return [];
    case 'garble':
      return [line.slice(0, Math.floor(line.length / 2))];
    case 'repeat-line':
      return [line, line];
    case 'repeat-as-other':
      return [line, line.replace(/"uuid":"[^"]*"/, `"uuid":"other-${index}"`)];
    case 'not-utf8':
      return [line.replace(/(prompt|out|answer)/, '$1\u00FF')];
    case 'blank-lines':
      return ['', line, '   '];
    case 'empty-thinking':
      return [line.replace(/"(thinking|text)":"thought[^"]*"/, '"$1":""')];
    case 'unsign':
      return [line.replace(/"(signature|encrypted_content)":"[^"]*"/, '"$1":""')];
    case 'another-model':
      return [line.replace(/some-model/, 'another-model')];
    case 'rename-call':
      return [line.replaceAll(/call_\d+_\d+/g, (id) => (index % 2 === 0 ? 'call_0_0' : `${id}x`))];
    case 'empty-message':
      return [line.replace(/"content":\[.*?\}\]/, '"content":[]')];
    case 'empty-text':
      return [
        line.replace(/"text":"(prompt|answer|I look)[^"]*"/, '"text":" "').replace(/"text":" "é[^"]*""/, '"text":" "'),
      ];
    default:
      return kind satisfies never;
  }
}
