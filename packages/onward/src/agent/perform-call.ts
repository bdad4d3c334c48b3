import { assertNever } from '../kernel/error.ts';
import { findNonJson } from '../kernel/json.ts';
import { useAppend } from '../kernel/question.ts';
import { startDeadline } from './call-deadline.ts';
import { leftOver } from './close-turn.ts';
import { copyJson } from './copy-json.ts';
import { nameOf } from './effect-name.ts';
import { ledgerCall } from './ledger-call.ts';
import { messageOf, type PreparedCall } from './prepare-call.ts';
import type { Runtime, StepContext } from './runtime.ts';
import { type CallOutcome, sessionEvent } from './session-events.ts';
import type { ToolContext } from './tool.ts';
import { contextOf } from './tool-context.ts';

type Ready = Extract<PreparedCall, { readonly ok: true }>;

/** Puts the start of a call on record where it may have an effect; with `question`, its answer is used up by that. */
export async function recordStart(rt: Runtime, at: StepContext, ready: Ready, question?: string): Promise<void> {
  if (ready.entry.effect === 'none' && question === undefined) return;
  const { turn, step } = at;
  const named = nameOf(rt, ready);
  const key = named.kind === 'named' ? { key: named.key } : {};
  rt.log.add(sessionEvent('call.started', { turn, step, id: ready.call.id, ...key }));
  await rt.log.flush(question === undefined ? [] : [useAppend(question)]);
}

/**
 * Runs the body of a call: directly, or through the ledger. Never throws what the tool throws. `resumed`: it had begun in an
 * earlier process, so that nothing can be said of it but what the ledger finds.
 */
export async function performCall(rt: Runtime, at: StepContext, ready: Ready, resumed: boolean): Promise<CallOutcome> {
  const named = nameOf(rt, ready);
  switch (named.kind) {
    case 'unnamed':
      // Under a ledger it began, and the tool no longer has one: nothing here may begin it again.
      return resumed ? leftOver(true) : await plainCall(rt, at, ready);
    case 'bad':
      return resumed ? leftOver(true) : named.outcome;
    case 'named':
      return await ledgerCall(rt, at, { ...named, ready, resumed });
    default:
      return assertNever(named, 'the name of a call');
  }
}

/** A body is awaited, also after an abort: only its own deadline leaves one behind that listens to nothing. */
async function plainCall(rt: Runtime, at: StepContext, ready: Ready): Promise<CallOutcome> {
  const deadline = startDeadline(rt, at.signal, ready.entry.deadlineMs);
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
  } finally {
    deadline.end();
  }
}

/** What a tool returned, as it was at that moment: what it does to its objects afterwards changes no history. */
function outcomeOf(output: unknown, concluded: boolean): CallOutcome {
  const copy = copyJson(output ?? null);
  if (copy === undefined)
    return { ok: false, code: 'bad-output', message: `The tool ran, but its result is not JSON${placeOf(output)}.` };
  return { ok: true, output: copy, ...(concluded ? { conclude: true } : {}) };
}

function placeOf(output: unknown): string {
  try {
    const place = findNonJson(output);
    return place === undefined ? '' : ` at ${place.slice(0, 200).toWellFormed()}`;
  } catch {
    return '';
  }
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
