import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { isAbsolute, resolve } from 'node:path';
import { writeGarbage } from './garbage.ts';
import type { Condition, GrandchildStep, SignalName, Step, ToolStep, TranscriptStep, WaitFor } from './play.ts';
import { PlayError } from './play-error.ts';
import { runQuietly, startGrandchild, startTool } from './shell.ts';
import { toolCall, type Interruption, type Stage, type ToolCall, type Voice } from './voice.ts';

/** How the steps of an attempt ended. */
export type Ending =
  /** All steps were played; the exit code that follows from the last closing line. */
  | { readonly kind: 'played'; readonly exit: number }
  /** An exit step: at once, whatever the CLI would do. */
  | { readonly kind: 'exit'; readonly exit: number }
  /** Ended from outside in the middle. */
  | { readonly kind: 'interrupted'; readonly why: Interruption; readonly open: ToolCall | undefined };

class Stop extends Error {
  readonly ending: Ending;

  constructor(ending: Ending) {
    super(ending.kind);
    this.ending = ending;
  }
}

/** Plays the steps of one attempt. */
export class StepRunner {
  readonly #stage: Stage;
  readonly #voice: Voice;
  /** Folder of the play, where relative transcripts start. */
  readonly #folder: string;
  #exit = 0;
  #tools = 0;
  #open: ToolCall | undefined;

  constructor(stage: Stage, voice: Voice, folder: string) {
    this.#stage = stage;
    this.#voice = voice;
    this.#folder = folder;
  }

  /** Plays them to the end, an exit step or an interruption. */
  async run(steps: readonly Step[]): Promise<Ending> {
    try {
      await this.#all(steps);
      return { kind: 'played', exit: this.#exit };
    } catch (error) {
      if (error instanceof Stop) return error.ending;
      throw error;
    }
  }

  async #all(steps: readonly Step[]): Promise<void> {
    for (const step of steps) {
      this.#checkInterruption();
      await this.#step(step);
    }
  }

