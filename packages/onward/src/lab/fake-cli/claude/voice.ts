import { randomUUID } from 'node:crypto';
import { claudeFailures, type FailureName } from '../failures.ts';
import type { FailStep, RetryStep, SessionDamage } from '../play.ts';
import type { ToolOutcome } from '../shell.ts';
import {
  CliExit,
  type Interruption,
  type Opening,
  type Permission,
  type Stage,
  type ToolCall,
  type Voice,
} from '../voice.ts';
import type { ClaudeArgs } from './args.ts';
import { Control } from './control.ts';
import { notGranted, ToolGate } from './gate.ts';
import {
  initLine,
  interruptedFields,
  rejectedText,
  resultLine,
  retryLine,
  syntheticLine,
  toolResultLine,
  userLine,
  type Line,
  type Totals,
} from './lines.ts';
import { Messages } from './messages.ts';
import type { Block, SessionFile } from './session-file.ts';

/** What one process of Claude Code works with. */
export interface ClaudeSession {
  readonly args: ClaudeArgs;
  readonly file: SessionFile;
  readonly session: string;
  readonly opening: Opening;
}

/** Claude Code as it speaks: which line says what, and what is on disk at that moment. */
export class ClaudeVoice implements Voice {
  readonly session: string;
  readonly #stage: Stage;
  readonly #args: ClaudeArgs;
  readonly #file: SessionFile;
  readonly #control: Control | undefined;
  readonly #gate: ToolGate;
  readonly #messages: Messages;
  readonly #prompts: string[] = [];
  #promptArrived: () => void = () => {};
  #prompt: Promise<string> | undefined;
  #promptText = '';
  #promptSaved = false;
  #requests = 0;
  #turns = 1;
  #running = false;
  #resultText = '';
  readonly #denials: Line[] = [];
  readonly #held: Line[] = [];

  constructor(stage: Stage, { args, file, session, opening }: ClaudeSession) {
    this.#stage = stage;
    this.#args = args;
    this.#file = file;
    this.session = session;
    this.#control = args.inputFormat === 'stream-json' ? this.#listen(opening) : undefined;
    const setting = { session, file: file.path, asFlags: stage.asFlags };
    this.#gate = new ToolGate(args, setting, this.#control);
    const say = (line: Line): void => this.#say(line);
    this.#messages = new Messages({ session, model: args.model, partial: args.partial, file, say });
  }

