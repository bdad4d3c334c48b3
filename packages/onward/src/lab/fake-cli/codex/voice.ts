import { codexFailures, type FailureName } from '../failures.ts';
import type { FailStep, RetryStep, SessionDamage } from '../play.ts';
import type { ToolOutcome } from '../shell.ts';
import { CliExit, type Interruption, type Permission, type Stage, type ToolCall, type Voice } from '../voice.ts';
import type { CodexArgs } from './args.ts';
import { commandItem, usageOf, type Line } from './lines.ts';
import type { Rollout } from './rollout.ts';
import { outputText, TurnFile } from './turn-file.ts';

/** Codex as it speaks: little on its output, the rest in its rollout file. */
export class CodexVoice implements Voice {
  readonly session: string;
  readonly #stage: Stage;
  readonly #args: CodexArgs;
  readonly #rollout: Rollout;
  readonly #file: TurnFile;
  readonly #prompt: string;
  #promptSaved = false;
  #lastText: string | null = null;
  #items = 0;
  #requests = 0;
  #completed = 0;
  /** Something of a message was said that is not complete yet. */
  #messageOpen = false;
  readonly #itemIds = new Map<string, string>();
  /** Outputs of calls whose message is still open; they are on disk once it ends. */
  readonly #unsaved: { readonly call: string; readonly output: string }[] = [];

  constructor(
    stage: Stage,
    args: CodexArgs,
    thread: { readonly rollout: Rollout; readonly id: string; readonly prompt: string },
  ) {
    this.#stage = stage;
    this.#args = args;
    this.#rollout = thread.rollout;
    this.#file = new TurnFile(thread.rollout, thread.id);
    this.#prompt = thread.prompt;
    this.session = thread.id;
  }

  async prompt(): Promise<string> {
    return await Promise.resolve(this.#prompt);
  }

  opening(): void {
    this.#say({ type: 'thread.started', thread_id: this.session });
    this.#file.begin(this.#args.model, this.#args.sandbox);
    this.#say({ type: 'turn.started' });
  }

  async nextPrompt(): Promise<void> {
    return await Promise.reject(new CliExit(70, 'fake-cli: codex exec takes one prompt for each process.\n'));
  }

  visible(): string {
    return [this.#rollout.visible(), ...this.#unsaved.map(({ output }) => output), this.#prompt].join('\n');
  }

  request(): void {
    this.endMessage();
    this.#requests++;
    this.#stage.state.add({ event: 'request' });
    if (!this.#promptSaved) this.#file.prompt(this.#prompt);
    this.#promptSaved = true;
  }

  text(text: string): void {
    this.#inMessage();
    this.#lastText = text;
    this.#say({ type: 'item.completed', item: { id: this.#nextItem(), type: 'agent_message', text } });
    this.#file.agentText(text);
  }

  delta(): void {
    this.#inMessage();
  }

  endMessage(): void {
    if (!this.#messageOpen) return;
    this.#messageOpen = false;
    this.#completed++;
    this.#saveOutputs();
    this.#file.tokens(this.#completed, null);
  }

  #saveOutputs(): void {
    for (const { call, output } of this.#unsaved.splice(0)) this.#file.output(call, output);
  }

  async toolCalled(call: ToolCall): Promise<Permission> {
    this.#inMessage();
    this.#file.call(call);
    if (call.window === 'ended') this.endMessage();
    if (this.#stage.asFlags && this.#args.sandbox === 'read-only') return refusedBySandbox();
    const id = this.#nextItem();
    this.#itemIds.set(call.id, id);
    this.#say({ type: 'item.started', item: commandItem(id, call.command) });
    return await Promise.resolve({ allowed: true });
  }

  async toolEnded(call: ToolCall, outcome: ToolOutcome): Promise<void> {
    const output = outcome.stdout + outcome.stderr;
    const id = this.#itemIds.get(call.id) ?? '';
    this.#say({ type: 'item.completed', item: commandItem(id, call.command, { output, code: outcome.code }) });
    this.#file.commandEnded(call, outcome);
    if (call.window === 'open') this.#unsaved.push({ call: call.id, output: outputText(outcome) });
    else this.#file.output(call.id, outputText(outcome));
    return await Promise.resolve();
  }

  /** A sandboxed failure is not even an item on the output: only the model hears of it. */
  async toolRefused(call: ToolCall, why: string): Promise<void> {
    this.#file.output(call.id, outputText({ code: 1, stdout: '', stderr: `/bin/bash: line 1: ${why}\n` }));
    return await Promise.resolve();
  }

  async denied(command: string, name: string): Promise<void> {
    const call: ToolCall = { id: `call_fake_${process.pid}_d${++this.#items}`, name, command, window: 'ended' };
    this.#inMessage();
    this.#file.call(call);
    this.endMessage();
    await this.toolRefused(call, readOnly);
  }

  retry({ attempt, of, with: failure }: RetryStep): void {
    this.#say({ type: 'error', message: `Reconnecting... ${attempt}/${of} (${codexFailures[failure].message})` });
  }

  errorLine(failure: FailureName): void {
    this.#say({ type: 'error', message: codexFailures[failure].message });
  }

  fail(step: FailStep): void {
    if (this.#requests === 0) this.request();
    this.endMessage();
    const { message, info } = codexFailures[step.with];
    if (step.resetsAt !== undefined) {
      this.#file.tokens(this.#completed, { used_percent: 100, window_minutes: 300, resets_at: step.resetsAt });
    }
    this.#file.complete(null, { message, codex_error_info: info });
    this.#say({ type: 'error', message });
    this.#say({ type: 'turn.failed', error: { message } });
  }

  answer(text: string): void {
    this.#inMessage();
    if (text !== '') this.text(text);
    this.result({});
  }

  result(fields: Line): void {
    this.endMessage();
    this.#file.complete(this.#lastText);
    const { input, output } = this.#file.total(this.#completed);
    this.#say({ type: 'turn.completed', usage: usageOf(input, output), ...fields });
  }

  /** No closing line: only the file says that the turn was aborted. A result that was there is kept. */
  interrupted(_why: Interruption, open: ToolCall | undefined): number {
    this.#saveOutputs();
    if (open !== undefined) this.#file.output(open.id, 'aborted by user');
    this.#file.aborted();
    return 1;
  }

  async close(): Promise<void> {
    if (!this.#args.json && this.#lastText !== null) this.#stage.output.raw(`${this.#lastText}\n`);
    this.#rollout.unlock();
    return await Promise.resolve();
  }

  damage(how: SessionDamage): void {
    this.#rollout.damage(how);
  }

  rewrite(line: string): string {
    return line.replace(/"thread_id":"[^"]*"/, `"thread_id":"${this.session}"`);
  }

  #inMessage(): void {
    if (this.#requests === 0) this.request();
    this.#messageOpen = true;
  }

  #nextItem(): string {
    return `item_${this.#items++}`;
  }

  #say(line: Line): void {
    if (this.#args.json) this.#stage.output.json(line);
  }
}

const readOnly = 'Read-only file system';
const refusedBySandbox = (): Permission => ({ allowed: false, message: readOnly });
