import type { Signal } from '../kernel/signal.ts';
import { classify } from '../kernel/classify.ts';
import { decide } from '../kernel/decide.ts';
import { type Failure, resetsAtOf, retryAfterOf } from '../kernel/failure.ts';
import { ModelFailedError } from './model-failed.ts';
import type { Recovering, RetryNotice } from './recovering-options.ts';

/** One failed request: the facts, and what was thrown if something was. */
export interface Failed {
  readonly failure: Failure;
  readonly thrown?: unknown;
}

/** What is done about the failures of one call, across its requests. */
export interface Recovery {
  /** One decision about one failure. Waits and resolves to nothing if the request may be made again. */
  answer(failed: Failed, signal: Signal | undefined): Promise<ModelFailedError | undefined>;
  /** The error for a failure after something was shown: no decision of ours can take that back. */
  tooLate(failed: Failed): ModelFailedError;
}

/** Begins with no failure. */
export function createRecovery(settings: Recovering): Recovery {
  const { clock, random, policy, retries, onRetry } = settings;
  let failures = 0;
  let unclassified = 0;
  let failingSince: number | undefined;

  const surface = (failed: Failed, because: string, forwarded: boolean): ModelFailedError =>
    new ModelFailedError({
      ...failed,
      classification: classify(failed.failure),
      requests: failures,
      forwarded,
      because,
      now: clock.now(),
    });

  return {
    async answer(failed, signal) {
      failures += 1;
      const classification = classify(failed.failure);
      const now = clock.now();
      failingSince ??= now;
      const hint = retryAfterOf(failed.failure);
      const resetsAt = resetsAtOf(failed.failure);
      const decision = decide({
        class: classification.class,
        policy,
        // Nothing of the answer was taken up, so the same request repeats nothing.
        continuable: 'same',
        counts: { ...noCounts, attempts: failures, consecutive: failures, unclassified },
        progressed: false,
        silent: true,
        repeatable: true,
        credentialChanged: false,
        poisoned: false,
        repairable: false,
        failingSince,
        now,
        sample: random.next(),
        ...(hint === undefined ? {} : { retryAfterMs: hint }),
        ...(resetsAt === undefined ? {} : { resetsAt }),
      });
      if (decision.action !== 'continue') return surface(failed, decision.because, false);
      if (classification.class === 'unclassified') unclassified += 1;
      const delayMs = Math.max(0, decision.at - now);
      tell(onRetry, { ...classification, retry: failures, of: retries, delayMs, failure: failed.failure });
      await clock.sleep(delayMs, signal);
      return undefined;
    },
    tooLate(failed) {
      failures += 1;
      return surface(failed, 'part of the answer was shown already', true);
    },
  };
}

const noCounts = { auth: 0, fallbacks: 0, revisions: 0, quotaWindows: 0 };

function tell(onRetry: (notice: RetryNotice) => void, notice: RetryNotice & { evidence?: string }): void {
  const { evidence: _evidence, ...said } = notice;
  try {
    onRetry(said);
  } catch {
    // An observer's fault is its own.
  }
}
