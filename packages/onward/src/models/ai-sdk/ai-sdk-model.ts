import type {
  LanguageModelV2,
  LanguageModelV3,
  LanguageModelV4,
  LanguageModelV4StreamPart,
  LanguageModelV4StreamResult,
} from '@ai-sdk/provider';
import { OnwardError } from '../../kernel/error.ts';
import type { Failure } from '../../kernel/failure.ts';
import type { Signal } from '../../kernel/signal.ts';
import type { Model, ModelPart, ModelRequest, Usage } from '../model.ts';
import { requestIdIn } from '../to-failure.ts';
import { abortedFailure, aiSdkFailure } from './ai-sdk-failure.ts';
import { PartReader, type ReaderOptions } from './part-reader.ts';
import { cutAnswer } from './read-finish.ts';
import { type Asked, toCall } from './to-call.ts';

/** A language model of the AI SDK, as its providers make them: `anthropic('...')`, `openai.chat('...')`. */
export type AiSdkLanguageModel = LanguageModelV4 | LanguageModelV3 | LanguageModelV2;

/** What the AI SDK does not know of a model. */
export interface AiSdkModelOptions {
  /** Name of the model in the log; default `provider/modelId`, such as `anthropic/claude-sonnet-5`. */
  readonly id?: string;
  /** Size of its context window, tokens. */
  readonly contextTokens?: number;
  /** What an answer cost, US dollars. */
  readonly price?: (usage: Usage) => number;
  /** Milliseconds since the epoch. Needed only for a `Retry-After` date of a server that sends no `Date`. */
  readonly now?: () => number;
}

/**
 * Any model of the AI SDK as one of ours. Each `stream` is one `doStream`, which is one request: the retries of the AI SDK live in
 * `streamText`, above it. Nothing that goes wrong is thrown; it is a `failed` part with the facts. An answer that the SDK reports
 * as interrupted is a failure, never a finish. When the signal aborts, or the reader leaves, the connection is closed.
 * Throws `OnwardError` (`models/not-a-model`, `models/bad-option`) for misuse.
 */
export function aiSdkModel(model: AiSdkLanguageModel, options: AiSdkModelOptions = {}): Model {
  const asked = askedOf(model, options);
  if (
    options.contextTokens !== undefined &&
    !(Number.isSafeInteger(options.contextTokens) && options.contextTokens > 0)
  )
    throw new OnwardError('models/bad-option', 'The size of a context window is a whole number of tokens above 0.', {
      place: 'contextTokens',
    });
  const { price, now } = options;
  return {
    id: asked.id,
    ...(options.contextTokens === undefined ? {} : { contextTokens: options.contextTokens }),
    stream: (request, signal) =>
      attempt({ model: model as LanguageModelV4, asked, reader: { price, now } }, request, signal),
  };
}

function askedOf(model: AiSdkLanguageModel, options: AiSdkModelOptions): Asked {
  const version = (model as { readonly specificationVersion?: unknown } | string | undefined) ?? {};
  const spec = typeof version === 'object' ? version.specificationVersion : undefined;
  if ((spec !== 'v2' && spec !== 'v3' && spec !== 'v4') || typeof model.doStream !== 'function')
    throw new OnwardError('models/not-a-model', 'This is no language model of the AI SDK (version 2, 3 or 4).', {
      next: ["Hand over what a provider makes, such as anthropic('claude-sonnet-5'), not a name."],
    });
  const id = options.id ?? `${model.provider.split('.')[0] ?? ''}/${model.modelId}`;
  if (id.trim() === '' || !id.isWellFormed())
    throw new OnwardError('models/bad-option', 'The id of a model must not be blank.', { place: 'id' });
  return { id, provider: model.provider, version: spec };
}

interface Attempt {
  readonly model: LanguageModelV4;
  readonly asked: Asked;
  readonly reader: ReaderOptions;
}

