import { randomUUID } from 'node:crypto';
import type { ToolOutcome } from '../shell.ts';
import type { ToolCall } from '../voice.ts';
import { codexVersion, usageOf, type Line } from './lines.ts';
import type { Rollout } from './rollout.ts';

/** A window of a usage limit as Codex notes it; `resets_at` is epoch seconds. */
export interface LimitWindow {
  readonly used_percent: number;
  readonly window_minutes: number;
  readonly resets_at: number;
}

/** What one turn leaves in the rollout file. Shapes as in codex-cli 0.171.0, without what nobody reads. */
export class TurnFile {
  readonly #rollout: Rollout;
  readonly #thread: string;
  readonly #turn: string = randomUUID();
  readonly #before: { readonly input: number; readonly output: number };
  readonly #startedAt: number = seconds();

  constructor(rollout: Rollout, thread: string) {
    this.#rollout = rollout;
    this.#thread = thread;
    this.#before = rollout.usage();
  }

  /** The turn begins; calls that an earlier process left open are closed as aborted. */
  begin(model: string, sandbox: string): void {
    if (this.#rollout.lines().length === 0) this.#rollout.add('session_meta', sessionMeta(this.#thread));
    for (const call of this.#rollout.openCalls()) this.output(call, 'aborted');
    this.#event({
      type: 'task_started',
      turn_id: this.#turn,
      started_at: this.#startedAt,
      model_context_window: 272_000,
    });
    this.#rollout.add('turn_context', {
      turn_id: this.#turn,
      cwd: process.cwd(),
      approval_policy: 'never',
      model,
      sandbox_policy: { type: sandbox },
    });
  }

  prompt(text: string): void {
    this.#message('user', 'input_text', text);
    this.#item({ type: 'UserMessage', id: randomUUID(), content: [{ type: 'text', text, text_elements: [] }] });
  }

  agentText(text: string): void {
    this.#item({ type: 'AgentMessage', id: randomUUID(), content: [{ type: 'Text', text }] });
    this.#message('assistant', 'output_text', text);
  }

  call(call: ToolCall): void {
    const asked = JSON.stringify({ cmd: call.command });
    this.#rollout.add('response_item', {
      type: 'function_call',
      name: 'exec_command',
      arguments: asked,
      call_id: call.id,
    });
  }

  commandEnded(call: ToolCall, { code, stdout, stderr }: ToolOutcome): void {
    this.#item({
      type: 'CommandExecution',
      id: call.id,
      command: ['/bin/bash', '-lc', call.command],
      cwd: `file://${process.cwd()}`,
      status: code === 0 ? 'completed' : 'failed',
      aggregated_output: stdout + stderr,
      exit_code: code,
    });
  }

  output(call: string, output: string): void {
    this.#rollout.add('response_item', { type: 'function_call_output', call_id: call, output });
  }

  /** Tokens of the thread after `completed` messages of this process, and perhaps the window of a limit. */
  tokens(completed: number, primary: LimitWindow | null): void {
    const { input, output } = this.total(completed);
    const info = {
      total_token_usage: { ...usageOf(input, output), total_tokens: input + output },
      last_token_usage: { ...usageOf(100, 30), total_tokens: 130 },
      model_context_window: 272_000,
    };
    this.#event({ type: 'token_count', info, rate_limits: { limit_id: 'codex', primary, secondary: null } });
  }

  /** Tokens of the whole thread. */
  total(completed: number): { readonly input: number; readonly output: number } {
    return { input: this.#before.input + completed * 100, output: this.#before.output + completed * 30 };
  }

  complete(last: string | null, error?: Line): void {
    this.#event({
      type: 'task_complete',
      turn_id: this.#turn,
      last_agent_message: last,
      ...(error === undefined ? {} : { error }),
      started_at: this.#startedAt,
      completed_at: seconds(),
      duration_ms: 100,
    });
  }

  aborted(): void {
    this.#message(
      'user',
      'input_text',
      '<turn_aborted>\nThe user interrupted the previous turn on purpose.\n</turn_aborted>',
    );
    this.#event({ type: 'turn_aborted', turn_id: this.#turn, reason: 'interrupted' });
  }

  #event(payload: Line): void {
    this.#rollout.add('event_msg', payload);
  }

  #item(item: Line): void {
    this.#event({ type: 'item_completed', thread_id: this.#thread, turn_id: this.#turn, item });
  }

  #message(role: string, type: string, text: string): void {
    this.#rollout.add('response_item', { type: 'message', role, content: [{ type, text }] });
  }
}

/** What Codex tells the model about a command that has ended. */
export function outputText({ code, stdout, stderr }: ToolOutcome): string {
  return `Wall time: 0.0000 seconds\nProcess exited with code ${code}\nOutput:\n${stdout}${stderr}`;
}

const seconds = (): number => Math.floor(Date.now() / 1000);

function sessionMeta(thread: string): Line {
  return {
    id: thread,
    timestamp: new Date().toISOString(),
    cwd: process.cwd(),
    originator: 'codex_exec',
    cli_version: codexVersion,
    source: 'exec',
    model_provider: 'openai',
  };
}
