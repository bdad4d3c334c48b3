import { assertNever } from '../kernel/error.ts';
import { useAppend } from '../kernel/question.ts';
import type { Signal } from '../kernel/signal.ts';
import { findNonJson, type Json } from '../kernel/json.ts';
import type { EffectName, EffectOutcome } from '../effects/effect.ts';
import { awaitAnswer, openQuestion } from './ask-question.ts';
import { messageOf, type PreparedCall } from './prepare-call.ts';
import type { Runtime, StepContext } from './runtime.ts';
import { type CallOutcome, sessionEvent } from './session-events.ts';
import type { DeclaredEffect, ToolContext } from './tool.ts';
import { limitHit } from './limits.ts';

type Ready = Extract<PreparedCall, { readonly ok: true }>;

/** Puts the start of a call on record where it may have an effect; with `question`, its answer is used up by that. */
export async function recordStart(rt: Runtime, at: StepContext, ready: Ready, question?: string): Promise<void> {
  if (ready.entry.effect === 'none' && question === undefined) return;
  const { turn, step } = at;
  const key = declared(ready) === undefined ? {} : { key: rt.ledger.keyOf(nameOf(rt, ready)) };
  rt.log.add(sessionEvent('call.started', { turn, step, id: ready.call.id, ...key }));
  await rt.log.flush(question === undefined ? [] : [useAppend(question)]);
}

/** Runs the body of a call: directly, or through the ledger. Never throws what the tool throws. */
export async function performCall(rt: Runtime, at: StepContext, ready: Ready): Promise<CallOutcome> {
  const deadline = startDeadline(rt, at.signal, ready.entry.deadlineMs);
  try {
    const effect = declared(ready);
    const outcome =
      effect === undefined
        ? await plainCall(rt, ready, deadline)
        : await ledgerCall(rt, at, { ready, effect, deadline });
    return outcome;
  } finally {
    deadline.end();
  }
}

function declared(ready: Ready): DeclaredEffect<unknown> | undefined {
  return typeof ready.entry.effect === 'object' ? ready.entry.effect : undefined;
}

interface Deadline {
  readonly signal: Signal;
  /** Resolves when the time is up, with a moment more for a body that listens. */
  readonly late: Promise<'late'>;
  passed(): boolean;
  end(): void;
}

/** What a body that was told to stop gets to do so, ms. */
const graceMs = 2_000;

function startDeadline(rt: Runtime, turn: Signal, ms: number): Deadline {
  const own = new AbortController();
  const over = new AbortController();
  let passed = false;
  const stop = (): void => own.abort(turn.reason);
  if (turn.aborted) stop();
  turn.addEventListener('abort', stop, { once: true });
  const late = (async (): Promise<'late'> => {
    if (ms === 0) return await new Promise(() => undefined);
    await rt.clock.sleep(ms, over.signal);
    if (over.signal.aborted) return await new Promise(() => undefined);
    passed = true;
    own.abort(new Error(`The tool had ${ms} ms.`));
    await rt.clock.sleep(graceMs, over.signal);
    return 'late';
  })();
  return {
    signal: own.signal,
    late,
    passed: () => passed,
    end() {
      over.abort();
      turn.removeEventListener('abort', stop);
    },
  };
}

/** A body is awaited, also after an abort: only its own deadline leaves one behind that listens to nothing. */
async function plainCall(rt: Runtime, ready: Ready, deadline: Deadline): Promise<CallOutcome> {
  let concluded = false;
  const context = contextOf(rt, ready, { signal: deadline.signal, conclude: () => (concluded = true) });
  const body = (async (): Promise<CallOutcome> => {
    const output = await (ready.entry.tool.run as (input: unknown, context: ToolContext) => unknown)(
      ready.input,
      context,
    );
    return outcomeOf(output, concluded);
  })();
  try {
    const first = await Promise.race([body, deadline.late]);
    if (first !== 'late') return first;
    body.catch(() => undefined);
    return timeout(ready);
  } catch (error) {
    if (deadline.passed()) return timeout(ready);
    const [code, hint] = deadline.signal.aborted
      ? (['aborted', ' It was cancelled.'] as const)
      : (['tool-failed', ''] as const);
    return { ok: false, code, message: `${messageOf(error)}${hint}${maybeDone(ready)}` };
  }
}

function contextOf(
  rt: Runtime,
  ready: Ready,
  own: { readonly signal: Signal; readonly conclude: () => void; readonly key?: string },
): ToolContext {
  return {
    session: rt.id,
    callId: ready.call.id,
    signal: own.signal,
    conclude: own.conclude,
    ...(own.key === undefined ? {} : { key: own.key }),
    allowance: {
      exhausted: () => limitHit(rt.limits, rt.log.state(), { for: 'request' }),
      spend(who, model, usage) {
        rt.log.add(sessionEvent('aside.finished', { plugin: 'allowance', purpose: who, model, usage }));
        rt.limits.within?.spend(who, model, usage);
      },
    },
  };
}

