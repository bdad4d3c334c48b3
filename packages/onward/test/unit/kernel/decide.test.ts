import { describe, expect, it } from 'vitest';

import { type Continuable, decide } from '../../../src/kernel/decide.ts';
import { failureClasses } from '../../../src/kernel/failure.ts';
import { longestMs } from '../../../src/kernel/policy.ts';
import { given, now, policyWith } from './situations.ts';

const minute = 60_000;

describe('each class by itself', () => {
  it.each([
    ['transient', 'continue'],
    ['throttled', 'continue'],
    ['crash', 'continue'],
    ['incomplete', 'continue'],
    ['quota', 'stop'],
    ['billing', 'ask'],
    ['auth', 'ask'],
    ['input', 'stop'],
    ['overflow', 'rebuild'],
    ['policy', 'ask'],
    ['conflict', 'ask'],
    ['quality', 'continue'],
    ['context-lost', 'rebuild'],
    ['outcome-unknown', 'ask'],
    ['unclassified', 'ask'],
  ] as const)('given a first %s failure, the action is %s', (kind, action) => {
    expect(decide(given(kind)).action).toBe(action);
  });

  it('a class that this program does not know is a bug, not a silent stop', () => {
    expect(() => decide({ ...given('crash'), class: 'later' as 'crash' })).toThrow(/does not know: "later"/);
  });
});

describe('transient, throttled and crash', () => {
  it.each(['transient', 'throttled', 'crash'] as const)(
    'a %s failure is retried by the schedule, then surfaces',
    (kind) => {
      const waits = [1, 2, 3, 4].map((consecutive) =>
        decide(given(kind, { counts: { consecutive, attempts: consecutive } })),
      );
      expect(waits).toMatchObject([
        { action: 'continue', at: now + 10_000 },
        { action: 'continue', at: now + 20_000 },
        { action: 'continue', at: now + 60_000 },
        { action: 'stop', reason: 'exhausted' },
      ]);
    },
  );

  it('R38 R39 each wait is spread by the jitter, up and down', () => {
    expect(decide(given('transient', { sample: 0 }))).toMatchObject({ at: now + 9_000 });
    expect(decide(given('transient', { sample: 0.999_999 }))).toMatchObject({ at: now + 11_000 });
  });

  it('never waits less than the server asked, and spreads what it adds', () => {
    const hinted = { retryAfterMs: 100_000 };
    expect(decide(given('throttled', { ...hinted, sample: 0 }))).toMatchObject({ at: now + 100_000 });
    expect(decide(given('throttled', { ...hinted, sample: 0.5 }))).toMatchObject({ at: now + 102_500 });
    expect(decide(given('throttled', { ...hinted, sample: 0.5 })).because).toMatch(/no earlier than the server asked/);
  });

  it('keeps the schedule when it is longer than the hint', () => {
    expect(decide(given('throttled', { retryAfterMs: 2_000 }))).toMatchObject({ at: now + 10_000 });
  });

  it('adds at most 10 % to a short hint', () => {
    expect(decide(given('throttled', { retryAfterMs: 20_000, sample: 0.999_999 }))).toMatchObject({ at: now + 22_000 });
  });

  it('R31 a hint over the cap parks instead of holding a process', () => {
    const decision = decide(given('throttled', { retryAfterMs: 3 * 60 * minute, sample: 0 }));
    expect(decision).toMatchObject({ action: 'park', on: 'hint', until: now + 3 * 60 * minute });
  });

  it('a hint of exactly the cap is still held', () => {
    expect(decide(given('throttled', { retryAfterMs: 15 * minute })).action).toBe('continue');
  });

  it('a parked wait is not shorter than the schedule either', () => {
    const policy = policyWith({ retry: { scheduleMs: [2 * 60 * minute] } });
    const decision = decide(given('throttled', { policy, retryAfterMs: 20 * minute }));
    expect(decision).toMatchObject({ action: 'park', until: now + 2 * 60 * minute });
  });

  it.each([Number.NaN, -1, 0])('a hint of %s is no hint', (retryAfterMs) => {
    expect(decide(given('throttled', { retryAfterMs }))).toMatchObject({ action: 'continue', at: now + 10_000 });
  });

  it.each([longestMs + 1, Number.MAX_VALUE, Number.POSITIVE_INFINITY])(
    'a hint of %s ms surfaces at once',
    (retryAfterMs) => {
      expect(decide(given('throttled', { retryAfterMs }))).toMatchObject({ action: 'stop', reason: 'final' });
    },
  );

  it.each([
    ['nothing-accepted', 'restart'],
    ['lost', 'rebuild'],
    ['unknown', 'ask'],
  ] as const)('given that the context is %s, it goes on by %s', (continuable, action) => {
    expect(decide(given('crash', { continuable })).action).toBe(action);
  });

  it('a fresh start for a lost context waits as the schedule says', () => {
    expect(decide(given('transient', { continuable: 'lost' }))).toMatchObject({ action: 'rebuild', at: now + 10_000 });
  });
});

