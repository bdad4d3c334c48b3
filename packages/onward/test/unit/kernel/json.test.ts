import { isDeepStrictEqual } from 'node:util';

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { canonicalJson, findNonJson, type Json } from '../../../src/kernel/json.ts';

const nested = (depth: number): unknown => {
  let value: unknown = 1;
  for (let n = 0; n < depth; n++) value = n % 2 === 0 ? [value] : { in: value };
  return value;
};

describe('findNonJson', () => {
  it('finds nothing in whatever JSON can say', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const plain: unknown = JSON.parse(JSON.stringify(value));
        expect(findNonJson(plain)).toBeUndefined();
      }),
    );
  });

  it('whatever it finds nothing in survives a round trip unchanged', () => {
    const anything = fc.anything({
      withNullPrototype: false,
      withDate: true,
      withMap: true,
      withSet: true,
      withBigInt: true,
      withSparseArray: true,
    });
    fc.assert(
      fc.property(anything, (value) => {
        const survives = findNonJson(value) === undefined;
        expect(survives ? JSON.parse(JSON.stringify(value)) : value).toStrictEqual(value);
      }),
      { numRuns: 1_000 },
    );
  });

  const cycle: { self?: unknown } = {};
  cycle.self = cycle;
  const sparse = [1];
  sparse[2] = 3;
  const tagged = Object.assign([1], { note: 'lost' });

  it.each<readonly [string, unknown, string]>([
    ['undefined', { a: { b: undefined } }, '$.a.b'],
    ['NaN', [1, Number.NaN], '$[1]'],
    ['Infinity', { a: Number.POSITIVE_INFINITY }, '$.a'],
    ['-0', [-0], '$[0]'],
    ['a function', { a: (): number => 1 }, '$.a'],
    ['a bigint', { a: 1n }, '$.a'],
    ['a symbol', Symbol('x'), '$'],
    ['a symbol as a key', { a: { [Symbol('x')]: 1 } }, '$.a'],
    ['a date', { at: new Date(0) }, '$.at'],
    ['a map', [new Map()], '$[0]'],
    ['a class', { a: new URL('about:blank') }, '$.a'],
    ['an own toJSON', { a: { toJSON: (): number => 1 } }, '$.a.toJSON'],
    ['a hole', sparse, '$[1]'],
    ['an array with a name', { a: tagged }, '$.a'],
    ['a lone surrogate', { a: '\uD800' }, '$.a'],
    ['a lone surrogate in a key', { a: { '\uDC00': 1 } }, '$.a'],
    ['a cycle', cycle, '$.self'],
    ['bytes', { a: new Uint8Array(2) }, '$.a'],
  ])('finds %s', (_, value, path) => {
    expect(findNonJson(value)).toBe(path);
  });

  it('takes the same object twice, which is no cycle', () => {
    const shared = { a: 1 };
    expect(findNonJson([shared, { shared }])).toBeUndefined();
  });

  it('takes a key named __proto__ that JSON made', () => {
    expect(findNonJson(JSON.parse('{"__proto__":{"a":1}}'))).toBeUndefined();
  });

  it('takes 500 levels and refuses more, however many, instead of running out of stack', () => {
    expect(findNonJson(nested(500))).toBeUndefined();
    expect(findNonJson(nested(501))).toMatch(/^\$[[.]/);
    expect(findNonJson(nested(100_000))).toMatch(/^\$[[.]/);
  });
});

describe('canonicalJson', () => {
  it('says the same value in the same way, whatever the order of its keys', () => {
    expect(canonicalJson({ b: [1, { d: null, c: 'x' }], a: true })).toBe('{"a":true,"b":[1,{"c":"x","d":null}]}');
    expect(canonicalJson({ a: true, b: [1, { c: 'x', d: null }] })).toBe('{"a":true,"b":[1,{"c":"x","d":null}]}');
  });

  it('is JSON of the same value, and equal only for equal values', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (one, other) => {
        const [a, b] = [one, other].map((value) => JSON.parse(JSON.stringify(value)) as Json) as [Json, Json];
        expect(JSON.parse(canonicalJson(a))).toEqual(a);
        expect(canonicalJson(JSON.parse(canonicalJson(a)) as Json)).toBe(canonicalJson(a));
        expect(canonicalJson(a) === canonicalJson(b)).toBe(isDeepStrictEqual(a, b));
      }),
    );
  });

  it('keeps a key named __proto__', () => {
    expect(canonicalJson(JSON.parse('{"z":1,"__proto__":2}') as Json)).toBe('{"__proto__":2,"z":1}');
  });
});
