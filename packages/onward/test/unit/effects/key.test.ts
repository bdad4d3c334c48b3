import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { EffectName } from '../../../src/effects/effect.ts';
import { effectKey, effectStream } from '../../../src/effects/key.ts';
import { canonicalJson, type Json } from '../../../src/kernel/json.ts';
import { systemHash } from '../../../src/processes/system.ts';

const text = fc.string({ minLength: 1, unit: 'grapheme' });
const identity = fc.jsonValue({ maxDepth: 2 }).map((value) => JSON.parse(JSON.stringify(value)) as Json);
const name: fc.Arbitrary<EffectName> = fc.record(
  {
    scope: text,
    action: text,
    identity,
    task: text,
    resource: text,
    occurrence: fc.nat(5),
    compensates: text,
  },
  { requiredKeys: ['scope', 'action', 'identity'] },
);

/** What counts, and nothing else. */
const counted = ({ scope, task, action, identity: declared, occurrence }: EffectName): Json => [
  scope,
  task ?? null,
  action,
  declared,
  occurrence ?? 0,
];

function shuffled(value: Json): Json {
  if (Array.isArray(value)) return value.map(shuffled);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, item]) => [key, shuffled(item)] as const);
  return Object.fromEntries(entries.toReversed());
}

describe('the key of an effect', () => {
  test('O56 R98 is the same for every attempt, worker, clock and call id: only what is declared enters it', () => {
    fc.assert(
      fc.property(name, fc.dictionary(text, identity), (effect, noise) => {
        const carried = { ...noise, ...effect, callId: 'call_9', attempt: 7, worker: 'w2', at: 1 };
        expect(effectKey(systemHash, carried)).toBe(effectKey(systemHash, effect));
        expect(effectStream(systemHash, carried)).toBe(effectStream(systemHash, effect));
      }),
    );
  });

  test('O56 does not depend on the order of the fields of the identity, nor on resource or link', () => {
    fc.assert(
      fc.property(name, text, (effect, other) => {
        const same = { ...effect, identity: shuffled(effect.identity), resource: other, compensates: other };
        expect(effectKey(systemHash, same)).toBe(effectKey(systemHash, effect));
      }),
    );
  });

  test('O56 two effects have one key only if scope, task, action, identity and occurrence are the same', () => {
    fc.assert(
      fc.property(name, name, (a, b) => {
        const isSame = canonicalJson(counted(a)) === canonicalJson(counted(b));
        expect(effectKey(systemHash, a) === effectKey(systemHash, b)).toBe(isSame);
      }),
    );
    const base: EffectName = { scope: 's', action: 'a', identity: 'x' };
    const others: readonly EffectName[] = [
      { ...base, scope: 't' },
      { ...base, task: 'a' },
      { ...base, action: 'b' },
      { ...base, identity: 'y' },
      { ...base, occurrence: 1 },
      { scope: 's', task: 'x', action: 'a', identity: 'x' },
    ];
    expect(new Set([base, ...others].map((one) => effectKey(systemHash, one))).size).toBe(7);
  });

  test('keys share a stream when they act on one resource, by default the identity', () => {
    const base: EffectName = { scope: 's', action: 'a', identity: 'x' };
    const stream = effectStream(systemHash, base);
    expect(effectStream(systemHash, { ...base, task: 't', occurrence: 2 })).toBe(stream);
    expect(effectStream(systemHash, { ...base, identity: 'y' })).not.toBe(stream);
    const declared = effectStream(systemHash, { ...base, resource: 'r' });
    expect(effectStream(systemHash, { ...base, identity: 'y', resource: 'r' })).toBe(declared);
  });

  test('a name that is none is refused with the field', () => {
    expect(() => effectKey(systemHash, { scope: 's', action: 'a', identity: { a: [undefined] } as never })).toThrow(
      expect.objectContaining({ code: 'effects/bad-name', place: 'identity.a[0]' }),
    );
  });
});
