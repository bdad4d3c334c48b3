import { createHash } from 'node:crypto';

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { canonicalJson, type Json } from '../../../src/kernel/json.ts';
import {
  defaultPolicy,
  longestMs,
  type PolicyLayer,
  type PolicySource,
  resolvePolicy,
} from '../../../src/kernel/policy.ts';

const hash = { sha256: (text: string): string => createHash('sha256').update(text).digest('hex') };

const from = (source: PolicySource, values: Json): PolicyLayer => ({ source, values });
const refusal = (values: Json): { code?: string; place?: string; message?: string } => {
  try {
    resolvePolicy([from('flag', values)], hash);
  } catch (error) {
    return error as { code: string; place: string; message: string };
  }
  return {};
};

/** A group of settings around one value: `at('retry.total', 3)` is `{ retry: { total: 3 } }`. */
const at = (path: string, value: Json): Json =>
  path
    .split('.')
    .toReversed()
    .reduce<Json>((inner, key) => Object.fromEntries([[key, inner]]), value);

const paths = Object.keys(resolvePolicy([], hash).provenance);
const counts = 'retry.total retry.unclassified retry.auth retry.fallbacks retry.inner quota.windows revisions'.split(
  ' ',
);
const times = paths.filter((path) => path.endsWith('Ms') && path !== 'retry.scheduleMs');

describe('where a value comes from', () => {
  it('without layers it is the default, field by field', () => {
    const snapshot = resolvePolicy([], hash);
    expect(snapshot.policy).toEqual(defaultPolicy);
    expect(new Set(Object.values(snapshot.provenance))).toEqual(new Set(['default']));
    expect(snapshot.version).toBe(1);
  });

  it('every field of the policy has a provenance, and nothing else has', () => {
    const leaves = (value: unknown, path: string): string[] =>
      typeof value === 'object' && value !== null && !Array.isArray(value)
        ? Object.entries(value).flatMap(([key, inner]) => leaves(inner, path === '' ? key : `${path}.${key}`))
        : [path];
    expect(paths.toSorted()).toEqual(leaves(defaultPolicy, '').toSorted());
  });

  it('the strongest layer wins field by field, and is named', () => {
    const { policy, provenance } = resolvePolicy(
      [
        from('flag', { retry: { total: 3 } }),
        from('environment', { retry: { total: 4, inner: 4 }, onDenied: 'ignore' }),
        from('project', { retry: { total: 5, inner: 5, auth: 5 } }),
        from('user', { retry: { total: 6, auth: 6, scheduleMs: [1, 2] }, revisions: 6 }),
      ],
      hash,
    );
    expect(policy.retry).toEqual({ ...defaultPolicy.retry, total: 3, inner: 4, auth: 5, scheduleMs: [1, 2] });
    expect(policy).toMatchObject({ revisions: 6, onDenied: 'ignore' });
    expect(provenance).toMatchObject({
      'retry.total': 'flag',
      'retry.inner': 'environment',
      onDenied: 'environment',
      'retry.auth': 'project',
      'retry.scheduleMs': 'user',
      revisions: 'user',
      'retry.jitter': 'default',
    });
  });

  it.each([...counts.filter((path) => path !== 'retry.total'), ...times, 'retry.jitter'])(
    'an explicit zero of %s stays zero, over any weaker layer',
    (path) => {
      const { policy, provenance } = resolvePolicy([from('user', at(path, 0)), from('default', at(path, 1))], hash);
      const [group, key] = path.split('.') as [keyof typeof policy, string | undefined];
      expect(key === undefined ? policy[group] : (policy[group] as Record<string, unknown>)[key]).toBe(0);
      expect(provenance[path]).toBe('user');
    },
  );

  it('an explicit false and an empty schedule stay', () => {
    const { policy } = resolvePolicy([from('flag', { retry: { enabled: false, scheduleMs: [] } })], hash);
    expect(policy.retry).toMatchObject({ enabled: false, scheduleMs: [] });
  });

  it('what code leaves undefined is not set', () => {
    const values = { retry: { total: undefined, inner: 2 }, quota: undefined } as unknown as Json;
    const { policy, provenance } = resolvePolicy([from('flag', values)], hash);
    expect(policy.retry).toMatchObject({ total: 20, inner: 2 });
    expect(provenance['retry.total']).toBe('default');
  });

  it('other defaults can be given', () => {
    const library = { ...defaultPolicy, revisions: 0 };
    expect(resolvePolicy([], hash, library).policy.revisions).toBe(0);
  });
});

