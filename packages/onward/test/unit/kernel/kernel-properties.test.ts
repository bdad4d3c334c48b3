import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { classify } from '../../../src/kernel/classify.ts';
import { decide, type Decision } from '../../../src/kernel/decide.ts';
import { failureClasses, resetsAtOf, retryAfterOf } from '../../../src/kernel/failure.ts';
import { findNonJson, type Json } from '../../../src/kernel/json.ts';
import { longestMs, resolvePolicy } from '../../../src/kernel/policy.ts';
import { failures, freeSituations, policies, situations } from './arbitraries.ts';
import { now } from './situations.ts';

const runs = { numRuns: 2_000 };
const copy = <Value>(value: Value): Value => JSON.parse(JSON.stringify(value)) as Value;
/** Where the decision says when, that moment. */
const when = (decision: Decision): number | undefined =>
  'at' in decision ? decision.at : 'until' in decision ? decision.until : undefined;
describe('classify, for all failures', () => {
  it('is total: a known class, a rule and evidence, as plain JSON', () => {
    fc.assert(
      fc.property(failures, (failure) => {
        const found = classify(failure);
        expect(failureClasses).toContain(found.class);
        expect([typeof found.rule, typeof found.evidence]).toEqual(['string', 'string']);
        expect(copy(found)).toEqual(found);
      }),
      runs,
    );
  });

  it('says the same of the same, also after the failure was stored', () => {
    fc.assert(
      fc.property(failures, (failure) => {
        const plain = copy(failure);
        expect(copy(plain)).toEqual(plain);
        expect(classify(plain)).toEqual(classify(copy(plain)));
      }),
      runs,
    );
  });

  it('a wrapper that knows nothing changes nothing', () => {
    fc.assert(
      fc.property(failures, fc.string(), (failure, message) => {
        expect(classify({ message, cause: { message, cause: failure } })).toEqual(classify(failure));
      }),
      runs,
    );
  });

  it('no message changes anything', () => {
    fc.assert(
      fc.property(failures, fc.string(), (failure, message) => {
        expect(classify({ ...failure, message })).toEqual(classify(failure));
      }),
      runs,
    );
  });

  it('hints are amounts of time and moments, or absent', () => {
    fc.assert(
      fc.property(failures, (failure) => {
        expect(retryAfterOf(failure) ?? 0).toBeGreaterThanOrEqual(0);
        expect(Number.isNaN(new Date(resetsAtOf(failure) ?? 0).getTime())).toBe(false);
      }),
      runs,
    );
  });
});

