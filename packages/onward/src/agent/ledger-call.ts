import type { EffectCalls, EffectName, EffectOutcome } from '../effects/effect.ts';
import { assertNever } from '../kernel/error.ts';
import type { Json } from '../kernel/json.ts';
import type { Signal } from '../kernel/signal.ts';
import { awaitAnswer, openQuestion } from './ask-question.ts';
import { type Deadline, startDeadline } from './call-deadline.ts';
import { leftOver } from './close-turn.ts';
import type { PreparedCall } from './prepare-call.ts';
import type { Runtime, StepContext } from './runtime.ts';
import type { CallOutcome } from './session-events.ts';
import type { DeclaredEffect, ToolContext } from './tool.ts';
import { contextOf } from './tool-context.ts';

type Ready = Extract<PreparedCall, { readonly ok: true }>;

/** How often a key that another attempt has in flight is looked at, ms. */
const inFlightMs = 1_000;

/** A call with a declared effect. */
export interface LedgerCall {
  readonly ready: Ready;
  readonly effect: DeclaredEffect<unknown>;
  readonly name: EffectName;
  readonly resumed: boolean;
}

/** What the rounds of one call share: it is run again after an answer. */
interface Rounds {
  concluded: boolean;
  /** The body has begun in this process, and has not ended. */
  bodyRuns: boolean;
  /** It was too late in this round. */
  late: boolean;
}

/** Runs a call through the ledger. Each round has the whole deadline, since a person may take days to answer in between. */
export async function ledgerCall(rt: Runtime, at: StepContext, one: LedgerCall): Promise<CallOutcome> {
  const rounds: Rounds = { concluded: false, bodyRuns: false, late: false };
  const { stream, epoch } = rt.log.lease;
  const caller = { owner: stream, fence: () => ({ stream, expected: 'any' as const, epoch, events: [] }) };
  for (;;) {
    const deadline = startDeadline(rt, at.signal, one.ready.entry.deadlineMs);
    const stop = untilBodyEnds(deadline, rounds);
    const calls = callsOf(rt, one, { deadline, rounds, ended: stop.ended });
    // oxlint-disable-next-line no-await-in-loop -- a run, then perhaps a wait for its answer, then a run again
    const outcome = await rt.ledger.run(one.name, calls, caller, stop.signal).finally(() => deadline.end());
    rounds.late = deadline.passed();
    // oxlint-disable-next-line no-await-in-loop
    const next = await afterRun(rt, at, { ...one, outcome, rounds });
    if (next !== 'again') return next;
  }
}

/**
 * The signal for the ledger. It may stop waiting at once; but a body that was told to stop is awaited, as everywhere, since what
 * it says is worth more than a guess. Only one that is late is left behind.
 */
function untilBodyEnds(deadline: Deadline, rounds: Rounds): { readonly signal: Signal; readonly ended: () => void } {
  const stop = new AbortController();
  const abort = (): void => stop.abort(deadline.signal.reason);
  const ended = (): void => {
    if (deadline.signal.aborted && !rounds.bodyRuns) abort();
  };
  deadline.signal.addEventListener('abort', ended, { once: true });
  ended();
  void deadline.late.then(abort);
  return { signal: stop.signal, ended };
}

function callsOf(
  rt: Runtime,
  { ready, effect }: LedgerCall,
  round: { readonly deadline: Deadline; readonly rounds: Rounds; readonly ended: () => void },
): EffectCalls {
  const { deadline, rounds } = round;
  const { run } = ready.entry.tool as { run: (input: unknown, context: ToolContext) => Promise<Json> | Json };
  const { lookup } = effect;
  return {
    payload: ready.call.input,
    call: async (key) => {
      rounds.bodyRuns = true;
      const conclude = (): void => {
        rounds.concluded = true;
      };
      try {
        return (await run(ready.input, contextOf(rt, ready, { signal: deadline.signal, key, conclude }))) ?? null;
      } finally {
        rounds.bodyRuns = false;
        round.ended();
      }
    },
    ...(lookup === undefined ? {} : { lookup: async (key, signal) => await lookup(key, ready.input, signal) }),
    ...(effect.settleMs === undefined ? {} : { settleMs: effect.settleMs }),
    ...(effect.keyLifetimeMs === undefined ? {} : { keyLifetimeMs: effect.keyLifetimeMs }),
    ...(effect.mayAnswer === undefined ? {} : { mayAnswer: effect.mayAnswer }),
  };
}

async function afterRun(
  rt: Runtime,
  at: StepContext,
  one: LedgerCall & { readonly outcome: EffectOutcome; readonly rounds: Rounds },
): Promise<CallOutcome | 'again'> {
  const { outcome, rounds } = one;
  switch (outcome.kind) {
    case 'accepted':
      return {
        ok: true,
        output: outcome.receipt,
        ...(rounds.concluded ? { conclude: true } : {}),
        ...(outcome.repeated ? { repeated: true } : {}),
      };
    case 'rejected':
      return { ok: false, code: 'rejected', message: outcome.failure.message };
    case 'refused':
      return refusal(one, outcome);
    case 'in-flight':
      if (rounds.bodyRuns) return unknown('it did not end in time, and it still runs');
      await rt.clock.sleep(inFlightMs, at.signal);
      return at.signal.aborted ? unknown('another attempt has it in flight') : 'again';
    case 'waiting': {
      await openQuestion(rt, at, one.ready.call.id, { question: outcome.question, open: true });
      const asked = await awaitAnswer(rt, outcome.question.id, at.signal);
      return asked.kind === 'aborted' ? unknown('the question about it was not answered') : 'again';
    }
    default:
      return assertNever(outcome, 'the outcome of an effect');
  }
}

function refusal(
  { ready, resumed, rounds }: { readonly ready: Ready; readonly resumed: boolean; readonly rounds: Rounds },
  { because, message }: Extract<EffectOutcome, { readonly kind: 'refused' }>,
): CallOutcome {
  if (because !== 'aborted') return { ok: false, code: 'refused', message };
  if (rounds.late) {
    const ms = ready.entry.deadlineMs;
    return {
      ok: false,
      code: 'timeout',
      message: `The tool did not end within ${ms} ms; it is known not to have happened.`,
    };
  }
  return resumed ? leftOver(true) : { ok: false, code: 'aborted', message };
}

function unknown(why: string): CallOutcome {
  return { ok: false, code: 'outcome-unknown', message: `Nobody knows whether it happened: ${why}.` };
}
