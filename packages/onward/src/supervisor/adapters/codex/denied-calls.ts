import type { DeniedCall } from '../../../kernel/failure.ts';
import { asObject, asString, type JsonObject, parseObject, shorten } from './json-shape.ts';

/** One line of a rollout file: its kind and what it holds. */
export interface RolloutLine {
  readonly type: string;
  readonly payload: JsonObject;
}

/** A call of the model, and what became of it. */
interface Call {
  readonly tool: string;
  readonly summary: string;
  /** Mode of the turn; `undefined` when that line is not in the tail. */
  readonly sandbox: string | undefined;
  /** Status of the item that codex keeps of a command or patch that it carried out. */
  item?: string;
  answer?: string;
}

/** Tools of codex whose answers are its own words, or a command's output under its own header. */
const ownTools: ReadonlySet<string> = new Set(['exec_command', 'shell', 'shell_command', 'local_shell', 'apply_patch']);

/** Answers in which codex itself says that it did not carry out the call (0.171). Output of a command never begins so. */
const refusals: readonly RegExp[] = [
  /^patch rejected: /,
  /^approval policy is Never; reject command\b/,
  /^exec_command failed: CreateProcess \{ message: "Rejected\(/,
];

/** The header that codex puts before the output of a command that ended. */
const ended = /^(?:Chunk ID: \S+\n)?Wall time: [^\n]*\nProcess exited with code (?<code>-?\d+)\n/;

/** A write that the sandbox stopped, as shells and languages print it: `x: Read-only file system`, `[Errno 1] Operation ...`. */
const stopped = /[:\]] (?:read-only file system|operation not permitted)\b/i;

/** The sandbox itself could not start, so nothing ran at all. */
const noSandbox = /\nOutput:\n\s*(?:bwrap: |thread 'main' \(\d+\) panicked at linux-sandbox\/)/;

/**
 * Calls that the sandbox or the rules stopped. Standard output of `codex exec --json` does not show them at all: the run ends
 * with exit 0 and `turn.completed`. In the session file such a command has a call and an answer with a non-zero exit code,
 * but no `CommandExecution` item: codex leaves that out exactly when it takes the failure for the sandbox's. It decides so by
 * words anywhere in the output ("sandbox" is enough), therefore the error of the operating system is asked for as well.
 */
export function deniedCalls(lines: readonly RolloutLine[]): readonly DeniedCall[] {
  const calls = readCalls(lines);
  const denied = calls.filter(wasDenied);
  // The very same command went through: a later turn had the permission, or the model asked again without escalation.
  const done = new Set(calls.filter((call) => call.item === 'completed').map((call) => call.summary));
  return denied.filter((call) => !done.has(call.summary)).map(({ tool, summary }) => ({ tool, summary }));
}

function wasDenied(call: Call): boolean {
  if (call.item !== undefined) return call.item === 'declined';
  const answer = call.answer ?? '';
  if (refusals.some((refusal) => refusal.test(answer))) return true;
  if (call.sandbox === 'danger-full-access') return false;
  const code = ended.exec(answer)?.groups?.['code'];
  return code !== undefined && code !== '0' && (stopped.test(answer) || noSandbox.test(answer));
}

function readCalls(lines: readonly RolloutLine[]): readonly Call[] {
  const calls: Call[] = [];
  const byId = new Map<string, Call>();
  let sandbox: string | undefined;
  for (const { type, payload } of lines) {
    if (type === 'turn_context') sandbox = asString(asObject(payload['sandbox_policy'])?.['type']);
    const id = asString(payload['call_id']);
    const call = readCall(payload, sandbox);
    if (call !== undefined && id !== undefined) {
      calls.push(call);
      byId.set(id, call);
    }
    const answer = readAnswer(payload);
    const answered = byId.get(id ?? '');
    if (answer !== undefined && answered !== undefined) answered.answer = answer;
    const item = payload['type'] === 'item_completed' ? asObject(payload['item']) : undefined;
    const kept = byId.get(asString(item?.['id']) ?? '');
    if (kept !== undefined) kept.item = asString(item?.['status']) ?? '';
  }
  return calls;
}

function readCall(payload: JsonObject, sandbox: string | undefined): Call | undefined {
  const type = payload['type'];
  const tool = asString(payload['name']);
  if ((type !== 'function_call' && type !== 'custom_tool_call') || tool === undefined) return undefined;
  if (!ownTools.has(tool)) return undefined;
  const input = asString(payload['arguments']) ?? asString(payload['input']) ?? '';
  const command = asString(parseObject(input)?.['cmd']) ?? input;
  return { tool, summary: shorten(command, 200), sandbox };
}

function readAnswer(payload: JsonObject): string | undefined {
  const type = payload['type'];
  return type === 'function_call_output' || type === 'custom_tool_call_output'
    ? asString(payload['output'])
    : undefined;
}
