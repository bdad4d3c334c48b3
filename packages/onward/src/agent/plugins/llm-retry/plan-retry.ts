import { decide, type Situation } from '../../../kernel/decide.ts';
import { type Classification, type Failure, retryAfterOf } from '../../../kernel/failure.ts';
import { defaultPolicy, type Policy } from '../../../kernel/policy.ts';
import type { RetriedClass, Settings } from './options.ts';
import { type BudgetName, budgetOf } from './retry-record.ts';

/** What a plan depends on. */
export interface Failed {
  readonly failure: Failure;
  readonly classification: Classification;
  /** Its process died. */
  readonly interrupted: boolean;
  /** Earlier retries in a row against the same budget. */
  readonly count: number;
  /** ms since the epoch, and a number in [0, 1). */
  readonly now: number;
  readonly sample: number;
}

/** The budget of a failure, and how many retries it has; `undefined` for a failure that is somebody else's. */
export function ownedBudget(
  failed: Pick<Failed, 'failure' | 'classification' | 'interrupted'>,
  settings: Settings,
): { readonly budget: BudgetName; readonly max: number } | undefined {
  const { failure, classification, interrupted } = failed;
  const budget = budgetOf(classification.class);
  if (classification.class === 'unclassified') return { budget, max: settings.unclassified };
  if (!settings.classes.includes(classification.class as RetriedClass)) return undefined;
  if (classification.class === 'crash' && !interrupted) return undefined;
  // An answer that was cut has nothing to go on from; a second try may be shorter, a third will not.
  if (budget === 'cut') return failure.stop === 'length' ? { budget, max: Math.min(1, settings.retries) } : undefined;
  return { budget, max: settings.retries };
}

/** The wait before the retry, ms; `undefined` when there is to be none. Pure: `decide` says whether and when. */
export function planRetry(failed: Failed, max: number, settings: Settings): number | undefined {
  const hint = retryAfterOf(failed.failure);
  const plain = situationOf(failed, max, settings);
  const local = waitOf(plain);
  const hinted = hint === undefined ? local : waitOf({ ...plain, retryAfterMs: hint });
  if (local === undefined || hinted === undefined) return undefined;
  // The cap holds for our own wait, jitter included, and never against what the server asked for.
  return hinted > local ? hinted : Math.max(Math.min(local, settings.maxMs), Math.ceil(hint ?? 0));
}

function waitOf(situation: Situation): number | undefined {
  const decision = decide(situation);
  return decision.action === 'continue' ? decision.at - situation.now : undefined;
}

function situationOf(failed: Failed, max: number, settings: Settings): Situation {
  const { classification, count, now, sample } = failed;
  const nth = count + 1;
  return {
    class: classification.class,
    policy: policyOf(max, settings),
    continuable: 'same',
    counts: {
      attempts: nth,
      consecutive: nth,
      unclassified: count,
      auth: 0,
      fallbacks: 0,
      revisions: 0,
      quotaWindows: 0,
    },
    progressed: false,
    silent: false,
    // No tool runs before its request is answered in full, so a request can be repeated without repeating an effect.
    repeatable: true,
    credentialChanged: false,
    poisoned: false,
    repairable: false,
    failingSince: now,
    now,
    sample,
  };
}

function policyOf(max: number, settings: Settings): Policy {
  const { initialMs, maxMs, jitter, hintCapMs } = settings;
  // 2 to the 1,024th is no number any more, and 0 times that is none either.
  const scheduleMs = Array.from({ length: max }, (_, nth) => Math.min(maxMs, initialMs * 2 ** Math.min(nth, 1_023)));
  const retry = { ...defaultPolicy.retry, scheduleMs, jitter, hintCapMs, total: max + 1, unclassified: max };
  return { ...defaultPolicy, retry, outage: { everyMs: 0, patienceMs: 0 } };
}