describe('decide, for all situations', () => {
  it('the same input gives the same decision, also after it was stored', () => {
    fc.assert(
      fc.property(situations, (situation) => {
        expect(decide(situation)).toEqual(decide(situation));
        const plain = copy(situation);
        expect(decide(copy(plain))).toEqual(decide(plain));
      }),
      runs,
    );
  });

  it('the decision is plain JSON: no NaN, no endless time', () => {
    fc.assert(
      fc.property(situations, (situation) => {
        const decision = decide(situation);
        expect(findNonJson(decision)).toBeUndefined();
        expect(copy(decision)).toEqual(decision);
      }),
      runs,
    );
  });

  it('a wait is a whole number of ms, never into the past, never over its bounds', () => {
    fc.assert(
      fc.property(situations, (situation) => {
        const at = when(decide(situation)) ?? now;
        const { scheduleMs } = situation.policy.retry;
        const most = Math.max(
          2 * Math.max(0, ...scheduleMs),
          longestMs + situation.policy.quota.marginMs,
          longestMs + 5_000,
        );
        expect(Number.isSafeInteger(at)).toBe(true);
        expect(at).toBeGreaterThanOrEqual(now);
        expect(at).toBeLessThanOrEqual(now + most);
      }),
      runs,
    );
  });

  it('never earlier than the server asked', () => {
    fc.assert(
      fc.property(situations, (situation) => {
        const hint = situation.retryAfterMs ?? 0;
        const at = when(decide(situation));
        const floor = at === undefined || !(hint > 0) ? Number.NEGATIVE_INFINITY : now + hint;
        expect(at ?? 0).toBeGreaterThanOrEqual(floor);
      }),
      runs,
    );
  });

  it('a retry is no later than the jittered schedule or the hint and its small addition', () => {
    fc.assert(
      fc.property(freeSituations, (situation) => {
        const decision = decide({ ...situation, class: 'throttled' });
        const hint = Math.max(0, situation.retryAfterMs ?? 0) || 0;
        const scheduled = situation.policy.retry.scheduleMs[situation.counts.consecutive - 1];
        const wait = scheduled ?? situation.policy.outage.everyMs;
        const latest = Math.max(wait * (1 + situation.policy.retry.jitter), hint + Math.min(hint / 10, 5_000));
        const at = decision.action === 'hold' || decision.action === 'park' ? now : when(decision);
        expect(at ?? now).toBeLessThanOrEqual(now + Math.ceil(latest) + 1);
      }),
      runs,
    );
  });

  it('never earlier than a usage limit ends', () => {
    fc.assert(
      fc.property(freeSituations, (situation) => {
        const decision = decide({ ...situation, class: 'quota' });
        expect(decision.action).toMatch(/^(park|stop|ask|budget)$/);
        expect(when(decision) ?? Number.POSITIVE_INFINITY).toBeGreaterThanOrEqual(situation.resetsAt || now);
      }),
      runs,
    );
  });

  it('a cancel beats everything, and a used-up limit beats everything else', () => {
    fc.assert(
      fc.property(situations, (situation) => {
        const { action } = decide(situation);
        expect(action === 'cancelled').toBe(situation.cancelled !== undefined);
      }),
      runs,
    );
    fc.assert(
      fc.property(freeSituations, (situation) => {
        expect(decide({ ...situation, budget: 'retryUsd' })).toMatchObject({ action: 'budget', unit: 'retryUsd' });
      }),
      runs,
    );
  });

  it('with retries off, or with all attempts used, nothing has a next time', () => {
    fc.assert(
      fc.property(freeSituations, (situation) => {
        const { retry } = situation.policy;
        const off = { ...situation.policy, retry: { ...retry, enabled: false } };
        const none = { ...situation.policy, retry: { ...retry, scheduleMs: [] } };
        const used = { ...situation.counts, attempts: retry.total + situation.counts.quotaWindows + 1 };
        expect(when(decide({ ...situation, policy: off }))).toBeUndefined();
        expect(when(decide({ ...situation, policy: none }))).toBeUndefined();
        expect(when(decide({ ...situation, counts: used }))).toBeUndefined();
      }),
      runs,
    );
  });

  it('nothing goes on blindly where nobody knows whether the prompt was accepted', () => {
    fc.assert(
      fc.property(situations, (situation) => {
        const decision = decide({ ...situation, continuable: 'unknown' });
        expect(when(decision)).toBeUndefined();
      }),
      runs,
    );
  });

  it('what needs a person or another input never has a next time', () => {
    fc.assert(
      fc.property(
        situations,
        fc.constantFrom('billing', 'policy', 'conflict', 'outcome-unknown'),
        (situation, kind) => {
          expect(when(decide({ ...situation, class: kind }))).toBeUndefined();
          expect(when(decide({ ...situation, class: 'input', poisoned: false }))).toBeUndefined();
          expect(when(decide({ ...situation, class: 'auth', credentialChanged: false }))).toBeUndefined();
          expect(when(decide({ ...situation, class: 'unclassified', repeatable: false }))).toBeUndefined();
        },
      ),
      runs,
    );
  });
});

describe('a policy snapshot, for all policies', () => {
  const hash = { sha256: (text: string): string => text };

  it('survives being stored, and hashes to the same', () => {
    fc.assert(
      fc.property(policies, (policy) => {
        const snapshot = resolvePolicy([{ source: 'user', values: policy as unknown as Json }], hash);
        expect(copy(snapshot)).toEqual(snapshot);
        expect(snapshot.policy).toEqual(policy);
        const again = resolvePolicy([{ source: 'flag', values: copy(snapshot.policy) as unknown as Json }], hash);
        expect(again.hash).toBe(snapshot.hash);
      }),
    );
  });
});