  async #step(step: Step): Promise<void> {
    const voice = this.#voice;
    switch (step.do) {
      case 'prompt':
        await this.#unlessInterrupted(voice.prompt());
        return;
      case 'opening':
        return voice.opening();
      case 'request':
        return voice.request();
      case 'text':
        return voice.text(step.text);
      case 'delta':
        return voice.delta(step.text);
      case 'end-message':
        return voice.endMessage();
      case 'tool':
        return await this.#tool(step);
      case 'denied':
        return await voice.denied(step.command, step.name ?? 'Bash');
      case 'retry':
        return voice.retry(step.attempt, step.of, step.with);
      case 'error-line':
        return voice.errorLine(step.with);
      case 'fail':
        this.#exit = step.exit ?? 1;
        return voice.fail(step);
      case 'answer':
        this.#exit = 0;
        return voice.answer(step.text);
      case 'result':
        this.#exit = step.exit ?? 0;
        return voice.result(step.fields ?? {});
      default:
        return await this.#outward(step);
    }
  }

  /** Steps that concern the process and its output, not the conversation. */
  async #outward(step: Exclude<Step, { readonly do: ConversationStep }>): Promise<void> {
    const { output } = this.#stage;
    switch (step.do) {
      case 'lines':
        return output.raw(step.lines.map((line) => `${line}\n`).join(''));
      case 'transcript':
        return output.raw(this.#transcript(step));
      case 'stderr':
        return output.error(step.text);
      case 'garbage':
        return writeGarbage(output, step.kind, step.bytes);
      case 'wait':
        return await this.#wait(step.for);
      case 'hang':
        ignoreSignals(step.ignore ?? []);
        return await this.#unlessInterrupted(forever());
      case 'ignore-signals':
        return ignoreSignals(step.signals);
      case 'exit':
        throw new Stop({ kind: 'exit', exit: step.code });
      case 'kill':
        return await killSelf(step.signal, step.group === true);
      case 'grandchild':
        return grandchild(step);
      case 'run':
        return await this.#unlessInterrupted(runQuietly(step.command));
      case 'damage-session':
        return this.#voice.damage(step.how);
      case 'when':
        return await this.#all(this.#holds(step.if) ? step.then : (step.else ?? []));
      case 'repeat':
        for (let time = 0; time < step.times; time++) await this.#all(step.steps);
        return;
      default:
        return step satisfies never;
    }
  }

  async #tool(step: ToolStep): Promise<void> {
    if (step.unlessSeen !== undefined && this.#voice.visible().includes(step.unlessSeen)) return;
    const call = toolCall(step, `toolu_fake_${process.pid}_${++this.#tools}`);
    this.#open = call;
    const permission = await this.#unlessInterrupted(this.#voice.toolCalled(call));
    if (permission.allowed) await this.#runTool(step, call);
    else await this.#voice.toolRefused(call, permission.message);
    this.#open = undefined;
  }

  async #runTool(step: ToolStep, call: ToolCall): Promise<void> {
    this.#stage.state.add({ event: 'tool', command: call.command });
    const tool = startTool(call.command, String(this.#tools), this.#stage.state.folder);
    try {
      await this.#all(step.during ?? []);
      const outcome = await this.#unlessInterrupted(tool.done);
      await this.#unlessInterrupted(this.#voice.toolEnded(call, outcome));
    } catch (error) {
      if (error instanceof Stop && error.ending.kind === 'interrupted') tool.stop();
      throw error;
    }
  }

  #transcript(step: TranscriptStep): Buffer | string {
    const file = isAbsolute(step.file) ? step.file : resolve(this.#folder, step.file);
    let content: Buffer;
    try {
      content = readFileSync(file);
    } catch (cause) {
      throw new PlayError('play/missing', file, 'the transcript cannot be read.', cause);
    }
    if (step.session !== 'rewrite') return content;
    return content.toString('utf8').replaceAll(/[^\n]+/g, (line) => this.#voice.rewrite(line));
  }

  async #wait(what: WaitFor): Promise<void> {
    if (what === 'stdin-eof') return await this.#unlessInterrupted(this.#stage.input.untilEnd());
    if (what === 'interrupt') return await this.#unlessInterrupted(forever());
    if (what === 'next-prompt') return await this.#unlessInterrupted(this.#voice.nextPrompt());
    while (!existsSync(what.file)) await this.#unlessInterrupted(aMoment());
  }

  #holds(condition: Condition): boolean {
    if ('seen' in condition) return this.#voice.visible().includes(condition.seen);
    if ('prompt' in condition)
      return this.#stage.state
        .invocations()
        .some((one) => one.pid === process.pid && one.prompts.some((text) => text.includes(condition.prompt)));
    if (!existsSync(condition.file)) return false;
    return !('holds' in condition) || readFileSync(condition.file, 'utf8').includes(condition.holds);
  }

  #checkInterruption(): void {
    const { signal } = this.#stage.interruption;
    if (signal.aborted) throw new Stop({ kind: 'interrupted', why: signal.reason as Interruption, open: this.#open });
  }

  async #unlessInterrupted<T>(work: Promise<T>): Promise<T> {
    const { signal } = this.#stage.interruption;
    let stop: (() => void) | undefined;
    const interrupted = new Promise<'interrupted'>((resolve) => {
      stop = () => resolve('interrupted');
      signal.addEventListener('abort', stop);
      if (signal.aborted) stop();
    });
    try {
      const first = await Promise.race([work.then((value) => ({ value })), interrupted]);
      if (first !== 'interrupted') return first.value;
      throw new Stop({ kind: 'interrupted', why: signal.reason as Interruption, open: this.#open });
    } finally {
      if (stop !== undefined) signal.removeEventListener('abort', stop);
    }
  }
}

type ConversationStep =
  | 'prompt'
  | 'opening'
  | 'request'
  | 'text'
  | 'delta'
  | 'end-message'
  | 'tool'
  | 'denied'
  | 'retry'
  | 'error-line'
  | 'fail'
  | 'answer'
  | 'result';

const forever = (): Promise<never> => new Promise<never>(() => {});
const aMoment = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 5));

/** From now on these signals do nothing. SIGKILL and SIGSTOP cannot be ignored. */
function ignoreSignals(signals: readonly SignalName[]): void {
  for (const signal of signals) {
    process.removeAllListeners(signal);
    process.on(signal, () => {});
  }
}

async function killSelf(signal: SignalName, group: boolean): Promise<void> {
  process.kill(group ? 0 : process.pid, signal);
  if (signal === 'SIGKILL') await forever();
  // Signals with a handler arrive in a later turn of the event loop.
  await aMoment();
}

function grandchild(step: GrandchildStep): void {
  const pid = startGrandchild(step.command, step);
  if (step.pidFile !== undefined && pid !== undefined) writeFileSync(step.pidFile, String(pid));
}
