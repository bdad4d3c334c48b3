import type { Json } from '../../../kernel/json.ts';
import type { Observation } from '../../adapter.ts';
import { asNumber, asString, type JsonObject, shorten, toJson } from './json-shape.ts';

/** Longest recorded output of one call, in characters. */
export const outputLimit: number = 64 * 1024;

/** A tool call as an item of the stream shows it. */
export interface CallItem {
  readonly callId: string;
  readonly tool: string;
  readonly input: Json;
  readonly ok: boolean;
  readonly output: string;
}

/** Kinds of items that carry out something. */
const callTypes: ReadonlySet<string> = new Set([
  'command_execution',
  'file_change',
  'mcp_tool_call',
  'web_search',
  'collab_tool_call',
]);

/** Reads an item that is a tool call; `undefined` for messages, reasoning, lists and notices. */
export function readCall(item: JsonObject): CallItem | undefined {
  const type = asString(item['type']);
  const callId = asString(item['id']);
  if (type === undefined || callId === undefined || !callTypes.has(type)) return undefined;
  return { callId, tool: toolName(type, item), input: inputOf(type, item), ...resultOf(type, item) };
}

function toolName(type: string, item: JsonObject): string {
  const tool = asString(item['tool']);
  if (type === 'mcp_tool_call') return `mcp:${asString(item['server']) ?? '?'}/${tool ?? '?'}`;
  return type === 'collab_tool_call' && tool !== undefined ? `agent:${tool}` : type;
}

function inputOf(type: string, item: JsonObject): Json {
  switch (type) {
    case 'command_execution':
      return { command: asString(item['command']) ?? '' };
    case 'file_change':
      return { changes: toJson(item['changes']) };
    case 'mcp_tool_call':
      return toJson(item['arguments']);
    case 'web_search':
      return { query: asString(item['query']) ?? '' };
    default:
      return { prompt: asString(item['prompt']) ?? '' };
  }
}

function resultOf(type: string, item: JsonObject): { readonly ok: boolean; readonly output: string } {
  const status = asString(item['status']) ?? 'completed';
  const exit = asNumber(item['exit_code']);
  const ok = status === 'completed' && (exit === undefined || exit === 0);
  if (type === 'command_execution') {
    const note = exit === undefined ? `[${status}]` : `[exit code ${exit}]`;
    const output = shorten(asString(item['aggregated_output']) ?? '', outputLimit);
    return { ok, output: ok ? output : `${output}${output === '' || output.endsWith('\n') ? '' : '\n'}${note}` };
  }
  const said = item['error'] ?? item['result'] ?? (ok ? '' : status);
  return {
    ok,
    output: shorten(typeof said === 'string' ? said.toWellFormed() : JSON.stringify(toJson(said)), outputLimit),
  };
}

/** What the beginning of a call says to the coordinator. */
export function callStarted(call: CallItem): Observation {
  return { kind: 'call-started', callId: call.callId, tool: call.tool, input: call.input };
}

/** What the end of a call says to the coordinator. */
export function callFinished(call: CallItem): Observation {
  return { kind: 'call-finished', callId: call.callId, ok: call.ok, output: call.output };
}
