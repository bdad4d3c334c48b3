import { describe, expect, it } from 'vitest';
import { decide } from '../../../src/kernel/decide.ts';
import { failureClasses } from '../../../src/kernel/failure.ts';
import { given, now, policyWith } from './situations.ts';

describe('a time limit', () => {
  it('that ends before the next attempt would begin is named at once, instead of a wait for nothing', () => {
    const policy = policyWith({ retry: { scheduleMs: [60_000] } });
    expect(decide(given('transient', { policy, deadline: now + 60_000 }))).toMatchObject({
      action: 'budget',
      unit: 'wallMs',
    });
    expect(decide(given('transient', { policy, deadline: now + 60_001 }))).toMatchObject({ action: 'continue' });
  });

  it('counts the wait that the server asks for', () => {
    const hinted = { retryAfterMs: 120_000, deadline: now + 90_000 };
    expect(decide(given('throttled', hinted)).action).toBe('budget');
  });

  it.each(failureClasses.map((kind) => [kind]))('is never overrun by a step that is announced (%s)', (kind) => {
    const decision = decide(given(kind, { deadline: now, progressed: true, credentialChanged: true }));
    expect('at' in decision).toBe(false);
  });

  it('leaves a wait without a process as it is, since whoever resumes begins anew', () => {
    const policy = policyWith({ quota: { windows: 1 } });
    const parked = given('quota', { policy, resetsAt: now + 3_600_000, deadline: now + 60_000 });
    expect(decide(parked).action).toBe('park');
  });
});
