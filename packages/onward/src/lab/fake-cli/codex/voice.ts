import { codexFailures, type FailureName } from '../failures.ts';
import type { FailStep, SessionDamage } from '../play.ts';
import type { ToolOutcome } from '../shell.ts';
import { CliExit, type Interruption, type Permission, type Stage, type ToolCall, type Voice } from '../voice.ts';
import type { CodexArgs } from './args.ts';
import { codexVersion, commandItem, usageOf, type Line } from './lines.ts';
import type { Rollout } from './rollout.ts';

/** Codex as it speaks: little on its output, the rest in its rollout file. */
export class CodexVoice implements Voice {
  readonly session: string;
  readonly #stage: Stage;
  readonly #args: CodexArgs;
  readonly #rollout: Rollout;
  #prompt: Promise<string> | undefined;
  #promptText = '';
  #promptSaved = false;
  #lastText: string | null = null;
  #items = 0;
  #requests = 0;
  readonly #itemIds = new Map<string, string>();
  /** Outputs of calls whose message is still open; they are on disk once it ends. */
  #unsaved: Line[] = [];
  readonly #before: { readonly input: number; readonly output: number };

  constructor(stage: Stage, args: CodexArgs, rollout: Rollout, session: string) {
    this.#stage = stage;
    this.#args = args;
    this.#rollout = rollout;
    this.session = session;
    this.#before = rollout.usage();
  }

  prompt(): Promise<string> {
    this.#prompt ??= this.#wholePrompt();
    return this.#prompt;
  }

  async #wholePrompt(): Promise<string> {
    const given = this.#args.prompt === '-' ? undefined : this.#args.prompt;
    if (given !== undefined && !process.stdin.isTTY)
      this.#stage.output.error('Reading additional input from stdin...\n');
    const piped = process.stdin.isTTY ? '' : (await this.#stage.input.all()).trim();
    const text = given === undefined ? piped : piped === '' ? given : `${given}\n\n<stdin>\n${piped}\n</stdin>`;
    if (text === '') throw new CliExit(1, 'No prompt provided via stdin.\n');
    this.#stage.state.add({ event: 'prompt', text });
    this.#promptText = text;
    return text;
  }

