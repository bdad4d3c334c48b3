import type { ToolOutcome } from '../shell.ts';
import type { Permission, ToolCall } from '../voice.ts';
import type { ClaudeArgs } from './args.ts';
import type { Control, HookAnswer } from './control.ts';
import type { Line } from './lines.ts';

/** What the gate tells a hook about its surroundings. */
export interface GateSetting {
  readonly session: string;
  /** Path of the session file. */
  readonly file: string;
  /** Denies what the command line does not allow. */
  readonly asFlags: boolean;
}

/** What stands between a tool call and the tool: hooks first, then the permissions of the command line. */
export class ToolGate {
  readonly #args: ClaudeArgs;
  readonly #setting: GateSetting;
  readonly #control: Control | undefined;

  constructor(args: ClaudeArgs, setting: GateSetting, control: Control | undefined) {
    this.#args = args;
    this.#setting = setting;
    this.#control = control;
  }

  /** Asks whether the tool may run. */
  async before(call: ToolCall, input: unknown): Promise<Permission> {
    const answers = await this.#hooks('PreToolUse', call, {});
    const refusal = answers.map(refusalOf).find((reason) => reason !== undefined);
    if (refusal !== undefined) return { allowed: false, message: refusal };
    const { permissionMode, allowedTools, permissionPromptTool } = this.#args;
    const listed = allowedTools.some((rule) => rule === call.name || rule.startsWith(`${call.name}(`));
    if (permissionMode === 'bypassPermissions' || listed) return { allowed: true };
    if (permissionPromptTool === 'stdio' && this.#control !== undefined) {
      const answer = await this.#control.mayUse(call.name, input, call.id);
      return answer.behavior === 'allow' ? { allowed: true } : { allowed: false, message: answer.message ?? 'Denied' };
    }
    return this.#setting.asFlags ? { allowed: false, message: notGranted(call.name) } : { allowed: true };
  }

  /** Tells the hooks how the tool ended, and waits for them. */
  async after(call: ToolCall, { code, stdout, stderr }: ToolOutcome): Promise<void> {
    if (code !== 0) {
      await this.#hooks('PostToolUseFailure', call, { error: `Exit code ${code}\n${stderr}`, is_interrupt: false });
      return;
    }
    const response = { stdout: stdout.trimEnd(), stderr: stderr.trimEnd(), interrupted: false, isImage: false };
    await this.#hooks('PostToolUse', call, { tool_response: response, duration_ms: 1 });
  }

  async #hooks(event: string, call: ToolCall, more: Line): Promise<readonly HookAnswer[]> {
    const input = {
      session_id: this.#setting.session,
      transcript_path: this.#setting.file,
      cwd: process.cwd(),
      permission_mode: this.#args.permissionMode,
      hook_event_name: event,
      tool_name: call.name,
      tool_input: { command: call.command, description: 'Run a command' },
      ...more,
      tool_use_id: call.id,
    };
    return (await this.#control?.hooks(event, call.name, input)) ?? [];
  }
}

/** What the model is told when nobody allowed a tool. */
export function notGranted(tool: string): string {
  return `Claude requested permissions to use ${tool}, but you haven't granted it yet.`;
}

/** `ask` closes the call too: with `-p` there is nobody to ask. */
function refusalOf(answer: HookAnswer): string | undefined {
  const { permissionDecision: decision, permissionDecisionReason: reason } = answer.hookSpecificOutput ?? {};
  if (decision === 'deny' || decision === 'ask') return reason ?? 'Denied by a hook';
  return answer.decision === 'block' ? (answer.reason ?? 'Blocked by a hook') : undefined;
}