describe('an outage', () => {
  const policy = policyWith({ outage: { everyMs: 5 * minute, patienceMs: 60 * minute } });
  const down = { policy, silent: true, counts: { consecutive: 4, attempts: 4 } };

  it.each(['transient', 'throttled'] as const)('after the schedule a silent %s failure is held', (kind) => {
    expect(decide(given(kind, down))).toMatchObject({ action: 'hold', at: now + 5 * minute });
  });

  it('holds until the patience ends, and not longer', () => {
    const last = decide(given('transient', { ...down, failingSince: now - 55 * minute }));
    const late = decide(given('transient', { ...down, failingSince: now - 55 * minute - 1 }));
    expect([last.action, late.action]).toEqual(['hold', 'stop']);
  });

  it('is no outage when the attempt produced something', () => {
    expect(decide(given('transient', { ...down, silent: false }))).toMatchObject({
      action: 'stop',
      reason: 'exhausted',
    });
  });

  it.each(['crash', 'incomplete', 'unclassified'] as const)('is no outage when the failure is %s', (kind) => {
    expect(decide(given(kind, { ...down, repeatable: true }))).toMatchObject({ action: 'stop', reason: 'exhausted' });
  });

  it('needs patience', () => {
    expect(decide(given('transient', { ...down, policy: policyWith({ outage: { patienceMs: 0 } }) })).action).toBe(
      'stop',
    );
  });

  it('is off with an interval of zero, since that would be a hot loop', () => {
    const eager = policyWith({ outage: { everyMs: 0, patienceMs: 60 * minute } });
    expect(decide(given('transient', { ...down, policy: eager })).action).toBe('stop');
  });

  it('waits as long as the server asks, and parks when that is over the cap', () => {
    expect(decide(given('throttled', { ...down, retryAfterMs: 10 * minute, sample: 0 }))).toMatchObject({
      action: 'hold',
      at: now + 10 * minute,
    });
    expect(decide(given('throttled', { ...down, retryAfterMs: 20 * minute, sample: 0 }))).toMatchObject({
      action: 'park',
      until: now + 20 * minute,
    });
    expect(decide(given('throttled', { ...down, retryAfterMs: 61 * minute })).action).toBe('stop');
  });

  it('is not waited out when retries are off', () => {
    const off = policyWith({ retry: { enabled: false }, outage: { patienceMs: 60 * minute } });
    expect(decide(given('transient', { ...down, policy: off }))).toMatchObject({ action: 'stop', reason: 'disabled' });
  });
});

describe('quota', () => {
  const policy = policyWith({ quota: { windows: 1 } });
  const resetsAt = now + 4 * 60 * minute;

  it('parks until the limit ends, plus the margin', () => {
    expect(decide(given('quota', { policy, resetsAt }))).toMatchObject({
      action: 'park',
      on: 'quota',
      until: resetsAt + minute,
    });
  });

  it('is opt-in: by default it surfaces at once', () => {
    expect(decide(given('quota', { resetsAt }))).toMatchObject({ action: 'stop', reason: 'quota' });
  });

  it('waits for as many windows as allowed', () => {
    expect(decide(given('quota', { policy, resetsAt, counts: { quotaWindows: 1 } }))).toMatchObject({
      action: 'stop',
      reason: 'quota',
    });
  });

  it.each([undefined, Number.NaN, Number.POSITIVE_INFINITY, now + 2 * longestMs])(
    'R30 surfaces at once when its end is %s',
    (end) => {
      const known = end === undefined ? {} : { resetsAt: end };
      expect(decide(given('quota', { policy, ...known }))).toMatchObject({ action: 'stop', reason: 'quota' });
    },
  );

  it('an end in the past is no wait into the past', () => {
    const decision = decide(given('quota', { policy, resetsAt: now - 60 * minute }));
    expect(decision).toMatchObject({ action: 'park', until: now });
  });

  it('costs no attempt: neither this one nor the earlier ones', () => {
    const counts = { attempts: 21, quotaWindows: 0 };
    expect(decide(given('quota', { policy, resetsAt, counts: { attempts: 20 } })).action).toBe('park');
    expect(decide(given('quota', { policy, resetsAt, counts })).action).toBe('budget');
    expect(decide(given('crash', { policy, counts: { attempts: 20, quotaWindows: 1 } })).action).toBe('continue');
    expect(decide(given('crash', { policy, counts: { attempts: 21, quotaWindows: 1 } })).action).toBe('budget');
  });

  it('is not waited for when nobody could go on afterwards', () => {
    expect(decide(given('quota', { policy, resetsAt, continuable: 'unknown' })).action).toBe('ask');
    const spent = { policy, resetsAt, continuable: 'lost', counts: { fallbacks: 1 } } as const;
    expect(decide(given('quota', spent)).action).toBe('stop');
  });
});

