import type { DeniedCall, Failure } from '../../../kernel/failure.ts';
import type { Ending, ProcessEnding } from '../../adapter.ts';
import { readBanner } from './banners.ts';
import { type ApiError, resultFailure } from './failure-facts.ts';
import type { Calls } from './calls.ts';
import type { Messages } from './messages.ts';
import { asShape, shapeAt, type Shape, shorten, textAt } from './shape.ts';
import { failedTask, type Tasks } from './tasks.ts';

/** What one attempt has said, when it is over. */
export interface Said {
  /** The last `result` line. */
  readonly result: Shape | undefined;
  /** The error that the CLI wrote last, unless it went on afterwards. */
  readonly error: ApiError | undefined;
  readonly sessionId: string | undefined;
  /** When a rejected usage limit ends, ms since the epoch. */
  readonly resetsAt: number | undefined;
  readonly messages: Messages;
  readonly tasks: Tasks;
  readonly calls: Calls;
  /** True once the session was announced: from then on standard error is not the CLI's own word any more. */
  readonly begun: boolean;
}

/** What an ending was, from all of its evidence: a `result` line that is coherent wins over how the process went. */
export function endingOf(said: Said, process: ProcessEnding): Ending {
  const failure = findFailure(said, process);
  if (failure === undefined) return { ok: true, text: answerOf(said.result) };
  const exit = process.exit === undefined || failure.exit !== undefined ? {} : { exit: process.exit };
  const answer = answerOf(said.result);
  // What it said is worth showing beside a denied call or a failed subagent; an error or half an answer is not.
  const told = answer !== '' && (failure.denied !== undefined || failure.type === 'subagent_killed');
  const denied = failure.denied === undefined && said.result !== undefined ? deniedCalls(said, said.result) : [];
  return {
    ok: false,
    failure: { ...failure, ...exit },
    ...(told ? { text: answer } : {}),
    ...(denied.length === 0 ? {} : { denied }),
  };
}

function findFailure(said: Said, process: ProcessEnding): Failure | undefined {
  const { result } = said;
  if (result === undefined) return withoutResult(said, process);
  const error = resultFailure(result, said.error, said.resetsAt);
  if (error?.type === 'session_not_found') return error;
  if (process.mode === 'resume' && process.sessionId !== undefined && said.sessionId !== undefined) {
    if (said.sessionId !== process.sessionId)
      return {
        message: `Claude Code went on in session ${said.sessionId} instead of ${process.sessionId}.`,
        type: 'session_changed',
      };
  }
  // A stop that Onward itself asked for is told by its own reason, not by the interrupt which carried it out.
  if (error?.type === 'interrupted' && process.failure !== undefined) return { ...process.failure };
  if (error !== undefined) return process.failure === undefined ? error : { ...error, cause: process.failure };
  return incoherent(said, result, process);
}

/** Reasons to doubt a `result` that claims success. A denied call comes last: with it alone the answer is whole. */
function incoherent(said: Said, result: Shape, process: ProcessEnding): Failure | undefined {
  const task = failedTask(said.tasks);
  if (task !== undefined)
    return { message: `A subagent did not finish its work: ${shorten(task, 200)}`, type: 'subagent_killed' };
  if (textAt(result, 'stop_reason') === 'tool_deferred') return denial(deniedCalls(said, result));
  const cut = cutAnswer(said, result);
  if (cut !== undefined) return cut;
  if (answerOf(result).trim() === '') return emptyAnswer(said, result);
  const code = process.exit?.code;
  // From 128 on it is a signal: the process was ended after it had said all. Below, the CLI itself disagrees.
  if (typeof code === 'number' && code > 0 && code < 128 && process.failure === undefined)
    return { message: `Claude Code printed an answer but ended with exit code ${code}.` };
  const denied = deniedCalls(said, result);
  return denied.length === 0 ? undefined : denial(denied);
}

function denial(denied: readonly DeniedCall[]): Failure {
  const tools = [...new Set(denied.map((call) => call.tool))].join(', ');
  return { message: `Claude Code was not allowed to use ${tools}.`, denied };
}

