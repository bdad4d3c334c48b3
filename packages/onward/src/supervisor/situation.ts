import type { Continuable, Situation } from '../kernel/decide.ts';
import { type Classification, type Failure, resetsAtOf, retryAfterOf } from '../kernel/failure.ts';
import type { AttemptState, RunState } from './run-state.ts';

/** What the coordinator knows about a failed attempt besides the fold. */
export interface FailedAttempt {
  readonly failure: Failure;
  readonly classification: Classification;
  readonly continuable: Continuable;
  readonly fingerprint?: string;
  readonly credentialChanged: boolean;
  readonly cancelled?: string;
  readonly now: number;
  readonly sample: number;
}

/** Everything `decide` wants, from the run so far and its newest failure. Pure. `run` does not have that failure yet. */
export function situationOf(run: RunState, attempt: AttemptState, failed: FailedAttempt): Situation {
  const { policy } = run.accepted.policy;
  const episode = run.attempts.filter((other) => other.n > run.earlier && other.n < attempt.n);
  const progressed = attempt.progressed || changedWorkspace(run, attempt, failed.fingerprint);
  const retryAfterMs = retryAfterOf(failed.failure);
  const resetsAt = resetsAtOf(failed.failure);
  const streak = progressed ? [] : failingStreak(episode);
  return {
    class: failed.classification.class,
    policy,
    continuable: failed.continuable,
    counts: {
      attempts: attempt.n - run.earlier,
      consecutive: streak.length + 1,
      unclassified: countClass(episode, 'unclassified'),
      auth: countClass(episode, 'auth'),
      fallbacks: [...episode, attempt].filter((other) => isFallback(other, attempt, failed)).length,
      revisions: countClass(episode, 'quality'),
      quotaWindows: countClass(episode, 'quota'),
    },
    progressed,
    silent: isSilent(attempt),
    repeatable: run.attempts.every((other) => other.calls.every((call) => call.state === 'refused')),
    credentialChanged: failed.credentialChanged,
    poisoned: isPoisoned(run, attempt, failed, progressed),
    repairable: false,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    ...(resetsAt === undefined ? {} : { resetsAt }),
    failingSince: streak.at(0)?.endedAt ?? failed.now,
    ...(failed.cancelled === undefined ? {} : { cancelled: failed.cancelled }),
    ...(isWallUsed(run, failed.now) ? { budget: 'wallMs' as const } : {}),
    ...deadlineOf(run),
    now: failed.now,
    sample: failed.sample,
  };
}

/** A fresh conversation that was really begun: one whose prompt was provably never taken is still owed. */
function isFallback(other: AttemptState, attempt: AttemptState, failed: FailedAttempt): boolean {
  if (other.mode !== 'rebuild') return false;
  const end = other === attempt ? failed : other.end?.kind === 'failed' ? other.end : undefined;
  const untouched = end?.continuable === 'lost' && end.classification.class !== 'context-lost' && isSilent(other);
  return !untouched;
}

/** Nothing came of the attempt: no text, no call, no tokens. */
export function isSilent(attempt: AttemptState): boolean {
  return attempt.messages.length === 0 && attempt.calls.length === 0 && (attempt.usage?.outputTokens ?? 0) === 0;
}

/** All attempts and waits of this episode have taken as long as they may. */
export function isWallUsed(run: RunState, now: number): boolean {
  const { wallMs } = run.accepted.policy.policy.timeouts;
  return wallMs > 0 && now - run.since >= wallMs;
}

function deadlineOf(run: RunState): { readonly deadline?: number } {
  const { wallMs } = run.accepted.policy.policy.timeouts;
  return wallMs > 0 ? { deadline: run.since + wallMs } : {};
}

/** The unbroken run of failures without progress just before now. */
function failingStreak(all: readonly AttemptState[]): readonly AttemptState[] {
  // Waiting for the end of a usage limit costs no attempt.
  const episode = all.filter(
    (attempt) => attempt.end?.kind !== 'failed' || attempt.end.classification.class !== 'quota',
  );
  const lastGood = episode.findLastIndex((attempt) => attempt.progressed || attempt.end?.kind !== 'failed');
  const afterProgress = lastGood >= 0 && episode[lastGood]?.end?.kind === 'failed' ? lastGood : lastGood + 1;
  return episode.slice(afterProgress);
}

function countClass(episode: readonly AttemptState[], name: Classification['class']): number {
  return episode.filter((attempt) => attempt.end?.kind === 'failed' && attempt.end.classification.class === name)
    .length;
}

function changedWorkspace(run: RunState, attempt: AttemptState, fingerprint: string | undefined): boolean {
  const before = run.attempts.findLast((other) => other.n < attempt.n && other.fingerprint !== undefined)?.fingerprint;
  return before !== undefined && fingerprint !== undefined && before !== fingerprint;
}

/**
 * The history itself is at fault: a continuation that is refused as input, or that meets the very same fault as the
 * attempt before without any progress. Faults that pass by themselves (transient, throttled) never count.
 */
function isPoisoned(run: RunState, attempt: AttemptState, failed: FailedAttempt, progressed: boolean): boolean {
  const now = failed.classification;
  // That our own process died, or could not start the agent, says nothing about the conversation.
  if (failed.failure.process === 'host-crashed' || failed.failure.process === 'spawn-failed') return false;
  if (attempt.mode !== 'continue' || progressed) return false;
  if (now.class === 'input') return true;
  if (now.class !== 'crash' && now.class !== 'incomplete' && now.class !== 'unclassified') return false;
  const before = run.attempts[attempt.n - 2];
  if (before?.mode !== 'continue' || before.end?.kind !== 'failed') return false;
  return before.end.classification.rule === now.rule && before.end.classification.evidence === now.evidence;
}
