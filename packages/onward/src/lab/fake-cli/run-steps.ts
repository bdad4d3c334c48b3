import type { PlayStep, TalkStep, ToolStep } from './play.ts';
import { playOutward } from './play-outward.ts';
import { startTool } from './shell.ts';
import { Ended, type Ending, type Interruption, type Stage, type ToolCall, type Voice } from './voice.ts';

const talk: { readonly [kind in TalkStep['do']]: true } = {
  prompt: true,
  opening: true,
  request: true,
  text: true,
  delta: true,
  'end-message': true,
  tool: true,
  denied: true,
  retry: true,
  'error-line': true,
  fail: true,
  answer: true,
  result: true,
};
const isTalk = (step: PlayStep): step is TalkStep => Object.hasOwn(talk, step.do);

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
  async run(steps: readonly PlayStep[]): Promise<Ending> {
    try {
      await this.#all(steps);
      return { kind: 'played', exit: this.#exit };
    } catch (error) {
      if (error instanceof Ended) return error.ending;
      throw error;
    }
  }

  async #all(steps: readonly PlayStep[]): Promise<void> {
    for (const step of steps) {
      this.#checkInterruption();
      await (isTalk(step) ? this.#talk(step) : playOutward(step, this.#hands));
    }
  }

  readonly #hands = {
    stage: (): Stage => this.#stage,
    voice: (): Voice => this.#voice,
    folder: (): string => this.#folder,
    steps: (steps: readonly PlayStep[]): Promise<void> => this.#all(steps),
    unlessInterrupted: <T>(work: Promise<T>): Promise<T> => this.#unlessInterrupted(work),
  };

  async #talk(step: TalkStep): Promise<void> {
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
        return voice.retry(step);
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
        return step satisfies never;
    }
  }

  async #tool(step: ToolStep): Promise<void> {
    if (step.unlessSeen !== undefined && this.#voice.visible().includes(step.unlessSeen)) return;
    const id = step.id ?? `toolu_fake_${process.pid}_${++this.#tools}`;
    const call = { id, name: step.name ?? 'Bash', command: step.command, window: step.window ?? 'ended' };
    this.#open = call;
    const permission = await this.#unlessInterrupted(this.#voice.toolCalled(call));
    if (permission.allowed) await this.#runTool(step, call);
    else await this.#voice.toolRefused(call, permission.message);
    this.#open = undefined;
  }

  async #runTool(step: ToolStep, call: ToolCall): Promise<void> {
    const tool = startTool(call.command, call.id, this.#stage.state.folder);
    this.#stage.state.add({ event: 'tool', command: call.command, pid: tool.pid });
    try {
      await this.#all(step.during ?? []);
      const outcome = await this.#unlessInterrupted(tool.done);
      await this.#unlessInterrupted(this.#voice.toolEnded(call, outcome));
    } catch (error) {
      if (error instanceof Ended && error.ending.kind === 'interrupted') tool.stop();
      throw error;
    }
  }

  #interrupted(): Ended {
    const why = this.#stage.interruption.signal.reason as Interruption;
    return new Ended({ kind: 'interrupted', why, open: this.#open });
  }

  #checkInterruption(): void {
    if (this.#stage.interruption.signal.aborted) throw this.#interrupted();
  }

  async #unlessInterrupted<T>(work: Promise<T>): Promise<T> {
    const { signal } = this.#stage.interruption;
    const aborted = Promise.withResolvers<'interrupted'>();
    const stop = (): void => aborted.resolve('interrupted');
    signal.addEventListener('abort', stop);
    try {
      if (signal.aborted) throw this.#interrupted();
      const first = await Promise.race([work.then((value) => ({ value })), aborted.promise]);
      if (first === 'interrupted') throw this.#interrupted();
      return first.value;
    } finally {
      signal.removeEventListener('abort', stop);
    }
  }
}
