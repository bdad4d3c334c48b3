import type { Situation } from '../../../src/kernel/decide.ts';
import type { FailureClass } from '../../../src/kernel/failure.ts';
import { defaultPolicy, type Policy } from '../../../src/kernel/policy.ts';

/** The moment of every failure in these tests: 1 January 2030. */
export const now: number = Date.UTC(2030, 0, 1);

type Given = Partial<Omit<Situation, 'counts'>> & { readonly counts?: Partial<Situation['counts']> };

/** A first failure of the first attempt, with nothing special about it; `sample` 0.5 means no jitter. */
export function given(kind: FailureClass, about: Given = {}): Situation {
  const { counts, ...rest } = about;
  return {
    class: kind,
    policy: defaultPolicy,
    continuable: 'same',
    progressed: false,
    silent: false,
    repeatable: false,
    credentialChanged: false,
    poisoned: false,
    repairable: false,
    failingSince: now,
    now,
    sample: 0.5,
    ...rest,
    counts: {
      attempts: 1,
      consecutive: 1,
      unclassified: 0,
      auth: 0,
      fallbacks: 0,
      revisions: 0,
      quotaWindows: 0,
      ...counts,
    },
  };
}

type Settings = {
  readonly [Group in keyof Policy]?: Policy[Group] extends object ? Partial<Policy[Group]> : Policy[Group];
};

/** The default policy with some settings changed. */
export function policyWith(settings: Settings): Policy {
  return {
    ...defaultPolicy,
    ...settings,
    retry: { ...defaultPolicy.retry, ...settings.retry },
    outage: { ...defaultPolicy.outage, ...settings.outage },
    quota: { ...defaultPolicy.quota, ...settings.quota },
    timeouts: { ...defaultPolicy.timeouts, ...settings.timeouts },
  };
}