  #listen(opening: Opening): Control {
    const { output, input } = this.#stage;
    return new Control(input, (line) => output.json(line), {
      prompt: (text) => {
        this.#prompts.push(text);
        this.#promptArrived();
      },
      interrupt: () => opening.interrupt !== 'ignore' && this.#interrupt(),
      unanswered: (error) => output.error(`${error}\n`),
      badLine: (error) => {
        output.error(`${error}\n`);
        process.exit(1);
      },
    });
  }

  #interrupt(): true {
    this.#stage.state.add({ event: 'signal', name: 'interrupt' });
    if (this.#running) this.#stage.interruption.abort('interrupt' satisfies Interruption);
    return true;
  }

  prompt(): Promise<string> {
    this.#prompt ??= this.#control === undefined ? this.#wholePrompt() : this.#nextMessage();
    return this.#prompt;
  }

  async #wholePrompt(): Promise<string> {
    const given = this.#args.prompt ?? '';
    const piped = process.stdin.isTTY ? '' : await this.#stage.input.all();
    const text = [given, piped.trimEnd()].filter((part) => part !== '').join('\n');
    if (text === '') {
      throw new CliExit(
        1,
        'Error: Input must be provided either through stdin or as a prompt argument when using --print\n',
      );
    }
    return this.#accept(text);
  }

  async #nextMessage(): Promise<string> {
    while (this.#prompts.length === 0) {
      if (this.#stage.input.ended) throw new CliExit(0, '');
      await Promise.race([
        new Promise<void>((resolve) => (this.#promptArrived = resolve)),
        this.#stage.input.untilEnd(),
      ]);
    }
    return this.#accept(this.#prompts.shift() ?? '');
  }

  #accept(text: string): string {
    this.#stage.state.add({ event: 'prompt', text });
    this.#promptText = text;
    this.#promptSaved = false;
    this.#running = true;
    return text;
  }

  opening(): void {
    this.#say(initLine(this.session, this.#args));
  }

  async nextPrompt(): Promise<void> {
    this.#prompt = undefined;
    await this.prompt();
    this.opening();
  }

  visible(): string {
    return [this.#file.visible(), this.#messages.unsavedText(), this.#promptText].join('\n');
  }

  request(): void {
    this.endMessage();
    this.#savePrompt();
    this.#messages.request(`msg_fake_${process.pid}_${++this.#requests}`);
    this.#stage.state.add({ event: 'request' });
  }

  #savePrompt(): void {
    if (this.#promptSaved) return;
    this.#promptSaved = true;
    if (this.#file.exists() && !this.#file.settled()) {
      this.#file.save('user', 'Continue from where you left off.', { isMeta: true });
      this.#file.save('assistant', [{ type: 'text', text: 'No response requested.' }]);
    }
    const streamed = this.#control !== undefined;
    if (streamed) this.#file.note({ type: 'queue-operation', operation: 'dequeue' });
    this.#file.save('user', streamed ? [{ type: 'text', text: this.#promptText }] : this.#promptText);
  }

  text(text: string): void {
    this.#inMessage();
    this.#messages.block({ type: 'text', text });
    this.#resultText = text;
  }

  delta(text: string): void {
    this.#inMessage();
    this.#messages.delta(text);
  }

  endMessage(): void {
    this.#messages.end();
  }

  async toolCalled(call: ToolCall): Promise<Permission> {
    const input = { command: call.command, description: 'Run a command' };
    this.#inMessage();
    this.#messages.block({ type: 'tool_use', id: call.id, name: call.name, input });
    if (call.window === 'ended') this.endMessage();
    return await this.#gate.before(call, input);
  }

  async toolEnded(call: ToolCall, outcome: ToolOutcome): Promise<void> {
    const { stdout, stderr } = outcome;
    const failed = outcome.code !== 0;
    await this.#gate.after(call, outcome);
    const content = [failed ? `Exit code ${outcome.code}` : '', stdout.trimEnd(), stderr.trimEnd()]
      .filter((part) => part !== '')
      .join('\n');
    const result = failed ? `Error: ${content}` : outcome;
    this.#toolResult({ type: 'tool_result', tool_use_id: call.id, content, is_error: failed }, result);
  }

  async toolRefused(call: ToolCall, message: string): Promise<void> {
    this.#denials.push({ tool_name: call.name, tool_use_id: call.id, tool_input: { command: call.command } });
    this.#toolResult(
      { type: 'tool_result', tool_use_id: call.id, content: message, is_error: true },
      `Error: ${message}`,
    );
  }

  async denied(command: string, name: string): Promise<void> {
    const call: ToolCall = {
      id: `toolu_fake_${process.pid}_d${this.#denials.length + 1}`,
      name,
      command,
      window: 'ended',
    };
    this.#inMessage();
    this.#messages.block({ type: 'tool_use', id: call.id, name, input: { command } });
    this.endMessage();
    await this.toolRefused(call, notGranted(name));
  }

  #toolResult(block: Block, outcome: ToolOutcome | string): void {
    this.#turns++;
    this.#say(toolResultLine(this.session, block, outcome));
    this.#messages.user(block);
  }

  retry(step: RetryStep): void {
    this.#say(retryLine(this.session, step, claudeFailures[step.with]));
  }

  errorLine(failure: FailureName): void {
    this.#say(syntheticLine(this.session, claudeFailures[failure]));
  }

  fail(step: FailStep): void {
    const failure = claudeFailures[step.with];
    if (this.#requests === 0) this.request();
    this.#messages.abandon();
    if (step.resetsAt !== undefined) this.#say(this.#limitLine(step.resetsAt));
    this.#file.save('assistant', [{ type: 'text', text: failure.text }], {
      isApiErrorMessage: true,
      error: failure.category,
      apiErrorStatus: failure.status,
    });
    this.errorLine(step.with);
    const { status, text, terminalReason = 'completed' } = failure;
    this.result({
      is_error: true,
      api_error_status: status,
      result: text,
      stop_reason: 'stop_sequence',
      terminal_reason: terminalReason,
    });
  }

  #limitLine(resetsAt: number): Line {
    const info = { status: 'rejected', resetsAt, rateLimitType: 'five_hour', isUsingOverage: false };
    return { type: 'rate_limit_event', rate_limit_info: info, uuid: randomUUID(), session_id: this.session };
  }

  answer(text: string): void {
    this.#inMessage();
    if (text !== '') this.text(text);
    this.#resultText = text;
    this.endMessage();
    this.result({});
  }

  /** A message that is still open never ends. */
  result(fields: Line): void {
    this.#messages.abandon();
    this.#running = false;
    this.#say(resultLine(this.session, this.#totals(), { result: this.#resultText, ...fields }));
    if (this.#requests > 0) this.#file.note({ type: 'last-prompt', lastPrompt: this.#promptText });
  }

  #totals(): Totals {
    return {
      completed: this.#messages.completed,
      turns: this.#turns,
      model: this.#args.model,
      denials: [...this.#denials],
    };
  }

  interrupted(why: Interruption, open: ToolCall | undefined): number {
    this.#messages.keepHalf();
    if (open !== undefined) {
      const block: Block = { type: 'tool_result', tool_use_id: open.id, content: rejectedText, is_error: true };
      this.#toolResult(block, 'User rejected tool use');
    }
    const note: Block = {
      type: 'text',
      text: open === undefined ? '[Request interrupted by user]' : '[Request interrupted by user for tool use]',
    };
    this.#turns++;
    this.#say(userLine(this.session, [note]));
    this.#messages.hold(note);
    this.#running = false;
    this.#say(resultLine(this.session, this.#totals(), interruptedFields(open !== undefined)));
    return why === 'SIGINT' && open === undefined ? 0 : 1;
  }

  async close(): Promise<void> {
    if (this.#control !== undefined) await this.#stage.input.untilEnd();
    if (this.#requests > 0) this.#messages.abandon();
    this.#flushOther();
  }

  damage(how: SessionDamage): void {
    this.#file.damage(how);
  }

  rewrite(line: string): string {
    return line.replace(/"session_id":"[^"]*"/, `"session_id":"${this.session}"`);
  }

  #inMessage(): void {
    if (!this.#messages.open) this.request();
  }

  #say(line: Line): void {
    if (this.#args.outputFormat === 'stream-json') this.#stage.output.json(line);
    else this.#held.push(line);
  }

  /** The other output formats say everything at the end. */
  #flushOther(): void {
    const result = this.#held.at(-1);
    if (result === undefined) return;
    if (this.#args.outputFormat === 'json') this.#stage.output.json(this.#args.verbose ? this.#held : result);
    else this.#stage.output.raw(`${this.#resultText}\n`);
  }
}
