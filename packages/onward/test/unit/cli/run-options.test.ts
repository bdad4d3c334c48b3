import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { checkName, policyFromFlags } from '../../../src/cli/run-options.ts';
import { defaultPolicy, resolvePolicy } from '../../../src/kernel/policy.ts';

const hash = { sha256: (text: string) => createHash('sha256').update(text).digest('hex') };
const policyOf = (flags: Parameters<typeof policyFromFlags>[0]): ReturnType<typeof resolvePolicy> =>
  resolvePolicy([{ source: 'flag', values: policyFromFlags(flags) }], hash);

describe('the flags of run', () => {
  test('set exactly what they name; all else is the default', () => {
    const { policy, provenance } = policyOf({ schedule: '1s,2s', maxAttempts: '3', idleTimeout: '0', maxTime: '60d' });
    expect(policy).toEqual({
      ...defaultPolicy,
      retry: { ...defaultPolicy.retry, scheduleMs: [1_000, 2_000], total: 3 },
      timeouts: { ...defaultPolicy.timeouts, idleMs: 0, wallMs: 60 * 86_400_000 },
    });
    expect(provenance['timeouts.idleMs']).toBe('flag');
    expect(provenance['timeouts.toolMs']).toBe('default');
  });

  test('none of them leaves the default', () => {
    expect(policyOf({}).policy).toEqual(defaultPolicy);
  });

  test.each([
    [{ schedule: 'soon' }, '--schedule'],
    [{ maxAttempts: '0' }, '--max-attempts'],
    [{ startupTimeout: '-1s' }, '--startup-timeout'],
    [{ idleTimeout: '10x' }, '--idle-timeout'],
    [{ toolTimeout: '2y' }, '--tool-timeout'],
    [{ maxTime: '1000000h' }, '--max-time'],
    [{ onDenied: 'maybe' }, '--on-denied'],
  ])('%j is refused naming the flag', (flags, flag) => {
    expect(() => policyFromFlags(flags)).toThrow(
      expect.objectContaining({ brand: 'onward.error', place: flag, message: expect.stringContaining(flag) }),
    );
  });

  test('more attempts than anybody can mean are refused', () => {
    expect(() => policyOf({ maxAttempts: '1000000' })).toThrow(/retry\.total/);
  });
});

describe('a name for a run', () => {
  test.each(['nightly', 'fix #12', 'ночь'])('can be %j', (name) => {
    expect(checkName(name)).toBe(name);
  });

  test.each(['', ' ', 'a\nb', 'a\u001B[2J', '-rf', 'x'.repeat(101)])('cannot be %j', (name) => {
    expect(() => checkName(name)).toThrow(/--name must be/);
  });
});
