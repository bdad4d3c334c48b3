import { assertNever } from '../kernel/error.ts';
import type { Failure } from '../kernel/failure.ts';
import type { Usage } from '../models/model.ts';
import { changedHeader, configure, requestOf } from './build-request.ts';
import { deepFreeze } from './deep-freeze.ts';
import type { AnswerPart } from './assemble.ts';
import { type LimitHit, limitHit } from './limits.ts';
import { runCalls } from './run-calls.ts';
import { type RequestOutcome, runRequest } from './run-request.ts';
import type { Runtime, StepContext } from './runtime.ts';
import { sessionEvent } from './session-events.ts';
import { textOf } from './settlement.ts';

/** How a step ended. `again`: the model owes another answer. `failed`: its request did; the step is closed, on record. */
export type StepEnd =
  | { readonly kind: 'again' }
  | { readonly kind: 'rest'; readonly text: string }
  | { readonly kind: 'concluded' }
  | { readonly kind: 'aborted' }
  | { readonly kind: 'limit'; readonly hit: LimitHit }
  | { readonly kind: 'failed'; readonly model: string; readonly failure: Failure };

/** Commits everything staged, in the order in which it was accepted. True when some of it steers. */
export function commitStaged(rt: Runtime): boolean {
  const { staged } = rt.log.state();
  if (staged.length === 0) return false;
  const steered = staged.some(({ kind }) => kind === 'steer');
  rt.log.add(sessionEvent('input.committed', { items: staged.map(({ id }) => ({ id })) }));
  return steered;
}

/** One request and the calls it asks for. Throws what listeners before the request throw, and faults of the log. */
export async function runStep(rt: Runtime, at: StepContext): Promise<StepEnd> {
  const { turn, step, chain, signal } = at;
  const trigger = rt.log.state().open?.trigger ?? { kind: 'prompt', id: '' };
  await rt.waterfalls.run('agent/pre-step', Object.freeze({ turn, step, chain, signal, trigger }), () => undefined);
  if (signal.aborted) return { kind: 'aborted' };
  commitStaged(rt);
  const hit = limitHit(rt.limits, rt.log.state(), { for: 'request' });
  if (hit !== undefined) return { kind: 'limit', hit };
  const outcome = await request(rt, at);
  if (outcome === 'aborted') return { kind: 'aborted' };
  switch (outcome.kind) {
    case 'completed': {
      const { parts, finish, usage, requestId } = outcome.answer;
      addBlocks(rt, at, parts);
      const more = { ...usageField(usage), ...(requestId === undefined ? {} : { requestId }) };
      rt.log.add(sessionEvent('answer.completed', { turn, step, blocks: parts.length, finish, ...more }));
      rt.limits.within?.spend(rt.id, outcome.model, usage ?? {});
      return await runStepCalls(rt, at);
    }
    case 'failed': {
      const { failure, usage } = outcome;
      addBlocks(rt, at, outcome.parts);
      rt.log.add(sessionEvent('step.closed', { turn, step, outcome: 'failed', failure, ...usageField(usage) }));
      rt.limits.within?.spend(rt.id, outcome.model, usage ?? {});
      await rt.log.flush();
      return { kind: 'failed', model: outcome.model, failure };
    }
    case 'aborted':
      if (outcome.visible.length > 0)
        rt.log.add(sessionEvent('answer.interrupted', { turn, step, parts: outcome.visible }));
      rt.log.add(sessionEvent('step.closed', { turn, step, outcome: 'aborted', ...usageField(outcome.usage) }));
      rt.limits.within?.spend(rt.id, outcome.model, outcome.usage ?? {});
      return { kind: 'aborted' };
    default:
      return assertNever(outcome, 'the outcome of a request');
  }
}

/** The tool half of a step, from the calls that have no outcome yet to its close; also where a suspended turn goes on. */
export async function runStepCalls(rt: Runtime, at: StepContext): Promise<StepEnd> {
  const { turn, step, signal } = at;
  const open = rt.log.state().open?.step;
  const parts = open?.parts ?? [];
  const owes = (open?.calls.size ?? 0) > 0;
  const { concluded, limit } = owes ? await runCalls(rt, at) : { concluded: false, limit: undefined };
  const done = signal.aborted || concluded || limit !== undefined;
  const steered = done ? false : commitStaged(rt);
  rt.log.add(sessionEvent('step.closed', { turn, step, outcome: signal.aborted ? 'aborted' : 'completed' }));
  if (signal.aborted) return { kind: 'aborted' };
  if (limit !== undefined) return { kind: 'limit', hit: limit };
  if (concluded) return { kind: 'concluded' };
  return owes || steered ? { kind: 'again' } : { kind: 'rest', text: textOf(parts) };
}

type Requested = RequestOutcome & { readonly model: string };

/** Puts the request on record, then makes it. */
async function request(rt: Runtime, at: StepContext): Promise<Requested | 'aborted'> {
  const { turn, step, signal } = at;
  const { model, header } = await configure(rt, at);
  if (signal.aborted) return 'aborted';
  const state = rt.log.state();
  const counts = { messages: state.history.length, generation: state.generation };
  const changed = changedHeader(state.header, header);
  // As it is when it goes on record: the history may be replaced while that is being stored (A29).
  const asked = requestOf(state, changed ?? state.header ?? header);
  rt.log.add(sessionEvent('step.opened', { turn, step, model: model.id, ...counts }));
  if (changed !== undefined) rt.log.add(sessionEvent('header.set', changed));
  if (signal.aborted) return closeUnasked(rt, at);
  await rt.log.flush();
  if (signal.aborted) return closeUnasked(rt, at);
  let n = 0;
  const outcome = await runRequest({
    model,
    request: asked,
    signal,
    clock: rt.clock,
    watchdogs: rt.watchdogs,
    onPart(assembled) {
      if (assembled.kind === 'delta') {
        n += 1;
        const { block, of: kind, text } = assembled;
        rt.live({ type: 'live.delta', turn, step, block, kind, n, text });
      }
    },
  });
  return { ...outcome, model: model.id };
}

function addBlocks(rt: Runtime, at: StepContext, parts: readonly AnswerPart[]): void {
  const { turn, step } = at;
  for (const [block, part] of parts.entries())
    rt.log.add(sessionEvent('block.closed', { turn, step, block, part: deepFreeze(part) }));
}

function closeUnasked(rt: Runtime, at: StepContext): 'aborted' {
  rt.log.add(sessionEvent('step.closed', { turn: at.turn, step: at.step, outcome: 'aborted' }));
  return 'aborted';
}

function usageField(usage: Usage | undefined): { readonly usage?: Usage } {
  return usage === undefined ? {} : { usage };
}
