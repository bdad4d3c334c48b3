import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { createBudget, exhausted, reserve, settle } from '../../../src/kernel/budget.ts';
import { classify } from '../../../src/kernel/classify.ts';
import { type Continuable, decide, type Decision } from '../../../src/kernel/decide.ts';
import { type Failure, resetsAtOf, retryAfterOf } from '../../../src/kernel/failure.ts';
import type { Policy } from '../../../src/kernel/policy.ts';
import { failures, policies, samples } from './arbitraries.ts';
import { now, policyWith } from './situations.ts';

/** One attempt that fails, and what was seen of it. */
interface Failing {
  readonly failure: Failure;
  readonly progressed: boolean;
  readonly silent: boolean;
  readonly repeatable: boolean;
  readonly credentialChanged: boolean;
  readonly poisoned: boolean;
  readonly continuable: Continuable;
  readonly sample: number;
}

interface Ran {
  /** When each attempt began, ms since the epoch. */
  readonly began: readonly number[];
  /** Attempts that ended at a usage limit. */
  readonly windows: number;
  readonly last: Decision;
}

const plain: Failing = {
  failure: { message: 'x', status: 529 },
  progressed: false,
  silent: false,
  repeatable: false,
  credentialChanged: false,
  poisoned: false,
  continuable: 'same',
  sample: 0.5,
};

/** The smallest loop that does what `decide` says, until there is no next step: every attempt fails. */
function run(policy: Policy, next: (n: number) => Failing, most = 5_000): Ran {
  const counts = { attempts: 0, consecutive: 0, unclassified: 0, auth: 0, fallbacks: 0, revisions: 0, quotaWindows: 0 };
  const began: number[] = [];
  let clock = now;
  let since = now;
  for (;;) {
    const { failure, ...seen } = next(counts.attempts);
    began.push(clock);
    counts.attempts += 1;
    counts.consecutive = seen.progressed ? 1 : counts.consecutive + 1;
    if (counts.consecutive === 1) since = clock;
    const kind = classify(failure).class;
    const [hint, end] = [retryAfterOf(failure), resetsAtOf(failure)];
    const last = decide({
      class: kind,
      policy,
      counts: { ...counts },
      ...seen,
      repairable: false,
      failingSince: since,
      now: clock,
      ...(hint === undefined ? {} : { retryAfterMs: hint }),
      ...(end === undefined ? {} : { resetsAt: end }),
    });
    if (!('at' in last || 'until' in last) || began.length === most)
      return { began, windows: counts.quotaWindows, last };
    clock = 'at' in last ? last.at : last.until;
    if (kind === 'unclassified' || kind === 'auth') counts[kind] += 1;
    if (kind === 'quality') counts.revisions += 1;
    if (kind === 'quota') counts.quotaWindows += 1;
    if (last.action === 'rebuild') counts.fallbacks += 1;
  }
}

const failing: fc.Arbitrary<Failing> = fc.record({
  failure: failures,
  progressed: fc.boolean(),
  silent: fc.boolean(),
  repeatable: fc.boolean(),
  credentialChanged: fc.boolean(),
  poisoned: fc.boolean(),
  continuable: fc.constantFrom<Continuable>('same', 'nothing-accepted', 'lost'),
  sample: samples,
});

const status = (code: number, about: Partial<Failure> = {}): Failing => ({
  ...plain,
  failure: { message: 'x', status: code, ...about },
});

