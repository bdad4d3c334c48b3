import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { emptyIdMap, getById, type IdMap, withId } from '../../../src/kernel/id-map.ts';

const filled = (entries: readonly (readonly [string, number])[]): IdMap<number> => {
  let map = emptyIdMap<number>();
  for (const [id, value] of entries) map = withId(map, id, value);
  return map;
};

const odd = fc.oneof(
  fc.string(),
  fc.string({ unit: 'binary' }),
  fc.constantFrom('__proto__', 'constructor', 'toString', ''),
);
const list = fc.array(fc.tuple(odd, fc.integer()), { maxLength: 300 });

describe('a map by id', () => {
  it('holds the last value of every id, and nothing else', () => {
    fc.assert(
      fc.property(list, odd, (entries, other) => {
        const map = filled(entries);
        const truth = new Map(entries);
        for (const [id, value] of truth) expect(getById(map, id)).toBe(value);
        expect(getById(map, other)).toBe(truth.get(other));
      }),
    );
  });

  it('has the same shape whatever the order of its ids', () => {
    const shuffled = fc
      .uniqueArray(fc.tuple(odd, fc.integer()), { selector: ([id]) => id, maxLength: 200 })
      .chain((some) => fc.tuple(fc.constant(some), fc.shuffledSubarray(some, { minLength: some.length })));
    fc.assert(
      fc.property(shuffled, ([one, other]) => {
        expect(filled(one)).toEqual(filled(other));
      }),
    );
  });

  it('leaves the map it was made from as it was, and is plain JSON', () => {
    fc.assert(
      fc.property(list, odd, (entries, id) => {
        const map = filled(entries);
        const before: unknown = JSON.parse(JSON.stringify(map));
        withId(map, id, 7);
        expect(map).toEqual(before);
      }),
    );
  });

  it('shares all but a few small objects with the map it was made from', () => {
    const map = filled(Array.from({ length: 5_000 }, (_, n) => [`attempt-${n}`, n]));
    const parts = (node: IdMap<number>): unknown[] => [node, ...('many' in node ? node.many.flatMap(parts) : [])];
    const before = new Set(parts(map));
    const fresh = parts(withId(map, 'one-more', 1)).filter((part) => !before.has(part));
    expect(before.size).toBeGreaterThan(1_000);
    expect(fresh.length).toBeLessThan(30);
  });

  it('keeps ids whose hashes collide in all bits', () => {
    // Found by search: each pair takes the hash from the same state to the same state, so all 32 texts share one hash.
    const pairs = [['7yzx', 'e6ad'], ...Array.from({ length: 4 }, () => ['33zx', 'epad'])];
    const ids = pairs.reduce<string[]>(
      (starts, pair) => starts.flatMap((start) => pair.map((end) => start + end)),
      [''],
    );
    const map = filled(ids.map((id, n) => [id, n]));
    expect(new Set(ids).size).toBe(32);
    expect(ids.map((id) => getById(map, id))).toEqual(ids.map((_, n) => n));
    expect(getById(map, '7yzx')).toBeUndefined();
  });
});