describe('what is refused, naming the setting', () => {
  it.each<readonly [string, Json]>([
    ['rety', {}],
    ['retry.totals', 1],
    ['retry.total.deep', 1],
    ['retry.total', 0],
    ['retry.total', -1],
    ['retry.total', 1.5],
    ['retry.total', 1_001],
    ['retry.total', '3'],
    ['retry.total', null],
    ['retry.total', [3]],
    ['retry.total', true],
    ['retry.total', Number.NaN],
    ['retry.total', Number.POSITIVE_INFINITY],
    ['retry.enabled', 0],
    ['retry.enabled', 'false'],
    ['retry.strategy', 'exponential'],
    ['retry.strategy', 1],
    ['retry.strategy', ''],
    ['retry.scheduleMs', 10_000],
    ['retry.scheduleMs', [10_000, -1]],
    ['retry.scheduleMs', [10_000, '20s']],
    ['retry.scheduleMs', [0.5]],
    ['retry.scheduleMs', [[1]]],
    ['retry.scheduleMs', { 0: 1 }],
    ['retry.scheduleMs', Array.from({ length: 101 }, () => 1)],
    ['retry.jitter', 1.01],
    ['retry.jitter', -0.1],
    ['retry.jitter', Number.NaN],
    ['quota.windows', -0],
    ['timeouts.idleMs', longestMs + 1],
    ['timeouts.wallMs', Number.MAX_VALUE],
    ['timeouts.idleMs', 0.5],
    ['onDenied', 'allow'],
    ['retry', 3],
    ['retry', null],
    ['retry', []],
    ['timeouts', 'long'],
  ])('%s = %j', (path, value) => {
    const { code, place, message } = refusal(at(path, value));
    expect(code).toMatch(/^config\/(bad-value|unknown-setting)$/);
    expect([path, path.replace('.deep', '')]).toContain(place);
    expect(message).toContain('(from flag)');
  });

  it.each(times)('%s of a year is accepted', (path) => {
    expect(refusal(at(path, longestMs))).toEqual({});
  });

  it.each<Json>([null, 1, 'policy', []])('settings that are no group at all: %j', (values) => {
    expect(refusal(values)).toMatchObject({ code: 'config/bad-value', place: 'policy' });
  });

  it('a dotted key is no path', () => {
    expect(refusal({ 'retry.total': 3 })).toMatchObject({ code: 'config/unknown-setting', place: 'retry.total' });
  });

  it('a bad value under a stronger good one', () => {
    const layers = [from('flag', { revisions: 1 }), from('user', { revisions: -1 })];
    expect(() => resolvePolicy(layers, hash)).toThrow(/revisions \(from user\) must be a number of at least 0/);
  });

  it('says which place of a list', () => {
    expect(refusal(at('retry.scheduleMs', [1, -1])).message).toContain('at place 2');
  });

  it.each([
    '{"__proto__":{"revisions":9}}',
    '{"retry":{"__proto__":{"total":9}}}',
    '{"constructor":{"prototype":{"total":9}}}',
    '{"retry":{"constructor":1}}',
    '{"toString":1}',
    '{"retry":{"hasOwnProperty":1}}',
  ])('keys that reach for the prototype: %s', (text) => {
    expect(refusal(JSON.parse(text) as Json)).toMatchObject({ code: 'config/unknown-setting' });
    expect(({} as { total?: number }).total).toBeUndefined();
  });

  it('any single setting with any JSON value is taken or refused by name, never anything else', () => {
    fc.assert(
      fc.property(fc.constantFrom(...paths), fc.jsonValue({ maxDepth: 2 }), (path, value) => {
        const error = refusal(at(path, value as Json));
        expect(error.code ?? 'config/').toMatch(/^config\//);
        expect(error.place ?? path).toContain(path);
      }),
    );
  });
});

describe('a snapshot', () => {
  const values = { retry: { scheduleMs: [1, 2, 3], total: 5 }, timeouts: { idleMs: 7 } };

  it('is not touched by later configuration', () => {
    const mutable = structuredClone(values);
    const snapshot = resolvePolicy([from('project', mutable)], hash);
    const before = structuredClone(snapshot);
    mutable.retry.scheduleMs.push(4);
    mutable.retry.total = 99;
    expect(snapshot).toEqual(before);
  });

  it('is frozen to the last list, and so are the defaults', () => {
    const { policy, provenance } = resolvePolicy([from('project', values)], hash);
    for (const part of [
      policy,
      policy.retry,
      policy.retry.scheduleMs,
      policy.timeouts,
      provenance,
      defaultPolicy.retry,
    ])
      expect(Object.isFrozen(part)).toBe(true);
    expect(Object.isFrozen(values.retry.scheduleMs)).toBe(false);
  });

  it('has a hash of its behaviour only: neither order nor origin matters', () => {
    const one = resolvePolicy([from('flag', values)], hash);
    const other = resolvePolicy(
      [from('user', { timeouts: { idleMs: 7 }, retry: { total: 5, scheduleMs: [1, 2, 3] } })],
      hash,
    );
    const split = resolvePolicy([from('flag', { timeouts: { idleMs: 7 } }), from('user', values)], hash);
    expect([other.hash, split.hash]).toEqual([one.hash, one.hash]);
  });

  it('has another hash when any setting differs', () => {
    const changes: readonly (readonly [string, Json])[] = [
      ...counts.map((path) => [path, 7] as const),
      ...times.map((path) => [path, 7] as const),
      ['retry.jitter', 0.7],
      ['retry.enabled', false],
      ['retry.scheduleMs', [10_000, 60_000, 20_000]],
      ['onDenied', 'ignore'],
    ];
    const hashes = [[], ...changes.map(([path, value]) => [from('flag', at(path, value))])].map(
      (layers) => resolvePolicy(layers, hash).hash,
    );
    expect(new Set(hashes).size).toBe(changes.length + 1);
  });

  it('has the SHA-256 of its version and its policy in canonical form', () => {
    const { policy, hash: found } = resolvePolicy([], hash);
    expect(found).toBe(hash.sha256(`policy/1 ${canonicalJson(policy as unknown as Json)}`));
  });
});