describe('chains of failures', () => {
  it('R49 never more attempts than the total and the usage limits waited for, whatever happens', () => {
    fc.assert(
      fc.property(policies, fc.array(failing, { minLength: 1, maxLength: 30 }), (policy, script) => {
        const ran = run(policy, (n) => script[n % script.length] ?? plain);
        expect(ran.began.length).toBeLessThanOrEqual(policy.retry.total + policy.quota.windows);
        expect(ran.windows).toBeLessThanOrEqual(policy.quota.windows);
      }),
      { numRuns: 1_000 },
    );
  });

  it('R49 progress in every attempt does not lift the outer cap', () => {
    const busy: Failing = { ...plain, failure: { message: 'x', stop: 'max_tokens' }, progressed: true };
    const { began, last } = run(policyWith({}), () => busy);
    expect([began.length, last]).toMatchObject([20, { action: 'budget', unit: 'attempts' }]);
  });

  it('R39 without progress the gaps are the schedule, and then it ends', () => {
    const { began, last } = run(policyWith({}), () => status(429));
    expect(began.map((at) => at - now)).toEqual([0, 10_000, 30_000, 90_000]);
    expect(last).toMatchObject({ action: 'stop', reason: 'exhausted' });
  });

  it('R38 five that fail together do not come back together', () => {
    const waits = [0.05, 0.3, 0.5, 0.7, 0.95].map(
      (sample) => run(policyWith({}), () => ({ ...status(429), sample })).began[1],
    );
    expect(new Set(waits).size).toBe(5);
    const hinted = [0.05, 0.3, 0.5, 0.7, 0.95].map(
      (sample) => run(policyWith({}), () => ({ ...status(429, { retryAfterMs: 60_000 }), sample })).began[1],
    );
    expect(new Set(hinted).size).toBe(5);
  });

  it('progress resets the failures in a row', () => {
    const { began } = run(policyWith({}), (n) => ({ ...status(529), progressed: n % 3 === 2 }));
    expect(began.length).toBe(20);
    expect(began.slice(0, 5).map((at) => at - now)).toEqual([0, 10_000, 30_000, 40_000, 60_000]);
  });

  it.each([
    ['auth', 401, {}],
    ['billing', 402, {}],
    ['billing', 429, { type: 'insufficient_quota' }],
    ['input', 400, {}],
  ] as const)('R32 R47 %s (status %i) is one request', (_, code, about) => {
    expect(run(policyWith({}), () => status(code, about)).began).toHaveLength(1);
  });

  it('R48 a rotated credential is one more request, however often it rotates', () => {
    expect(run(policyWith({}), () => ({ ...status(401), credentialChanged: true })).began).toHaveLength(2);
  });

  it('R71 a lost session is exactly one fresh start', () => {
    const gone: Failing = {
      ...plain,
      failure: { message: 'no rollout found', type: 'session_not_found' },
      continuable: 'lost',
    };
    expect(run(policyWith({}), () => gone).began).toHaveLength(2);
  });

  it('R71 a session that never was is started again within the schedule, not for ever', () => {
    const never: Failing = {
      ...plain,
      failure: { message: 'x', type: 'session_not_found' },
      continuable: 'nothing-accepted',
    };
    expect(run(policyWith({}), () => never).began).toHaveLength(4);
  });

  it.each([0, 1, 2, 3, 5])('R139 one owner: a schedule of %i waits is that many requests and one', (length) => {
    const policy = policyWith({ retry: { scheduleMs: Array.from({ length }, () => 1_000) } });
    expect(run(policy, () => status(429)).began).toHaveLength(length + 1);
  });

  it('R31 a wait of hours for a throttle is still bounded by the schedule', () => {
    const { began } = run(policyWith({}), () => status(429, { retryAfterMs: 11_180_000 }));
    expect(began).toHaveLength(4);
    expect((began[1] ?? 0) - now).toBeGreaterThanOrEqual(11_180_000);
  });

  it('an outage is tried once per interval until the patience ends', () => {
    const policy = policyWith({ outage: { everyMs: 300_000, patienceMs: 3_600_000 } });
    const { began } = run(policy, () => ({ ...status(529), silent: true }));
    expect(began).toHaveLength(4 + 11);
    expect((began.at(-1) ?? 0) - now).toBeLessThanOrEqual(3_600_000);
  });

  it('R138 retry spend is bounded apart: the next attempt is refused before it begins', () => {
    let budget = settle(createBudget('run', { retryUsd: 1 }), 'run', 'attempt-1', { usd: 3 });
    let attempts = 1;
    for (; attempts < 50; attempts++) {
      const held = reserve(budget, 'run', `attempt-${attempts + 1}`, { usd: 0.4, retryUsd: 0.4 });
      if (!held.ok) break;
      budget = settle(held.budget, 'run', `attempt-${attempts + 1}`, { usd: 0.3, retryUsd: 0.3 });
    }
    expect(attempts).toBe(4);
    expect(exhausted(budget, 'run')).toBeUndefined();
  });
});