async function* attempt(
  to: Attempt,
  request: ModelRequest,
  signal: Signal,
): AsyncGenerator<ModelPart, void, undefined> {
  const transport = linked(signal);
  let stream: Reader | undefined;
  let requestId: string | undefined;
  let finished = false;
  try {
    const opened = signal.aborted ? undefined : await open(to, request, transport);
    if (opened === undefined) {
      yield failed(abortedFailure(signal.reason));
      return;
    }
    requestId = requestIdIn(opened.response?.headers);
    stream = opened.stream.getReader();
    // A model that does not heed the signal is left all the same.
    transport.onAbort(() => leave(stream));
    yield { type: 'started', ...(requestId === undefined ? {} : { requestId }) };
    for await (const part of partsOf(stream, new PartReader(to.reader))) {
      if (signal.aborted) break;
      // Read on to the end of the body, for only then can its connection carry the next request; the answer is complete.
      if (finished) continue;
      yield part.type === 'failed' ? failed(named(part.failure, requestId)) : part;
      if (part.type === 'failed') return;
      finished = part.type === 'finish';
    }
    if (finished) return;
    yield failed(signal.aborted ? abortedFailure(signal.reason) : named(cutAnswer, requestId));
  } catch (thrown) {
    yield failed(
      signal.aborted ? abortedFailure(signal.reason) : named(aiSdkFailure(thrown, to.reader.now?.()), requestId),
    );
  } finally {
    transport.end(finished);
    if (!finished || signal.aborted) leave(stream);
  }
}

type Reader = ReadableStreamDefaultReader<LanguageModelV4StreamPart>;

/** Makes the request; resolves to nothing when the signal came first. */
async function open(
  to: Attempt,
  request: ModelRequest,
  transport: Transport,
): Promise<LanguageModelV4StreamResult | undefined> {
  const asked = Promise.resolve(to.model.doStream(toCall(request, to.asked, transport.signal)));
  const first = await Promise.race([asked, transport.aborted]);
  // A model that does not heed the signal may still answer; nobody is there to read it.
  if (first === undefined) asked.then(({ stream }) => stream.cancel()).catch(() => undefined);
  return first;
}

async function* partsOf(stream: Reader, reader: PartReader): AsyncGenerator<ModelPart, void, undefined> {
  for (;;) {
    // oxlint-disable-next-line no-await-in-loop -- one part after the other is what a stream is
    const { done, value } = await stream.read();
    if (done) return;
    yield* reader.read(value);
  }
}

interface Transport {
  /** What the provider is given: aborts with the caller's signal, and when the attempt is over. */
  readonly signal: AbortSignal;
  /** Resolves when the caller's signal aborts. */
  readonly aborted: Promise<undefined>;
  onAbort(act: () => void): void;
  /** A request that came to its end is not aborted: its connection is kept. */
  end(finished: boolean): void;
}

/** A signal of the platform that follows the caller's, which may be of any make. */
function linked(signal: Signal): Transport {
  const controller = new AbortController();
  const { promise, resolve } = Promise.withResolvers<undefined>();
  let act: (() => void) | undefined;
  const abort = (): void => {
    controller.abort(signal.reason);
    resolve(undefined);
    act?.();
  };
  signal.addEventListener('abort', abort, { once: true });
  if (signal.aborted) abort();
  return {
    signal: controller.signal,
    aborted: promise,
    onAbort: (then) => {
      act = then;
      if (signal.aborted) then();
    },
    end: (finished) => {
      signal.removeEventListener('abort', abort);
      if (!finished) controller.abort(new DOMException('The attempt is over.', 'AbortError'));
    },
  };
}

/** Closes a stream that is no longer read, and with it the connection. Nobody waits for it. */
function leave(stream: Reader | undefined): void {
  stream?.cancel().catch(() => undefined);
}

function failed(failure: Failure): ModelPart {
  return { type: 'failed', failure };
}

function named(failure: Failure, requestId: string | undefined): Failure {
  return requestId === undefined || failure.requestId !== undefined ? failure : { ...failure, requestId };
}
