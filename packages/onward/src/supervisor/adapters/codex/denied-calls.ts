import type { DeniedCall } from '../../../kernel/failure.ts';
import { asObject, asString, type JsonObject, parseObject, shorten } from './json-shape.ts';

/** One line of a rollout file: its kind and what it holds. */
export interface RolloutLine {
  readonly type: string;
  readonly payload: JsonObject;
}

/** Tools of codex whose answers are its own words or a command's output under its own header. */
const ownTools: ReadonlySet<string> = new Set(['exec_command', 'shell', 'shell_command', 'local_shell', 'apply_patch']);

/** Answers in which codex itself says that it did not carry out the call (0.171); a command's output has a header first. */
const refusals: readonly RegExp[] = [
  /^patch rejected: /,
  /^approval policy is Never; reject command\b/,
  /^(?:`[^`]*`|command) rejected: /,
  /^exec_command failed[^\n]*\brejected\b/i,
];

/** The header that codex puts before the output of a command that ended. */
const ended = /^(?:Chunk ID: \S+\n)?Wall time: [^\n]*\nProcess exited with code (?<code>-?\d+)\n/;

/** What the operating system says when a sandbox stops a write; at the end of a line, as every program prints it. */
const stopped = /: (?:Read-only file system|Operation not permitted)$/m;
const stoppedInReadOnly = /: (?:Read-only file system|Operation not permitted|Permission denied)$/m;
const notExecutable = 126;

/**
 * Calls of one turn that the sandbox or the approval rules stopped. Standard output of `codex exec --json` does not show them
 * at all: the run ends with exit 0 and `turn.completed`. In the session file such a command has a call and an answer with a
 * non-zero exit code, but no `CommandExecution` item: codex leaves that out exactly when it takes the failure for the sandbox's.
 * Since it decides that by words anywhere in the output, the error of the operating system is asked for as well.
 */
export function deniedCalls(turn: readonly RolloutLine[]): readonly DeniedCall[] {
  const sandbox = sandboxOf(turn);
  if (sandbox === 'danger-full-access') return [];
  const items = new Map(turn.flatMap(itemOf));
  const answers = new Map(turn.flatMap(answerOf));
  const calls = turn.flatMap(callOf);
  const done = new Set(calls.filter((call) => items.get(call.id) === 'completed').map((call) => call.summary));
  const denied = calls.filter((call) => {
    if (items.get(call.id) === 'declined') return true;
    return !items.has(call.id) && saysDenied(answers.get(call.id) ?? '', sandbox);
  });
  // The very same command went through later: the model found a way that the rules allow.
  return denied.filter((call) => !done.has(call.summary)).map(({ tool, summary }) => ({ tool, summary }));
}

function saysDenied(answer: string, sandbox: string | undefined): boolean {
  if (refusals.some((refusal) => refusal.test(answer))) return true;
  const code = Number(ended.exec(answer)?.groups?.['code'] ?? 0);
  if (code === 0) return false;
  return (sandbox === 'read-only' && code !== notExecutable ? stoppedInReadOnly : stopped).test(answer);
}

/** Mode that the turn ran with; `undefined` when the line is not in the tail. */
function sandboxOf(turn: readonly RolloutLine[]): string | undefined {
  const context = turn.findLast((line) => line.type === 'turn_context');
  return asString(asObject(context?.payload['sandbox_policy'])?.['type']);
}

/** Items of finished commands and patches, by the id of their call. */
function itemOf(line: RolloutLine): [string, string][] {
  const item = line.payload['type'] === 'item_completed' ? asObject(line.payload['item']) : undefined;
  const id = asString(item?.['id']);
  return id === undefined ? [] : [[id, asString(item?.['status']) ?? '']];
}

function answerOf(line: RolloutLine): [string, string][] {
  const type = line.payload['type'];
  if (type !== 'function_call_output' && type !== 'custom_tool_call_output') return [];
  const id = asString(line.payload['call_id']);
  const output = asString(line.payload['output']);
  return id === undefined || output === undefined ? [] : [[id, output]];
}

function callOf(line: RolloutLine): { id: string; tool: string; summary: string }[] {
  const type = line.payload['type'];
  if (type !== 'function_call' && type !== 'custom_tool_call') return [];
  const id = asString(line.payload['call_id']);
  const tool = asString(line.payload['name']);
  if (id === undefined || tool === undefined || !ownTools.has(tool)) return [];
  const input = asString(line.payload['arguments']) ?? asString(line.payload['input']) ?? '';
  const command = asString(parseObject(input)?.['cmd']) ?? input;
  return [{ id, tool, summary: shorten(command, 200) }];
}
