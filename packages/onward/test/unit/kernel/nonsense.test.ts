import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { decide, type Situation } from '../../../src/kernel/decide.ts';
import { failureClasses } from '../../../src/kernel/failure.ts';
import { longestMs } from '../../../src/kernel/policy.ts';
import { freeSituations } from './arbitraries.ts';
import { given, policyWith } from './situations.ts';

/** What stands where a number should be after a record was misread. */
const nonsense = fc.constantFrom<unknown>(Number.NaN, -1, 0.5, Infinity, -Infinity, 1e300, undefined, null, '3');
const countNames = Object.keys(given('transient').counts) as readonly (keyof Situation['counts'])[];
const runs = { numRuns: 2_000 };

/** Every moment that a decision names. */
function moments(s: Situation): readonly number[] {
  const decision = decide(s);
  return 'at' in decision ? [decision.at] : 'until' in decision ? [decision.until] : [];
}

describe('decide, given nonsense', () => {
  it('goes nowhere on a count that counts nothing, since nothing would bound it', () => {
    fc.assert(
      fc.property(freeSituations, fc.constantFrom(...countNames), nonsense, (s, name, value) => {
        const counts = { ...s.counts, [name]: value };
        expect(moments({ ...s, counts })).toEqual([]);
      }),
      runs,
    );
  });

  it('names a real moment, not in the past and not beyond a few years, whatever the sample, the hint or the end of a limit', () => {
    const fields = fc.constantFrom('sample', 'retryAfterMs', 'resetsAt', 'failingSince');
    fc.assert(
      fc.property(freeSituations, fields, nonsense, (s, field, value) => {
        for (const at of moments({ ...s, [field]: value })) {
          expect(at).toBeGreaterThanOrEqual(s.now);
          expect(at).toBeLessThan(s.now + 3 * longestMs);
        }
      }),
      runs,
    );
  });

  it.each(failureClasses)('a hint of over a year is no wait, also for %s with a known end', (kind) => {
    const policy = policyWith({ quota: { windows: 1 } });
    for (const retryAfterMs of [longestMs + 1, 1e300, Infinity]) {
      const s = given(kind, { policy, retryAfterMs, repeatable: true, repairable: true });
      expect(moments({ ...s, resetsAt: s.now + 1000 })).toEqual([]);
    }
  });

  it('an outage whose beginning is unknown is not waited for', () => {
    const policy = policyWith({ outage: { everyMs: 1000, patienceMs: 3_600_000 } });
    const s = given('transient', { policy, silent: true, counts: { consecutive: 9 }, failingSince: Number.NaN });
    expect(decide(s)).toMatchObject({ action: 'stop', reason: 'exhausted' });
  });
});
