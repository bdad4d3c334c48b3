import { classify } from '../kernel/classify.ts';
import { assertNever, isOnwardError } from '../kernel/error.ts';
import type { Failure } from '../kernel/failure.ts';
import { toFailure } from '../models/to-failure.ts';
import { askToStop } from './ask-to-stop.ts';
import { LeftWaiting } from './ask-question.ts';
import { closeOpen, endOfAbort, endOfFailure } from './close-turn.ts';
import { messageOf } from './prepare-call.ts';
import { commitStaged, runStep, runStepCalls, type StepEnd } from './run-step.ts';
import type { Runtime, TurnContext } from './runtime.ts';
import { sessionEvent, type Trigger, type TurnEnd } from './session-events.ts';

/** How a turn begins: anew, or in the middle of a step whose question was answered. */
export type TurnStart =
  | { readonly kind: 'new'; readonly trigger: Trigger; readonly commit: () => void }
  | { readonly kind: 'suspended' };

/** A turn is over. `retry` is the number of the failed turn that one promptless turn shall follow. */
export type TurnResult =
  | { readonly kind: 'over'; readonly end: TurnEnd }
  | { readonly kind: 'retry'; readonly of: number }
  /** It waits for an answer, and goes on when somebody opens the session again. */
  | { readonly kind: 'left' }
  /** Not even the end could be stored. */
  | { readonly kind: 'unrecorded'; readonly failure: Failure };

/** Runs one turn to its close. Never throws. */
export async function runTurn(rt: Runtime, start: TurnStart, at: TurnContext): Promise<TurnResult> {
  let opened = false;
  const open = (): void => {
    if (start.kind === 'suspended' || rt.log.state().open !== undefined) return;
    rt.log.add(sessionEvent('turn.opened', { turn: at.turn, chain: at.chain, trigger: start.trigger }));
    start.commit();
    opened = true;
  };
  try {
    open();
    const end = at.signal.aborted ? endOfAbort(at.signal) : await steps(rt, at, start.kind === 'suspended');
    return await close(rt, at, end);
  } catch (error) {
    if (error instanceof LeftWaiting) return { kind: 'left' };
    const failure = faultOf(error, rt.clock.now());
    if (!opened && start.kind === 'new') return { kind: 'unrecorded', failure };
    try {
      // What was not stored is gone from the state, perhaps with the opening: the end is stored with a new one.
      if (opened) open();
      return await close(rt, at, {
        end: at.signal.aborted ? endOfAbort(at.signal) : endOfFailure(failure, rt.clock.now()),
      });
    } catch (again) {
      return { kind: 'unrecorded', failure: isOnwardError(error) ? failure : faultOf(again, rt.clock.now()) };
    }
  }
}

type Ending = TurnEnd | { readonly end: TurnEnd; readonly retry?: boolean };

/** A fault of the machinery: the log, a listener, a tool set. Facts only; classified like any other failure. */
function faultOf(error: unknown, now: number): Failure {
  if (isOnwardError(error)) return { message: error.message.slice(0, 500), code: error.code };
  return toFailure(error, now);
}

async function close(rt: Runtime, at: TurnContext, ending: Ending): Promise<TurnResult> {
  const { end, retry } = 'end' in ending ? { retry: false, ...ending } : { end: ending, retry: false };
  closeOpen(rt.log, {}, end);
  await rt.log.flush();
  return retry && !at.signal.aborted ? { kind: 'retry', of: at.turn } : { kind: 'over', end };
}

async function steps(rt: Runtime, at: TurnContext, suspended: boolean): Promise<Ending> {
  const first = rt.log.state().open?.step?.step;
  let ended: StepEnd | undefined;
  if (suspended && first !== undefined) ended = await runStepCalls(rt, { ...at, step: first });
  for (;;) {
    if (ended !== undefined && ended.kind !== 'again') {
      // oxlint-disable-next-line no-await-in-loop -- one step after the other
      const end = await afterStep(rt, at, ended);
      if (end !== 'again') return end;
    }
    // oxlint-disable-next-line no-await-in-loop
    if (ended !== undefined) await rt.log.flush();
    const step = (rt.log.state().open?.lastStep ?? 0) + 1;
    // oxlint-disable-next-line no-await-in-loop
    ended = await runStep(rt, { ...at, step });
  }
}

/** What follows a step after which the model owes nothing by itself. */
async function afterStep(
  rt: Runtime,
  at: TurnContext,
  ended: Exclude<StepEnd, { kind: 'again' }>,
): Promise<Ending | 'again'> {
  switch (ended.kind) {
    case 'aborted':
      return endOfAbort(at.signal);
    case 'limit':
      return { reason: 'limit', ...ended.hit };
    case 'concluded':
      return completed(rt);
    case 'failed':
      return await recover(rt, at, ended);
    case 'rest': {
      await askToStop(rt, at, ended.text);
      if (at.signal.aborted) return endOfAbort(at.signal);
      return commitStaged(rt) ? 'again' : completed(rt);
    }
    default:
      return assertNever(ended, 'the end of a step');
  }
}

function completed(rt: Runtime): TurnEnd {
  return { reason: rt.log.state().open?.maxTokens === true ? 'max-tokens' : 'completed' };
}

/**
 * Offers a failed request to whoever owns it. The answer counts only while the turn is not cancelled; a listener that throws
 * hides nothing: the failure of the provider stays the reason.
 */
async function recover(rt: Runtime, at: TurnContext, failed: Extract<StepEnd, { kind: 'failed' }>): Promise<Ending> {
  const retry = await offer(rt, at, { ...failed, interrupted: false });
  if (at.signal.aborted) return endOfAbort(at.signal);
  return { end: endOfFailure(failed.failure, rt.clock.now()), retry };
}

/** True when an owner has repaired what it must and wants one retry turn. */
export async function offer(
  rt: Runtime,
  at: Omit<TurnContext, 'steered'>,
  failed: { readonly model: string; readonly failure: Failure; readonly interrupted: boolean },
): Promise<boolean> {
  const { turn, chain, signal } = at;
  const { model, failure, interrupted } = failed;
  if (signal.aborted) return false;
  const step = rt.log.state().open?.lastStep ?? 1;
  const payload = { turn, step, chain, signal, model, failure, classification: classify(failure), interrupted };
  try {
    const action: unknown = await rt.waterfalls.run('agent/request-error', Object.freeze(payload), () => undefined);
    return typeof action === 'object' && action !== null && 'kind' in action && action.kind === 'retry';
  } catch (error) {
    const data = { message: messageOf(error) };
    rt.log.add(sessionEvent('plugin.recorded', { turn, step, plugin: 'loop', kind: 'recovery-failed', data }));
    return false;
  }
}