describe('auth and billing', () => {
  it('R47 a login is never retried by itself', () => {
    expect(decide(given('auth')).action).toBe('ask');
  });

  it('R48 a login is retried once, and only if the credential source changed', () => {
    expect(decide(given('auth', { credentialChanged: true }))).toMatchObject({ action: 'continue', at: now });
    expect(decide(given('auth', { credentialChanged: true, counts: { auth: 1 } })).action).toBe('ask');
  });

  it('R32 missing credit is one request, whatever else is known', () => {
    const hopeful = { credentialChanged: true, progressed: true, silent: true, repeatable: true, retryAfterMs: 1_000 };
    expect(decide(given('billing', hopeful)).action).toBe('ask');
  });
});

describe('input, overflow and lost context', () => {
  it('the same input is never sent again', () => {
    expect(decide(given('input', { repeatable: true, silent: true }))).toMatchObject({
      action: 'stop',
      reason: 'final',
    });
  });

  it('a poisoned history is left once, for a fresh start', () => {
    expect(decide(given('input', { poisoned: true })).action).toBe('rebuild');
    expect(decide(given('input', { poisoned: true, counts: { fallbacks: 1 } }))).toMatchObject({
      action: 'stop',
      reason: 'final',
    });
  });

  it('R71 a lost context has exactly one fresh start', () => {
    expect(decide(given('context-lost', { continuable: 'lost' }))).toMatchObject({ action: 'rebuild', at: now });
    expect(decide(given('context-lost', { continuable: 'lost', counts: { fallbacks: 1 } })).action).toBe('stop');
  });

  it('R71 no fresh start where the policy allows none', () => {
    const policy = policyWith({ retry: { fallbacks: 0 } });
    expect(decide(given('context-lost', { policy, continuable: 'lost' }))).toMatchObject({
      action: 'stop',
      reason: 'final',
    });
  });

  it('R21 a context that never took the prompt is started again, within the schedule', () => {
    const never = { continuable: 'nothing-accepted' } as const;
    expect(decide(given('context-lost', never))).toMatchObject({ action: 'restart', at: now });
    expect(decide(given('context-lost', { ...never, counts: { consecutive: 4 } }))).toMatchObject({
      action: 'stop',
      reason: 'exhausted',
    });
  });

  it.each(['context-lost', 'overflow', 'input', 'crash'] as const)(
    'no fresh start when the prompt may have been accepted (%s)',
    (kind) => {
      expect(decide(given(kind, { continuable: 'unknown', poisoned: true })).action).toBe('ask');
    },
  );

  it('an overflow is repaired where the history can be changed, else started afresh', () => {
    expect(decide(given('overflow', { repairable: true }))).toMatchObject({ action: 'repair', at: now });
    expect(decide(given('overflow', { repairable: true, continuable: 'lost' })).action).toBe('rebuild');
    expect(decide(given('overflow', { counts: { fallbacks: 1 } }))).toMatchObject({ action: 'stop', reason: 'final' });
  });

  it.each(['transient', 'throttled', 'crash', 'incomplete'] as const)('a poisoned %s leaves the history', (kind) => {
    expect(decide(given(kind, { poisoned: true })).action).toBe('rebuild');
  });
});

