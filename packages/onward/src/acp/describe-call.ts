import { isAbsolute, join } from 'node:path';
import type { ToolCall, ToolCallContent, ToolCallUpdate, ToolKind } from '@agentclientprotocol/sdk';
import type { CallOutcome } from '../agent/index.ts';
import type { Json } from '../kernel/json.ts';

/** A call as the log names it: its own id is unique only within its step. */
export interface CallRef {
  readonly turn: number;
  readonly step: number;
  readonly id: string;
}

/** The id of a call for the client, unique in the session. */
export function toolCallId({ turn, step, id }: CallRef): string {
  return `${turn}.${step}.${id}`;
}

const kinds: Readonly<Record<string, ToolKind>> = {
  read: 'read',
  write: 'edit',
  edit: 'edit',
  search: 'search',
  shell: 'execute',
  propose_plan: 'switch_mode',
};

/** Longest title, and longest text of a result that is shown; characters. */
const LONGEST_TITLE = 120;
const LONGEST_RESULT = 20_000;

/** A call that the client has not heard of yet. */
export function describeCall(
  ref: CallRef,
  call: { readonly tool: string; readonly input: Json },
  cwd: string,
): ToolCall {
  const path = field(call.input, 'path');
  const about = field(call.input, 'command') ?? field(call.input, 'pattern') ?? path;
  const diff = diffOf(call, cwd);
  const title = about === undefined ? call.tool : `${call.tool} ${about.replaceAll(/\s+/g, ' ')}`;
  return {
    toolCallId: toolCallId(ref),
    title: title.slice(0, LONGEST_TITLE).toWellFormed(),
    name: call.tool,
    kind: kinds[call.tool] ?? 'other',
    status: 'pending',
    rawInput: call.input,
    ...(path === undefined || path === '' ? {} : { locations: [{ path: placed(path, cwd) }] }),
    ...(diff === undefined ? {} : { content: [diff] }),
  };
}

/** What a call changes, where its input says so; an editor shows it better than a result can. */
export function diffOf(
  { tool, input }: { readonly tool: string; readonly input: Json },
  cwd: string,
): ToolCallContent | undefined {
  const path = field(input, 'path');
  const newText = field(input, tool === 'edit' ? 'new' : 'text');
  const oldText = tool === 'edit' ? field(input, 'old') : null;
  if ((tool !== 'edit' && tool !== 'write') || path === undefined) return undefined;
  if (newText === undefined || oldText === undefined) return undefined;
  return { type: 'diff', path: placed(path, cwd), oldText, newText };
}

function placed(path: string, cwd: string): string {
  return isAbsolute(path) ? path : join(cwd, path);
}

/** How a call ended. `keep`: what is shown of it already says more than its result. */
export function describeOutcome(ref: CallRef, outcome: CallOutcome, keep = false): ToolCallUpdate {
  if (keep && outcome.ok) return { toolCallId: toolCallId(ref), status: 'completed' };
  const text = outcome.ok ? asText(outcome.output) : `${outcome.message} (${outcome.code})`;
  const shown = text.length > LONGEST_RESULT ? `${text.slice(0, LONGEST_RESULT).toWellFormed()} [...]` : text;
  return {
    toolCallId: toolCallId(ref),
    status: outcome.ok ? 'completed' : 'failed',
    content: [{ type: 'content', content: { type: 'text', text: shown } }],
    ...(outcome.ok && typeof outcome.output !== 'string' && text.length <= LONGEST_RESULT
      ? { rawOutput: outcome.output }
      : {}),
  };
}

function asText(output: Json): string {
  return typeof output === 'string' ? output : JSON.stringify(output);
}

function field(input: Json, name: string): string | undefined {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return undefined;
  const value = (input as { readonly [key: string]: Json })[name];
  return typeof value === 'string' ? value : undefined;
}
