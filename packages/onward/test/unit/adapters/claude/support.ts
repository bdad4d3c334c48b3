import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { classify } from '../../../../src/kernel/classify.ts';
import type { Json } from '../../../../src/kernel/json.ts';
import type { Ending, Observation, ProcessEnding } from '../../../../src/supervisor/adapter.ts';
import { claudeAdapter } from '../../../../src/supervisor/adapters/claude/index.ts';

export interface Played {
  readonly observations: readonly Observation[];
  readonly ending: Ending;
  readonly target: string | undefined;
}

/** Reads lines (objects are turned into JSON) and then ends the process: exit 0 unless said. */
export function play(lines: readonly (string | Json)[], process: Partial<ProcessEnding> = {}): Played {
  const reader = claudeAdapter.reader();
  const observations = lines.flatMap((line) => reader.line(typeof line === 'string' ? line : JSON.stringify(line)));
  const ending = reader.ending({
    stderr: '',
    session: '',
    mode: 'create',
    exit: { code: 0, signal: null },
    ...process,
  });
  return { observations, ending, target: reader.target() };
}

/** Lines of a stream in `recorded/`. */
export function recorded(name: string): readonly string[] {
  return readFileSync(join(import.meta.dirname, 'recorded', `${name}.jsonl`), 'utf8').split('\n');
}

/** `success`, or the class of the failure. */
export function outcome(ending: Ending): string {
  return ending.ok ? 'success' : classify(ending.failure).class;
}

/** Observations of one kind. */
export function of<K extends Observation['kind']>(
  played: Played,
  kind: K,
): readonly Extract<Observation, { kind: K }>[] {
  return played.observations.filter((seen): seen is Extract<Observation, { kind: K }> => seen.kind === kind);
}

const session = 'b0d5af3f-aefa-4e59-ba13-4aa3b5ddf765';
let count = 0;

/** Lines as Claude Code writes them, with only what matters. */
export const say = {
  init: (id: string = session): Json => ({
    type: 'system',
    subtype: 'init',
    session_id: id,
    model: 'claude-sonnet-4-5',
    permissionMode: 'default',
    claude_code_version: '2.1.197',
  }),
  text: (text: string, id: string = `msg_${++count}`): Json => ({
    type: 'assistant',
    message: { id, model: 'claude-sonnet-4-5', stop_reason: null, content: [{ type: 'text', text }] },
    parent_tool_use_id: null,
    session_id: session,
  }),
  call: (callId: string, tool: string, input: Json, parent: string | null = null): Json => ({
    type: 'assistant',
    message: {
      id: `msg_${++count}`,
      model: 'claude-sonnet-4-5',
      stop_reason: null,
      content: [{ type: 'tool_use', id: callId, name: tool, input }],
    },
    parent_tool_use_id: parent,
    session_id: session,
  }),
  returned: (callId: string, content: Json, isError: boolean = false): Json => ({
    type: 'user',
    message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: callId, content, is_error: isError }] },
    parent_tool_use_id: null,
    session_id: session,
  }),
  error: (category: string, text: string): Json => ({
    type: 'assistant',
    message: {
      id: `err_${++count}`,
      model: '<synthetic>',
      stop_reason: 'stop_sequence',
      content: [{ type: 'text', text }],
    },
    error: category,
    parent_tool_use_id: null,
    session_id: session,
  }),
  retry: (attempt: number, status: number | null, category: string): Json => ({
    type: 'system',
    subtype: 'api_retry',
    attempt,
    max_retries: 3,
    retry_delay_ms: 500 * attempt,
    error_status: status,
    error: category,
    session_id: session,
  }),
  event: (event: Json, parent: string | null = null): Json => ({
    type: 'stream_event',
    event,
    parent_tool_use_id: parent,
    session_id: session,
  }),
  /** The beginning of a streamed message, and its end. */
  streamed: (id: string): readonly Json[] => [
    say.event({ type: 'message_start', message: { id, usage: { input_tokens: 10 } } }),
  ],
  ended: (): readonly Json[] => [
    say.event({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 7 } }),
    say.event({ type: 'message_stop' }),
  ],
  result: (fields: { readonly [key: string]: Json } = {}): Json => ({
    type: 'result',
    subtype: 'success',
    is_error: false,
    api_error_status: null,
    result: 'All is done.',
    stop_reason: 'end_turn',
    terminal_reason: 'completed',
    permission_denials: [],
    session_id: session,
    ...fields,
  }),
  failed: (text: string, status: number | null): Json =>
    say.result({ is_error: true, api_error_status: status, result: text, stop_reason: 'stop_sequence' }),
} as const;
