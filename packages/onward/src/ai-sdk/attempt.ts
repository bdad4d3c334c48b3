import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamPart,
  LanguageModelV4StreamResult,
} from '@ai-sdk/provider';
import type { Failure } from '../kernel/failure.ts';
import { aiSdkFailure } from '../models/ai-sdk/index.ts';
import { cut, faultOf, faultOfWhole, isContent } from './answer-judge.ts';
import { createHalt, type Halt, type Stop } from './halt.ts';
import type { Recovering } from './recovering-options.ts';
import { createWatchdog, type Watchdog } from './watchdog.ts';

/** The next thing of a streamed answer. After anything but a part nothing more comes. */
export type Step =
  | { readonly kind: 'part'; readonly part: LanguageModelV4StreamPart }
  | Stop
  | { readonly kind: 'end' };

type Reader = ReadableStreamDefaultReader<LanguageModelV4StreamPart>;

/** One streaming request under watch. It never throws: what goes wrong is a step. */
export class StreamAttempt {
  readonly #model: LanguageModelV4;
  readonly #call: LanguageModelV4CallOptions;
  readonly #settings: Recovering;
  readonly #halt: Halt;
  readonly #headers: Watchdog;
  readonly #idle: Watchdog;
  #reader: Reader | undefined;
  #meta: Omit<LanguageModelV4StreamResult, 'stream'> = {};
  #hasContent = false;
  #over = false;

  constructor(model: LanguageModelV4, call: LanguageModelV4CallOptions, settings: Recovering) {
    const { clock, headersMs, idleMs } = settings;
    this.#model = model;
    this.#call = call;
    this.#settings = settings;
    this.#halt = createHalt(call.abortSignal);
    this.#headers = createWatchdog(clock, headersMs, this.#stall('sent no headers', headersMs));
    this.#idle = createWatchdog(clock, idleMs, this.#stall('went silent in its answer', idleMs));
  }

  /** Request and headers; empty before the first part. */
  get meta(): Omit<LanguageModelV4StreamResult, 'stream'> {
    return this.#meta;
  }

  /** The next part, or how it ended. */
  async next(): Promise<Step> {
    if (this.#over) return { kind: 'end' };
    let step: Step;
    try {
      step = await this.#read(this.#reader ?? (await this.#open()));
    } catch (thrown) {
      step = failedBy(thrown, this.#settings);
    }
    step = this.#halt.reason() ?? step;
    if (step.kind !== 'part' || step.part.type === 'finish') this.close();
    return step;
  }

  /** Ends it: the request is aborted if it still runs, and no timer is left. */
  close(reason?: unknown): void {
    this.#over = true;
    this.#headers.stop();
    this.#idle.stop();
    this.#halt.end(reason);
    cancel(this.#reader, reason);
  }

  #stall(what: string, ms: number): () => void {
    return () => this.#halt.stop({ kind: 'failed', failure: stalled(what, ms) });
  }

  /** Resolves to nothing when it was stopped first. */
  async #open(): Promise<Reader | undefined> {
    this.#headers.watch();
    const asked = Promise.resolve(this.#model.doStream({ ...this.#call, abortSignal: this.#halt.signal }));
    const opened = await Promise.race([asked, this.#halt.stopped]);
    this.#headers.stop();
    if ('kind' in opened) {
      // A model that does not heed the signal may still answer; nobody is there to read it.
      asked.then(({ stream }) => stream.cancel()).catch(() => undefined);
      return undefined;
    }
    const { stream, ...meta } = opened;
    const reader = stream.getReader();
    this.#meta = meta;
    this.#reader = reader;
    // Ends a read that a model keeps waiting in spite of the signal.
    void this.#halt.stopped.then((stop) => cancel(reader, stop));
    return reader;
  }

  async #read(reader: Reader | undefined): Promise<Step> {
    if (reader === undefined) return { kind: 'failed', failure: cut };
    this.#idle.watch();
    const { done, value } = await reader.read();
    if (done) return { kind: 'failed', failure: cut };
    if (value.type === 'error') return failedBy(value.error, this.#settings);
    // Signs of life are no answer.
    if (value.type !== 'ping' && value.type !== 'raw') this.#idle.rest();
    this.#hasContent ||= isContent(value);
    const fault = value.type === 'finish' ? faultOf(value.finishReason, this.#hasContent) : undefined;
    return fault === undefined ? { kind: 'part', part: value } : { kind: 'failed', failure: fault };
  }
}

/** One request whose answer comes whole. Never throws. */
export async function generateOnce(
  model: LanguageModelV4,
  call: LanguageModelV4CallOptions,
  settings: Recovering,
): Promise<{ readonly kind: 'done'; readonly result: LanguageModelV4GenerateResult } | Stop> {
  const halt = createHalt(call.abortSignal);
  const { clock, generateMs } = settings;
  const dog = createWatchdog(clock, generateMs, () =>
    halt.stop({ kind: 'failed', failure: stalled('sent no answer', generateMs) }),
  );
  dog.watch();
  try {
    const asked = Promise.resolve(model.doGenerate({ ...call, abortSignal: halt.signal }));
    const first = await Promise.race([asked, halt.stopped]);
    asked.catch(() => undefined);
    if ('kind' in first) return first;
    const fault = faultOfWhole(first);
    return fault === undefined ? { kind: 'done', result: first } : { kind: 'failed', failure: fault };
  } catch (thrown) {
    return halt.reason() ?? failedBy(thrown, settings);
  } finally {
    dog.stop();
    halt.end();
  }
}

function failedBy(thrown: unknown, { clock }: Recovering): Stop {
  return { kind: 'failed', failure: aiSdkFailure(thrown, clock.now()), thrown };
}

function stalled(what: string, ms: number): Failure {
  return { message: `The provider ${what} for ${ms} ms.`, type: 'timeout_error' };
}

function cancel(reader: Reader | undefined, reason: unknown): void {
  reader?.cancel(reason).catch(() => undefined);
}
