import type { BudgetUnit } from './budget.ts';
import { assertNever } from './error.ts';
import type { FailureClass } from './failure.ts';
import { longestMs, type Policy } from './policy.ts';

/**
 * What may be continued, as the loop knows it now. `same`: the conversation can go on. `nothing-accepted`: it is proven
 * that the prompt was never taken, so sending it again repeats nothing. `lost`: there is no conversation to go on with.
 * `unknown`: something may have been accepted, and nobody can say.
 */
export type Continuable = 'same' | 'nothing-accepted' | 'lost' | 'unknown';

/** Everything a decision depends on. The clock and the jitter sample are inputs, so that it can be made again. */
export interface Situation {
  readonly class: FailureClass;
  readonly policy: Policy;
  readonly continuable: Continuable;
  readonly counts: {
    /** Attempts begun so far, the failed one included. Those that ended at a usage limit do not count against `total`. */
    readonly attempts: number;
    /** Failures in a row without progress, this one included. */
    readonly consecutive: number;
    /** Earlier retries of `unclassified` and of `auth`, and earlier fallbacks, revisions and quota windows. */
    readonly unclassified: number;
    readonly auth: number;
    readonly fallbacks: number;
    readonly revisions: number;
    readonly quotaWindows: number;
  };
  /** A tool call finished that had not, or the workspace changed, in the failed attempt. */
  readonly progressed: boolean;
  /** The failed attempt produced nothing at all: no text, no call, no billed token. */
  readonly silent: boolean;
  /** Repeating could not do anything twice: no tool call was begun in the whole piece of work. */
  readonly repeatable: boolean;
  /** The credential source is another one than when the attempt began. */
  readonly credentialChanged: boolean;
  /** The attempt was a continuation and failed in a way that says its history cannot be continued. */
  readonly poisoned: boolean;
  /** The loop can change what the model sees (prune, compact), and this attempt's history has not been so repaired. */
  readonly repairable: boolean;
  /** The server's hint, ms. */
  readonly retryAfterMs?: number;
  /** End of the usage limit, ms since the epoch. */
  readonly resetsAt?: number;
  /** When the outage began: the first failure in a row. ms since the epoch. */
  readonly failingSince: number;
  /** Why the work was cancelled; wins over everything. */
  readonly cancelled?: string;
  /** A limit that is used up; wins over everything but a cancel. */
  readonly budget?: BudgetUnit;
  /** When the time limit of the work ends, ms since the epoch; absent without one. Nothing begins from then on. */
  readonly deadline?: number;
  /** ms since the epoch. */
  readonly now: number;
  /** A random number in [0, 1). */
  readonly sample: number;
}

/** Why work stops without a person being able to help right now. */
export type StopReason = 'final' | 'exhausted' | 'disabled' | 'quota';

/** What is done about a failure. `at` and `until` are ms since the epoch; `because` is one line for people. */
export type Decision =
  | { readonly action: 'continue'; readonly at: number; readonly because: string }
  | { readonly action: 'restart'; readonly at: number; readonly because: string }
  | { readonly action: 'rebuild'; readonly at: number; readonly because: string }
  | { readonly action: 'repair'; readonly at: number; readonly because: string }
  | { readonly action: 'hold'; readonly at: number; readonly because: string }
  | { readonly action: 'park'; readonly until: number; readonly on: 'quota' | 'hint'; readonly because: string }
  | { readonly action: 'ask'; readonly because: string }
  | { readonly action: 'stop'; readonly reason: StopReason; readonly because: string }
  | { readonly action: 'cancelled'; readonly because: string }
  | { readonly action: 'budget'; readonly unit: BudgetUnit; readonly because: string };

/** The units for people. */
const unitNames: Readonly<Record<BudgetUnit, string>> = {
  attempts: 'attempts',
  wallMs: 'time',
  waitMs: 'waiting',
  tokens: 'tokens',
  usd: 'money',
  toolCalls: 'tool calls',
  retryTokens: 'tokens for retries',
  retryUsd: 'money for retries',
};

/**
 * The heart: one failure, one decision. Pure. Endings first, then what the class asks for, then whether and in which
 * context going on is safe, and last the server's hint: whatever is done is not done before that.
 */
export function decide(s: Situation): Decision {
  if (s.cancelled !== undefined) return { action: 'cancelled', because: s.cancelled };
  if (s.budget !== undefined)
    return { action: 'budget', unit: s.budget, because: `the limit of ${unitNames[s.budget]} is used up` };
  // A count that counts nothing, from a record that was misread, would bound nothing: NaN is never too large.
  if (!Object.values(s.counts).every((count) => Number.isSafeInteger(count) && count >= 0))
    return { action: 'stop', reason: 'final', because: 'the counts of earlier attempts are unreadable' };
  return inTime(s, paced(s, byClass(s)));
}

