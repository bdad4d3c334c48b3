import type { Ending, Observation, ProcessEnding } from '../../../../src/supervisor/adapter.ts';
import { codexAdapter } from '../../../../src/supervisor/adapters/codex/index.ts';

/** Lines of a stream, as codex would print them. */
export const line = {
  thread: (id = 'thread-1'): string => JSON.stringify({ type: 'thread.started', thread_id: id }),
  turn: (): string => JSON.stringify({ type: 'turn.started' }),
  text: (text: string, id = 'item_1'): string =>
    JSON.stringify({ type: 'item.completed', item: { id, type: 'agent_message', text } }),
  error: (message: string): string => JSON.stringify({ type: 'error', message }),
  failed: (message: string): string => JSON.stringify({ type: 'turn.failed', error: { message } }),
  completed: (): string =>
    JSON.stringify({ type: 'turn.completed', usage: { input_tokens: 5, cached_input_tokens: 0, output_tokens: 2 } }),
  command: (event: 'started' | 'completed', more: object = {}): string =>
    JSON.stringify({
      type: `item.${event}`,
      item: {
        id: 'item_2',
        type: 'command_execution',
        command: 'make',
        aggregated_output: event === 'started' ? '' : 'made\n',
        exit_code: event === 'started' ? null : 0,
        status: event === 'started' ? 'in_progress' : 'completed',
        ...more,
      },
    }),
};

/** What one attempt showed and how it is judged. */
export interface Judged {
  readonly seen: readonly Observation[];
  readonly ending: Ending;
}

/** Plays lines into a fresh reader and ends the process with exit 0 unless said otherwise. */
export function play(lines: readonly string[], process: Partial<ProcessEnding> = {}): Judged {
  const reader = codexAdapter.reader();
  const seen = lines.flatMap((text) => reader.line(text));
  const ending = reader.ending({
    exit: { code: 0, signal: null },
    stderr: '',
    session: '',
    mode: 'create',
    ...process,
  });
  return { seen, ending };
}

/** A rollout file whose last turn ended with this error. */
export function rollout(message: string, info: unknown, limits?: object): string {
  const lines = [
    { type: 'event_msg', payload: { type: 'task_started' } },
    { type: 'turn_context', payload: { sandbox_policy: { type: 'read-only' } } },
    ...(limits === undefined ? [] : [{ type: 'event_msg', payload: { type: 'token_count', rate_limits: limits } }]),
    { type: 'event_msg', payload: { type: 'task_complete', error: { message, codex_error_info: info } } },
  ];
  return lines.map((value) => JSON.stringify(value)).join('\n');
}
