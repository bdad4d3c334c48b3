import { assertNever } from '../kernel/error.ts';
import type { Answer } from '../kernel/question.ts';
import type { CallReason, Receipt } from './effect-events.ts';
import type { EffectState } from './effect-state.ts';

/** What can be found out and prevented at a service, as declared with the call. Times are ms. */
export interface Capabilities {
  readonly lookup: boolean;
  readonly settleMs?: number;
  readonly keyLifetimeMs?: number;
}

/** Everything that the next move depends on. Times are ms since the epoch. */
export interface EffectSituation {
  /** This key; absent when it was never called. */
  readonly effect?: EffectState;
  /** Another key that is open on the same resource. */
  readonly claim?: EffectState;
  /** Hash of the payload of now. */
  readonly payload: string;
  readonly can: Capabilities;
  /** The program that made the open call is gone, so that the call can do nothing more. */
  readonly callerGone: boolean;
  /** The question about it, under the present rules. */
  readonly question: { readonly kind: 'none' | 'open' } | { readonly kind: 'answered'; readonly answer: Answer };
  /** What the service said last in this run, if not that it happened. `at`: when it was asked. */
  readonly found?: { readonly kind: 'absent' | 'unknown'; readonly at: number };
  /** Calls that this run has made. */
  readonly calls: number;
  readonly aborted: boolean;
  readonly now: number;
}

/** What to do next with an effect. */
export type EffectMove =
  | { readonly kind: 'call'; readonly because: CallReason }
  /** Its receipt is on record. */
  | { readonly kind: 'repeat'; readonly receipt: Receipt }
  /** It happened: a late receipt or a person says so. */
  | { readonly kind: 'adopt'; readonly from: 'late-receipt'; readonly receipt: Receipt }
  | { readonly kind: 'adopt'; readonly from: 'person'; readonly answer: Answer }
  /** Ask the service. */
  | { readonly kind: 'look-up' }
  /** Record that its caller is gone. */
  | { readonly kind: 'take-over' }
  /** Record that it did not happen, and leave it at that. */
  | { readonly kind: 'settle' }
  /** Sleep until then, when what the service says can be believed. */
  | { readonly kind: 'wait'; readonly until: number }
  | { readonly kind: 'ask'; readonly because: string }
  /** The question stands. */
  | { readonly kind: 'stand' }
  | { readonly kind: 'in-flight' }
  | { readonly kind: 'give-up'; readonly answer: Answer }
  | { readonly kind: 'refuse'; readonly because: 'other-payload' | 'claimed' | 'given-up' | 'aborted' };

/** A rest up to this long is slept; after a longer one somebody has to come back. */
export const longestWaitMs = 60_000;

/** One call, and one more that is known to be safe: whoever wants more retries runs the effect again. */
const MOST_CALLS = 2;

/** A request takes time to arrive: a key is not relied upon in the last tenth of its life, at most half a minute. */
const MOST_MARGIN_MS = 30_000;

/** The rule of repeating, in one place: pure, so that it can be read and tested as given / when / then. */
export function decideEffect(situation: EffectSituation): EffectMove {
  const { effect, claim } = situation;
  if (effect !== undefined && effect.payload !== situation.payload) return { kind: 'refuse', because: 'other-payload' };
  const stage = effect?.stage;
  if (stage?.kind === 'accepted') return { kind: 'repeat', receipt: stage.receipt };
  if (stage?.kind === 'given-up') return { kind: 'refuse', because: 'given-up' };
  const late = effect?.late.at(-1);
  if (late !== undefined) return { kind: 'adopt', from: 'late-receipt', receipt: late.receipt };
  if (claim !== undefined) return { kind: 'refuse', because: 'claimed' };
  switch (stage?.kind) {
    case undefined:
      return callUnlessAborted(situation, 'first');
    case 'free':
      return callUnlessAborted(situation, stage.because);
    case 'calling':
      return situation.callerGone ? { kind: 'take-over' } : { kind: 'in-flight' };
    case 'unsure':
      if (stage.endedAt === undefined && situation.callerGone) return { kind: 'take-over' };
      return decideUnsure(situation, stage.endedAt, effect?.firstAt ?? situation.now);
    default:
      return assertNever(stage, 'decideEffect');
  }
}

function callUnlessAborted({ aborted }: EffectSituation, because: CallReason): EffectMove {
  return aborted ? { kind: 'refuse', because: 'aborted' } : { kind: 'call', because };
}

/** Nobody knows: a person's word, then the service's, then its promise to dedupe, and else a question. */
function decideUnsure(situation: EffectSituation, endedAt: number | undefined, firstAt: number): EffectMove {
  const { question, can, found } = situation;
  if (question.kind === 'answered' && question.answer.choice === 'happened')
    return { kind: 'adopt', from: 'person', answer: question.answer };
  if (question.kind === 'answered' && question.answer.choice === 'give-up')
    return { kind: 'give-up', answer: question.answer };
  // Before any repeat the service is asked, also when a person said that it did not happen.
  if (can.lookup && found === undefined) return { kind: 'look-up' };
  // A call that may still do something makes no room for another one, whatever a person found when looking.
  if (question.kind === 'answered')
    return endedAt === undefined ? { kind: 'in-flight' } : callUnlessAborted(situation, 'person');
  if (isDeduped(situation, firstAt) && !situation.aborted && situation.calls < MOST_CALLS)
    return { kind: 'call', because: 'deduped' };
  if (found?.kind === 'absent' && can.settleMs !== undefined && endedAt !== undefined)
    return decideAbsent(situation, found.at, endedAt + can.settleMs);
  return ask(situation, found === undefined ? 'the service cannot be asked' : `the service says ${found.kind}`);
}

function decideAbsent(situation: EffectSituation, askedAt: number, settledAt: number): EffectMove {
  if (askedAt >= settledAt) {
    if (situation.aborted) return { kind: 'settle' };
    return situation.calls < MOST_CALLS
      ? { kind: 'call', because: 'absent' }
      : ask(situation, 'it was tried twice, and the service has nothing');
  }
  if (situation.now >= settledAt) return { kind: 'look-up' };
  if (situation.aborted || settledAt - situation.now > longestWaitMs)
    return ask(situation, 'the service has nothing, which cannot be believed yet');
  return { kind: 'wait', until: settledAt };
}

function isDeduped({ can, now }: EffectSituation, firstAt: number): boolean {
  if (can.keyLifetimeMs === undefined) return false;
  return now < firstAt + can.keyLifetimeMs - Math.min(MOST_MARGIN_MS, can.keyLifetimeMs / 10);
}

function ask({ question }: EffectSituation, because: string): EffectMove {
  return question.kind === 'open' ? { kind: 'stand' } : { kind: 'ask', because };
}