describe('quality and incomplete', () => {
  it('findings go back for as many revisions as allowed', () => {
    expect(decide(given('quality', { counts: { revisions: 1 } }))).toMatchObject({ action: 'continue', at: now });
    expect(decide(given('quality', { counts: { revisions: 2 } }))).toMatchObject({
      action: 'stop',
      reason: 'exhausted',
    });
    expect(decide(given('quality', { policy: policyWith({ revisions: 0 }) }))).toMatchObject({ action: 'stop' });
  });

  it('what ended early goes on at once while there is progress', () => {
    const counts = { consecutive: 1, attempts: 19 };
    expect(decide(given('incomplete', { progressed: true, counts }))).toMatchObject({ action: 'continue', at: now });
  });

  it('R49 what ended early without progress is bounded by the schedule', () => {
    expect(decide(given('incomplete', { counts: { consecutive: 4 } }))).toMatchObject({
      action: 'stop',
      reason: 'exhausted',
    });
  });
});

describe('unclassified', () => {
  it('is retried once, where nothing can be repeated', () => {
    expect(decide(given('unclassified', { repeatable: true })).action).toBe('continue');
    expect(decide(given('unclassified', { repeatable: true, counts: { unclassified: 1 } }))).toMatchObject({
      action: 'stop',
      reason: 'final',
    });
  });

  it('is a question where something could be repeated', () => {
    expect(decide(given('unclassified', { repeatable: false })).action).toBe('ask');
  });
});

describe('what wins over the class', () => {
  const classes = failureClasses.map((kind) => [kind]);

  it.each(classes)('a cancel wins over everything (%s)', (kind) => {
    const all = { cancelled: '', budget: 'usd', progressed: true, repeatable: true, credentialChanged: true } as const;
    expect(decide(given(kind, all)).action).toBe('cancelled');
  });

  it.each(classes)('a budget wins over a retry decided at the same time (%s)', (kind) => {
    const all = { budget: 'usd', progressed: true, repeatable: true, credentialChanged: true } as const;
    expect(decide(given(kind, all))).toMatchObject({ action: 'budget', unit: 'usd' });
  });

  it.each(classes)('with retries off nothing goes on (%s)', (kind) => {
    const contexts: Continuable[] = ['same', 'nothing-accepted', 'lost', 'unknown'];
    const willing = {
      progressed: true,
      repeatable: true,
      credentialChanged: true,
      repairable: true,
      resetsAt: now + 1,
    };
    for (const retry of [{ enabled: false }, { scheduleMs: [] }]) {
      const policy = policyWith({ retry, quota: { windows: 5 }, outage: { patienceMs: longestMs } });
      for (const continuable of contexts)
        expect(decide(given(kind, { ...willing, policy, continuable })).action).toMatch(/^(stop|ask)$/);
    }
  });

  it.each(['transient', 'throttled', 'crash', 'incomplete'] as const)(
    'with retries off the reason is said (%s)',
    (kind) => {
      for (const retry of [{ enabled: false }, { scheduleMs: [] }])
        expect(decide(given(kind, { policy: policyWith({ retry }) }))).toMatchObject({
          action: 'stop',
          reason: 'disabled',
        });
    },
  );

  it.each(classes)('R49 the total is never reset and never exceeded (%s)', (kind) => {
    const willing = {
      progressed: true,
      repeatable: true,
      credentialChanged: true,
      repairable: true,
      resetsAt: now + 1,
    };
    const policy = policyWith({ quota: { windows: 5 } });
    const decision = decide(given(kind, { ...willing, policy, counts: { attempts: 21, consecutive: 1 } }));
    expect(decision.action).toMatch(/^(stop|ask|budget)$/);
  });

  it('the total is a limit of attempts', () => {
    expect(decide(given('crash', { counts: { attempts: 20 } }))).toMatchObject({ action: 'budget', unit: 'attempts' });
    expect(decide(given('crash', { counts: { attempts: 19 } })).action).toBe('continue');
  });

  it('an unknown strategy is no reason to guess', () => {
    const policy = policyWith({ retry: { strategy: 'exponential' as 'list' } });
    expect(() => decide(given('transient', { policy }))).toThrow(/does not know: "exponential"/);
  });

  it.each(classes)('the server is heard whatever the class (%s)', (kind) => {
    const willing = {
      progressed: true,
      repeatable: true,
      credentialChanged: true,
      poisoned: true,
      retryAfterMs: 90_000,
    };
    const decision = decide(given(kind, willing));
    expect('at' in decision ? decision.at : now + 90_000).toBeGreaterThanOrEqual(now + 90_000);
  });

  it('a fresh start out of a poisoned history is not parked, since after a wait it would be a continuation', () => {
    const decision = decide(given('throttled', { poisoned: true, retryAfterMs: 20 * minute, sample: 0 }));
    expect(decision).toMatchObject({ action: 'rebuild', at: now + 20 * minute });
  });
});
