import { assertNever } from '../kernel/error.ts';
import { classify } from '../kernel/classify.ts';
import { type Failure, resetsAtOf, retryAfterOf } from '../kernel/failure.ts';
import type { Signal } from '../kernel/signal.ts';
import type { SessionLog } from './session-log.ts';
import { type CallOutcome, sessionEvent, type TurnEnd } from './session-events.ts';

/** Why a turn's signal aborted. Frozen: nobody changes the cause that came first. */
export type AbortReason =
  | { readonly kind: 'cancel'; readonly cause: string }
  | { readonly kind: 'dispose' }
  | { readonly kind: 'limit'; readonly unit: string; readonly limit: number };

/** The end of a turn whose signal has aborted. */
export function endOfAbort(signal: Signal): TurnEnd {
  const reason = signal.reason as AbortReason;
  switch (reason.kind) {
    case 'cancel':
      return { reason: 'aborted', cause: reason.cause };
    case 'dispose':
      return { reason: 'disposed', cause: 'disposed' };
    case 'limit':
      return { reason: 'limit', scope: 'turn', unit: reason.unit, limit: reason.limit };
    default:
      return assertNever(reason, 'the reason of an abort');
  }
}

/** The end of a turn that failed, with what kind of failure it is and when the server said to come back. */
export function endOfFailure(failure: Failure, now: number): TurnEnd {
  const { class: kind, rule } = classify(failure);
  const hint = retryAfterOf(failure);
  const at = resetsAtOf(failure) ?? (hint === undefined || !Number.isFinite(hint) ? undefined : now + hint);
  return { reason: 'failed', failure, class: kind, rule, ...(at === undefined ? {} : { retryAt: Math.ceil(at) }) };
}

/** What is said of a call that nobody will come back to. */
export function leftOver(started: boolean): CallOutcome {
  return started
    ? {
        ok: false,
        code: 'outcome-unknown',
        message: 'It began, and nobody knows whether it happened. Verify before doing it again.',
      }
    : { ok: false, code: 'not-started', message: 'It never began; it may be called again.' };
}

/**
 * Brings whatever is open to a close in the log, so that it always loads: a result for each call, then the step, then the turn.
 * Returns whether some call's outcome is unknown.
 */
export function closeOpen(log: SessionLog, step: { readonly failure?: Failure }, end: TurnEnd): boolean {
  const unknown = closeStep(log, step);
  const { open } = log.state();
  if (open !== undefined) log.add(sessionEvent('turn.closed', { turn: open.turn, chain: open.chain, end }));
  return unknown;
}

/** The part of {@link closeOpen} that leaves the turn open. */
export function closeStep(log: SessionLog, closing: { readonly failure?: Failure }): boolean {
  const { open } = log.state();
  if (open?.step === undefined) return false;
  const at = { turn: open.turn, step: open.step.step };
  let unknown = false;
  for (const [id, { started, outcome }] of open.step.calls) {
    if (outcome !== undefined) continue;
    unknown ||= started;
    log.add(sessionEvent('call.finished', { ...at, id, outcome: leftOver(started) }));
  }
  log.add(sessionEvent('step.closed', { ...at, outcome: 'interrupted', ...closing }));
  return unknown;
}
