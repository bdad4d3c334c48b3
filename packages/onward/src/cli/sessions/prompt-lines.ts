import type { AgentEvent, CallOutcome } from '../../agent/index.ts';
import { assertNever } from '../../kernel/error.ts';
import { type Failure, failureChain } from '../../kernel/failure.ts';
import type { Json } from '../../kernel/json.ts';
import type { Io } from '../io.ts';
import { oneLine } from '../plain-text.ts';

/** The line for an event of a session; `undefined` for what is not worth one. */
export function promptLine(io: Io, event: AgentEvent): string | undefined {
  if (event.type === 'live.call') {
    const { state, tool, input } = event;
    return state === 'started' ? `${tool} ${oneLine(JSON.stringify(input), 200)}` : undefined;
  }
  if (event.type === 'call.finished') return outcomeLine(io, event.data.outcome);
  if (event.type === 'plugin.recorded' && event.data.kind === 'retry.scheduled')
    return io.color('yellow', retryLine(event.data.data));
  return undefined;
}

function outcomeLine(io: Io, outcome: CallOutcome): string | undefined {
  if (outcome.ok) return undefined;
  const text = `${outcome.code}: ${oneLine(outcome.message, 300)}`;
  switch (outcome.code) {
    case 'denied':
    case 'aborted':
    case 'aborted-before-dispatch':
    case 'not-started':
    case 'limit':
      return text;
    case 'tool-failed':
    case 'bad-output':
    case 'timeout':
    case 'rejected':
    case 'invalid-input':
    case 'unknown-tool':
    case 'refused':
    case 'outcome-unknown':
      return io.color('yellow', text);
    default:
      return assertNever(outcome.code, 'promptLine');
  }
}

/** `retry 1 of 5 in 0.5 s: overloaded (529)`. */
export function retryLine(data: Json): string {
  const { retry, max, delayMs, failure } = data as {
    readonly retry?: number;
    readonly max?: number;
    readonly delayMs?: number;
    readonly failure?: Failure;
  };
  const wait = ((delayMs ?? 0) / 1_000).toFixed(1).replace(/\.0$/, '');
  return `retry ${retry ?? '?'} of ${max ?? '?'} in ${wait} s: ${failure === undefined ? 'failed' : causeOf(failure)}`;
}

/** A failure in a few words, by its facts where it has some: `overloaded (529)`. */
function causeOf(failure: Failure): string {
  const words = failureChain(failure).map(({ type, category, code, process }) => type ?? category ?? code ?? process);
  const word = words.find((found) => found !== undefined);
  const { status, message } = failure;
  const name = word === undefined ? message.replace(/\.$/, '') : word.replace(/_error$/, '').replaceAll('_', ' ');
  // An answer that broke off had begun well: its status says nothing.
  return oneLine(status === undefined || status < 400 ? name : `${name} (${status})`, 100);
}