function byClass(s: Situation): Decision {
  switch (s.class) {
    case 'transient':
    case 'throttled':
    case 'crash':
      return retry(s);
    case 'quota':
      return waitForQuota(s);
    case 'auth':
      return s.credentialChanged && s.counts.auth < s.policy.retry.auth
        ? goOn(s, s.now, 'the credential source changed since the attempt began')
        : { action: 'ask', because: 'a login does not come back by itself' };
    case 'billing':
      return { action: 'ask', because: 'credit does not come back by itself' };
    case 'policy':
      return { action: 'ask', because: 'a rule refused it, and asking the model again does not change the rule' };
    case 'conflict':
      return { action: 'ask', because: 'somebody else changed or holds it' };
    case 'outcome-unknown':
      return { action: 'ask', because: 'it may have happened, and repeating it blindly could do it twice' };
    case 'input':
      return s.poisoned
        ? rebuild(s, 'the continued history is refused')
        : { action: 'stop', reason: 'final', because: 'the same input would be refused again' };
    case 'overflow':
      return overflow(s);
    case 'quality':
      return s.counts.revisions < s.policy.revisions
        ? goOn(s, s.now, 'the findings go back for revision')
        : { action: 'stop', reason: 'exhausted', because: 'no revision is left' };
    case 'incomplete':
      return s.progressed ? goOn(s, s.now, 'it ended early while making progress') : retry(s);
    case 'context-lost':
      return rebuild(s, 'the conversation is lost');
    case 'unclassified':
      return unclassified(s);
    default:
      return assertNever(s.class, 'decide');
  }
}

/** A bounded repeat in the same context, after the schedule's wait. */
function retry(s: Situation): Decision {
  if (s.poisoned) return rebuild(s, 'the same fault came back right after continuing');
  const wait = scheduled(s);
  if (wait === undefined) return holdOrStop(s);
  const jittered = wait * (1 + s.policy.retry.jitter * (2 * sampleOf(s) - 1));
  const nth = `failure ${s.counts.consecutive} of ${s.policy.retry.scheduleMs.length} in a row that are retried`;
  return goOn(s, s.now + Math.ceil(jittered), nth);
}

/** The wait before the next attempt; `undefined` when the schedule is used up. */
function scheduled(s: Situation): number | undefined {
  const { strategy, scheduleMs } = s.policy.retry;
  switch (strategy) {
    case 'list':
      return scheduleMs[s.counts.consecutive - 1];
    default:
      return assertNever(strategy, 'decide');
  }
}

/** After the schedule: patience with an outage while attempts produce nothing, else the end. */
function holdOrStop(s: Situation): Decision {
  const { everyMs, patienceMs } = s.policy.outage;
  const at = Math.max(s.now + everyMs, hinted(s));
  const outage = (s.class === 'transient' || s.class === 'throttled') && s.silent && everyMs > 0;
  if (!outage || !(at <= s.failingSince + patienceMs)) return stopRetrying(s);
  const decision = goOn(s, at, 'the provider is down; one try at a time until the patience ends');
  return decision.action === 'continue' ? { ...decision, action: 'hold' } : decision;
}

function stopRetrying(s: Situation): Decision {
  if (!s.policy.retry.enabled || s.policy.retry.scheduleMs.length === 0)
    return { action: 'stop', reason: 'disabled', because: 'retries are switched off' };
  return { action: 'stop', reason: 'exhausted', because: `${s.counts.consecutive} failures in a row without progress` };
}

function waitForQuota(s: Situation): Decision {
  if (s.resetsAt === undefined || !(s.resetsAt - s.now <= longestMs))
    return { action: 'stop', reason: 'quota', because: 'a usage limit is reached and its end is not known' };
  if (s.counts.quotaWindows >= s.policy.quota.windows) {
    return { action: 'stop', reason: 'quota', because: 'a usage limit is reached and no wait for it was asked for' };
  }
  return park(s, Math.ceil(s.resetsAt + s.policy.quota.marginMs), 'quota', 'the usage limit ends then');
}

function overflow(s: Situation): Decision {
  if (s.repairable && s.continuable === 'same')
    return bounded(s) ?? { action: 'repair', at: s.now, because: 'the model-visible history can be shortened' };
  return rebuild(s, 'the conversation no longer fits the model');
}