  /** A new thread is on disk from here on; so is the first line of a resumed one. */
  opening(): void {
    this.#say({ type: 'thread.started', thread_id: this.session });
    if (this.#rollout.lines().length === 0) {
      this.#rollout.add('session_meta', {
        id: this.session,
        timestamp: new Date().toISOString(),
        cwd: process.cwd(),
        originator: 'codex_exec',
        cli_version: codexVersion,
        source: 'exec',
        model_provider: 'openai',
      });
    }
    for (const call of this.#rollout.openCalls()) this.#output(call, 'aborted');
    this.#rollout.add('event_msg', { type: 'task_started', model_context_window: 272_000 });
    this.#rollout.add('turn_context', {
      cwd: process.cwd(),
      model: this.#args.model,
      sandbox_policy: { type: this.#args.sandbox },
    });
    this.#say({ type: 'turn.started' });
  }

  async nextPrompt(): Promise<void> {
    throw new Error('codex exec takes one prompt for each process.');
  }

  visible(): string {
    return [this.#rollout.visible(), JSON.stringify(this.#unsaved), this.#promptText].join('\n');
  }

  request(): void {
    this.endMessage();
    this.#requests++;
    this.#stage.state.add({ event: 'request' });
    if (this.#promptSaved) return;
    this.#promptSaved = true;
    this.#rollout.add('response_item', message('user', 'input_text', this.#promptText));
    this.#rollout.add('event_msg', { type: 'user_message', message: this.#promptText });
  }

  text(text: string): void {
    this.#inRequest();
    this.#lastText = text;
    this.#say({ type: 'item.completed', item: { id: this.#nextItem(), type: 'agent_message', text } });
    this.#rollout.add('response_item', message('assistant', 'output_text', text));
  }

  delta(): void {
    this.#inRequest();
  }

  endMessage(): void {
    for (const item of this.#unsaved.splice(0)) this.#rollout.add('response_item', item);
    if (this.#requests > 0) this.#tokens(null);
  }

  async toolCalled(call: ToolCall): Promise<Permission> {
    this.#inRequest();
    this.#call(call);
    if (call.window === 'ended') this.endMessage();
    if (this.#stage.asFlags && this.#args.sandbox === 'read-only')
      return { allowed: false, message: 'Read-only file system' };
    this.#itemIds.set(call.id, this.#nextItem());
    this.#say({ type: 'item.started', item: commandItem(this.#itemIds.get(call.id) ?? '', call.command) });
    return { allowed: true };
  }

  #call(call: ToolCall): void {
    this.#rollout.add('response_item', {
      type: 'function_call',
      name: 'exec_command',
      arguments: JSON.stringify({ cmd: call.command }),
      call_id: call.id,
    });
  }

  async toolEnded(call: ToolCall, outcome: ToolOutcome): Promise<void> {
    const output = outcome.stdout + outcome.stderr;
    const item = commandItem(this.#itemIds.get(call.id) ?? '', call.command, { output, code: outcome.code });
    this.#say({ type: 'item.completed', item });
    const text = `Process exited with code ${outcome.code}\nOutput:\n${output}`;
    if (call.window === 'ended') this.#output(call.id, text);
    else this.#unsaved.push({ type: 'function_call_output', call_id: call.id, output: text });
  }

  /** A sandboxed failure is not even an item on the output: only the model hears of it. */
  async toolRefused(call: ToolCall, why: string): Promise<void> {
    this.#output(call.id, `Process exited with code 1\nOutput:\n/bin/bash: ${why}\n`);
  }

  async denied(command: string, name: string): Promise<void> {
    const call: ToolCall = { id: `call_fake_${process.pid}_d${++this.#items}`, name, command, window: 'ended' };
    this.#inRequest();
    this.#call(call);
    await this.toolRefused(call, 'Read-only file system');
  }

  #output(call: string, output: string): void {
    this.#rollout.add('response_item', { type: 'function_call_output', call_id: call, output });
  }

  retry(attempt: number, of: number, failure: FailureName): void {
    this.#say({ type: 'error', message: `Reconnecting... ${attempt}/${of} (${codexFailures[failure].message})` });
  }

  errorLine(failure: FailureName): void {
    this.#say({ type: 'error', message: codexFailures[failure].message });
  }

  fail(step: FailStep): void {
    this.#inRequest();
    this.endMessage();
    const { message: text, info } = codexFailures[step.with];
    if (step.resetsAt !== undefined) {
      this.#tokens({ primary: { used_percent: 100, window_minutes: 300, resets_at: step.resetsAt }, secondary: null });
    }
    this.#rollout.add('event_msg', { type: 'error', message: text, codex_error_info: info });
    this.#complete(null, { message: text, codex_error_info: info });
    this.#say({ type: 'error', message: text });
    this.#say({ type: 'turn.failed', error: { message: text } });
  }

  answer(text: string): void {
    this.#inRequest();
    if (text !== '') this.text(text);
    this.result({});
  }

  result(fields: Line): void {
    this.endMessage();
    this.#complete(this.#lastText, undefined);
    const { input, output } = this.#total();
    this.#say({ type: 'turn.completed', usage: usageOf(input, output), ...fields });
  }

  #complete(last: string | null, error: Line | undefined): void {
    this.#rollout.add('event_msg', {
      type: 'task_complete',
      last_agent_message: last,
      ...(error === undefined ? {} : { error }),
    });
  }

  #total(): { readonly input: number; readonly output: number } {
    return { input: this.#before.input + this.#requests * 100, output: this.#before.output + this.#requests * 30 };
  }

  #tokens(limits: Line | null): void {
    const { input, output } = this.#total();
    const info = {
      total_token_usage: { ...usageOf(input, output), total_tokens: input + output },
      model_context_window: 272_000,
    };
    this.#rollout.add('event_msg', { type: 'token_count', info, rate_limits: limits });
  }

  /** No closing line: only the file says that the turn was aborted. */
  interrupted(_why: Interruption, open: ToolCall | undefined): number {
    this.endMessage();
    if (open !== undefined) this.#output(open.id, 'aborted by user');
    this.#rollout.add(
      'response_item',
      message('user', 'input_text', '<turn_aborted>The user interrupted the previous turn.</turn_aborted>'),
    );
    this.#rollout.add('event_msg', { type: 'turn_aborted', reason: 'interrupted' });
    return 1;
  }

  async close(): Promise<void> {
    if (!this.#args.json && this.#lastText !== null) this.#stage.output.raw(`${this.#lastText}\n`);
    this.#rollout.unlock();
  }

  damage(how: SessionDamage): void {
    this.#rollout.damage(how);
  }

  rewrite(line: string): string {
    return line.replace(/"thread_id":"[^"]*"/, `"thread_id":"${this.session}"`);
  }

  #inRequest(): void {
    if (this.#requests === 0) this.request();
  }

  #nextItem(): string {
    return `item_${this.#items++}`;
  }

  #say(line: Line): void {
    if (this.#args.json) this.#stage.output.json(line);
  }
}

function message(role: string, type: string, text: string): Line {
  return { type: 'message', role, content: [{ type, text }] };
}