function emptyAnswer(said: Said, result: Shape): Failure {
  if (answeredByItself(said, result))
    return {
      message: 'Claude Code carried out this command by itself and said nothing: it is no task to keep going.',
      type: 'invalid_input',
    };
  return { message: 'The answer was empty.', type: 'empty_answer' };
}

/** A slash command that the CLI answers itself has neither a message of the model nor a reason for its end. */
function answeredByItself(said: Said, result: Shape): boolean {
  return said.messages.last === undefined && textAt(result, 'terminal_reason') === undefined;
}

/**
 * A stream that ends cleanly before its message does passes for success in the CLI: exit 0, part of the text. With
 * stream events the missing end of the message shows it; without them the stop reason, which is then absent or still
 * that of an earlier message.
 */
function cutAnswer(said: Said, result: Shape): Failure | undefined {
  const { last } = said.messages;
  if (answeredByItself(said, result)) return undefined;
  const message = 'The answer was cut off: its message never ended.';
  if (last?.streamed === true && !last.ended) return { message, type: 'cut_answer' };
  const stop = (last?.streamed === true ? last.stop : undefined) ?? textAt(result, 'stop_reason');
  switch (stop) {
    case 'end_turn':
    case 'stop_sequence':
      return undefined;
    case undefined:
      return { message, type: 'cut_answer' };
    case 'tool_use':
      return result['structured_output'] === undefined ? { message, type: 'cut_answer' } : undefined;
    default:
      return { message: `The model stopped early: ${stop}.`, stop };
  }
}

function withoutResult(said: Said, process: ProcessEnding): Failure {
  const cause = said.error === undefined ? {} : { cause: said.error.failure };
  if (process.failure !== undefined) return { ...process.failure, ...cause };
  const spoken = !said.begun ? firstLine(process.stderr) : undefined;
  const banner = spoken === undefined ? undefined : readBanner(spoken);
  if (spoken !== undefined && banner !== undefined)
    return {
      message: shorten(spoken, 500),
      ...(banner.type === undefined ? {} : { type: banner.type }),
      text: { class: banner.class, rule: banner.rule },
    };
  const how = spoken === undefined ? '' : ` Its last words: ${shorten(spoken, 300)}`;
  return { message: `Claude Code ended without a result.${how}`, process: 'ended-without-result', ...cause };
}

function firstLine(text: string): string | undefined {
  return text
    .split('\n')
    .map((line) => line.trim())
    .find((line) => line !== '' && !line.startsWith('Warning:'));
}

/** Tool calls that the user's own permission rules refused. */
function deniedCalls(said: Said, result: Shape): readonly DeniedCall[] {
  const denials = listed(result['permission_denials']);
  const foreign = denials.filter((entry) => !said.calls.refused(textAt(entry, 'tool_use_id')));
  const denied = foreign.map((entry) => {
    const input = shapeAt(entry, 'tool_input');
    const told = ['command', 'file_path', 'url', 'pattern', 'description'].map((field) => textAt(input, field));
    const summary = told.find((text) => text !== undefined) ?? JSON.stringify(input ?? {});
    return { tool: textAt(entry, 'tool_name') ?? 'unknown', summary: shorten(summary, 200) };
  });
  if (textAt(result, 'stop_reason') !== 'tool_deferred') return denied;
  const deferred = shapeAt(result, 'deferred_tool_use');
  return [...denied, { tool: textAt(deferred, 'name') ?? 'unknown', summary: 'put off by a hook' }];
}

/** What a list that must not be misread holds: whatever is no object in it, or no list at all, is an entry without fields. */
function listed(value: unknown): readonly Shape[] {
  if (value === undefined || value === null) return [];
  return (Array.isArray(value) ? value : [value]).map((item) => asShape(item) ?? {});
}

function answerOf(result: Shape | undefined): string {
  const text = textAt(result, 'result') ?? '';
  const structured = result?.['structured_output'];
  return text === '' && structured !== undefined && structured !== null ? JSON.stringify(structured) : text;
}