function unclassified(s: Situation): Decision {
  if (!s.repeatable)
    return { action: 'ask', because: 'nobody knows what this failure is, and going on could repeat something' };
  if (s.counts.unclassified >= s.policy.retry.unclassified)
    return { action: 'stop', reason: 'final', because: 'nobody knows what this failure is' };
  return retry(s);
}

/** Waits without a process. Whatever forbids to go on afterwards is said now, not after hours. */
function park(s: Situation, until: number, on: 'quota' | 'hint', because: string): Decision {
  const after = goOn(s, s.now, because);
  return isNext(after) ? { action: 'park', until: Math.max(until, s.now), on, because } : after;
}

/** A next step that could only begin after the time limit is not announced and waited for: the limit is named now. */
function inTime(s: Situation, decision: Decision): Decision {
  if (s.deadline === undefined || !isNext(decision) || decision.at < s.deadline) return decision;
  return { action: 'budget', unit: 'wallMs', because: 'the time limit would be used up before the next attempt' };
}

type Next = Extract<Decision, { readonly at: number }>;

function isNext(decision: Decision): decision is Next {
  return 'at' in decision;
}

/**
 * Holds every next step to the server's hint. One that a process should not be held for is parked, unless the step is
 * another than the one that the context alone would lead to after the wait.
 */
function paced(s: Situation, decision: Decision): Decision {
  const hint = hintOf(s);
  if (hint === 0) return decision;
  if (decision.action !== 'park' && !isNext(decision)) return decision;
  if (hint > longestMs)
    return { action: 'stop', reason: 'final', because: 'the server asks for a wait of over a year' };
  const earliest = hinted(s);
  if (decision.action === 'park') return { ...decision, until: Math.max(decision.until, earliest) };
  const at = Math.max(decision.at, earliest);
  const plain = decision.action !== 'repair' && (decision.action !== 'rebuild' || s.continuable === 'lost');
  if (hint > s.policy.retry.hintCapMs && plain)
    return park(s, at, 'hint', 'the server asks for a longer wait than a process is held for');
  if (at === decision.at) return decision;
  return { ...decision, at, because: `${decision.because}, no earlier than the server asked` };
}

/** The server's hint, ms; 0 without one. What is no amount of time counts as none. */
function hintOf(s: Situation): number {
  return s.retryAfterMs !== undefined && s.retryAfterMs > 0 ? s.retryAfterMs : 0;
}

/** Never earlier than asked, and a little later, so that many who were told the same do not come back together. */
function hinted(s: Situation): number {
  const hint = hintOf(s);
  return s.now + Math.ceil(hint + sampleOf(s) * Math.min(hint * 0.1, 5_000));
}

/** The sample; what is none waits longest. */
function sampleOf(s: Situation): number {
  return s.sample >= 0 && s.sample <= 1 ? s.sample : 1;
}

/** One fresh conversation with a summary from the journal, labelled as such. */
function rebuild(s: Situation, because: string): Decision {
  const stop = bounded(s);
  if (stop !== undefined) return stop;
  if (s.continuable === 'unknown') return askBlind();
  if (s.continuable === 'nothing-accepted')
    return scheduled(s) === undefined ? stopRetrying(s) : { action: 'restart', at: s.now, because };
  if (s.counts.fallbacks >= s.policy.retry.fallbacks)
    return { action: 'stop', reason: 'final', because: `${because}, and no fresh start is left` };
  return { action: 'rebuild', at: s.now, because };
}

/** Goes on in the best context there is, if going on is allowed at all. */
function goOn(s: Situation, at: number, because: string): Decision {
  const stop = bounded(s);
  if (stop !== undefined) return stop;
  switch (s.continuable) {
    case 'same':
      return { action: 'continue', at, because };
    case 'nothing-accepted':
      return { action: 'restart', at, because };
    case 'lost': {
      const fresh = rebuild(s, because);
      return fresh.action === 'rebuild' ? { ...fresh, at } : fresh;
    }
    case 'unknown':
      return askBlind();
    default:
      return assertNever(s.continuable, 'decide');
  }
}

function askBlind(): Decision {
  return { action: 'ask', because: 'the prompt may have been accepted, and there is no conversation to look at' };
}

/** What forbids any further attempt, whatever the class. */
function bounded(s: Situation): Decision | undefined {
  if (!s.policy.retry.enabled || s.policy.retry.scheduleMs.length === 0)
    return { action: 'stop', reason: 'disabled', because: 'retries are switched off' };
  const atUsageLimits = s.counts.quotaWindows + (s.class === 'quota' ? 1 : 0);
  if (s.counts.attempts - atUsageLimits >= s.policy.retry.total)
    return { action: 'budget', unit: 'attempts', because: `all ${s.policy.retry.total} attempts are used` };
  return undefined;
}