function outcomeOf(output: unknown, concluded: boolean): CallOutcome {
  const value = output === undefined ? null : output;
  const place = findNonJson(value);
  if (place !== undefined)
    return { ok: false, code: 'bad-output', message: `The tool ran, but its result is not JSON at ${place}.` };
  return { ok: true, output: value as Json, ...(concluded ? { conclude: true } : {}) };
}

function timeout(ready: Ready): CallOutcome {
  return {
    ok: false,
    code: 'timeout',
    message: `The tool did not end within ${ready.entry.deadlineMs} ms.${maybeDone(ready)}`,
  };
}

function maybeDone(ready: Ready): string {
  return ready.entry.effect === 'none' ? '' : ' It may have had its effect: verify before doing it again.';
}

/** How often a key that another attempt has in flight is looked at, ms. */
const inFlightMs = 1_000;

async function ledgerCall(
  rt: Runtime,
  at: StepContext,
  one: { readonly ready: Ready; readonly effect: DeclaredEffect<unknown>; readonly deadline: Deadline },
): Promise<CallOutcome> {
  const { ready, effect, deadline } = one;
  let concluded = false;
  const { run } = ready.entry.tool as { run: (input: unknown, context: ToolContext) => Promise<Json> | Json };
  const calls = {
    payload: ready.call.input,
    call: async (key: string, signal: Signal): Promise<Json> =>
      await Promise.race([
        (async () =>
          (await run(ready.input, contextOf(rt, ready, { signal, key, conclude: () => (concluded = true) }))) ??
          null)(),
        deadline.late.then(() => {
          throw new Error(`The tool did not end within ${ready.entry.deadlineMs} ms.`);
        }),
      ]),
    ...(effect.lookup === undefined
      ? {}
      : { lookup: (key: string, signal: Signal) => effect.lookup?.(key, ready.input, signal) as never }),
    ...(effect.settleMs === undefined ? {} : { settleMs: effect.settleMs }),
    ...(effect.keyLifetimeMs === undefined ? {} : { keyLifetimeMs: effect.keyLifetimeMs }),
    ...(effect.mayAnswer === undefined ? {} : { mayAnswer: effect.mayAnswer }),
  };
  const { stream, epoch } = rt.log.lease;
  const caller = { owner: stream, fence: () => ({ stream, expected: 'any' as const, epoch, events: [] }) };
  for (;;) {
    // oxlint-disable-next-line no-await-in-loop -- a run, then perhaps a wait for its answer, then a run again
    const outcome = await rt.ledger.run(nameOf(rt, ready), calls, caller, deadline.signal);
    // oxlint-disable-next-line no-await-in-loop
    const next = await afterRun(rt, at, { ready, outcome, concluded });
    if (next !== 'again') return next;
  }
}

async function afterRun(
  rt: Runtime,
  at: StepContext,
  one: { readonly ready: Ready; readonly outcome: EffectOutcome; readonly concluded: boolean },
): Promise<CallOutcome | 'again'> {
  const { outcome } = one;
  switch (outcome.kind) {
    case 'accepted':
      return {
        ok: true,
        output: outcome.receipt,
        ...(one.concluded ? { conclude: true } : {}),
        ...(outcome.repeated ? { repeated: true } : {}),
      };
    case 'rejected':
      return { ok: false, code: 'rejected', message: outcome.failure.message };
    case 'refused':
      return { ok: false, code: outcome.because === 'aborted' ? 'aborted' : 'refused', message: outcome.message };
    case 'in-flight':
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

function unknown(why: string): CallOutcome {
  return { ok: false, code: 'outcome-unknown', message: `Nobody knows whether it happened: ${why}.` };
}

/** The name of a call's effect. Earlier calls of the same identity count when their receipts can be seen by the model. */
function nameOf(rt: Runtime, ready: Ready): EffectName {
  const effect = declared(ready) ?? {};
  const action = effect.action ?? ready.call.tool;
  const identity = effect.identity === undefined ? ready.call.input : effect.identity(ready.input);
  return {
    scope: effect.scope === 'journal' ? 'journal' : rt.id,
    action,
    identity,
    occurrence: seenBefore(rt, ready, JSON.stringify(identity)),
    ...(effect.resource === undefined ? {} : { resource: effect.resource(ready.input) }),
  };
}

function seenBefore(rt: Runtime, ready: Ready, identity: string): number {
  const effect = declared(ready) ?? {};
  const done = new Set<string>();
  let count = 0;
  const { history } = rt.log.state();
  for (let index = history.length - 1; index >= 0; index--) {
    const message = history[index];
    if (message?.role === 'tool') for (const part of message.content) if (part.isError !== true) done.add(part.id);
    if (message?.role !== 'assistant') continue;
    for (const part of message.content) {
      if (part.type !== 'call' || part.tool !== ready.call.tool || !done.has(part.id)) continue;
      // The schema may have changed the input (defaults, trimming): the identity is of what the tool was given then.
      if (JSON.stringify(identityOf(effect, part.input)) === identity) count += 1;
    }
    done.clear();
  }
  return count;
}

function identityOf(effect: DeclaredEffect<unknown>, input: Json): Json {
  try {
    return effect.identity === undefined ? input : effect.identity(input);
  } catch {
    return null;
  }
}
