import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4StreamPart,
  LanguageModelV4StreamResult,
} from '@ai-sdk/provider';
import { assertNever, OnwardError } from '../kernel/error.ts';
import { isContent } from './answer-judge.ts';
import { generateOnce, StreamAttempt } from './attempt.ts';
import type { ModelFailedError } from './model-failed.ts';
import { checkRecovering, type Recovering, type RecoveringOptions } from './recovering-options.ts';
import { createRecovery, type Recovery } from './recovery.ts';

/**
 * The same model, recovering: for `streamText`, `generateText` and whatever takes an AI SDK model. A failed request (an
 * error, a cut, a stall, an answer of nothing) is made again within bounds as long as nothing of its answer was shown.
 * What surfaces is a `ModelFailedError`: thrown by `generateText`, and in a stream as the option `surface` says. Nothing
 * around it tries again, except `streamRetries` of `streamText`, which must stay unset. A cancelled call throws the
 * signal's reason. Throws `ai-sdk/bad-model` and `ai-sdk/bad-option` at once.
 */
export function recovering(model: LanguageModelV4, options: RecoveringOptions = {}): LanguageModelV4 {
  if (typeof model !== 'object' || model === null || model.specificationVersion !== 'v4')
    throw new OnwardError('ai-sdk/bad-model', 'recovering() takes a language model of the AI SDK 7 (version v4).', {
      next: ["Make one with a provider, for example anthropic('claude-sonnet-5'), and not from a name."],
    });
  const settings = checkRecovering(options);
  return {
    specificationVersion: 'v4',
    provider: model.provider,
    modelId: model.modelId,
    get supportedUrls() {
      return model.supportedUrls;
    },
    async doGenerate(call) {
      const recovery = createRecovery(settings);
      for (;;) {
        call.abortSignal?.throwIfAborted();
        // oxlint-disable-next-line no-await-in-loop -- one request after the other is the point
        const outcome = await generateOnce(model, call, settings);
        if (outcome.kind === 'done') return outcome.result;
        if (outcome.kind === 'cancelled') throw outcome.reason;
        // oxlint-disable-next-line no-await-in-loop -- and so is the wait between them
        const error = await recovery.answer(outcome, call.abortSignal);
        if (error !== undefined) throw error;
      }
    },
    doStream: (call) => openAnswer(model, call, settings),
  };
}

/** Makes requests until one has something to show, or none may follow. */
async function openAnswer(
  model: LanguageModelV4,
  call: LanguageModelV4CallOptions,
  settings: Recovering,
): Promise<LanguageModelV4StreamResult> {
  const recovery = createRecovery(settings);
  for (;;) {
    call.abortSignal?.throwIfAborted();
    const attempt = new StreamAttempt(model, call, settings);
    // oxlint-disable-next-line no-await-in-loop -- one request after the other is the point
    const opened = await holdBack(attempt, settings.hold);
    switch (opened.kind) {
      case 'held':
        return { ...attempt.meta, stream: release(opened.parts, { attempt, recovery, settings }) };
      case 'cancelled':
        throw opened.reason;
      case 'failed': {
        // oxlint-disable-next-line no-await-in-loop -- and so is the wait between them
        const error = await recovery.answer(opened, call.abortSignal);
        if (error !== undefined) return { ...attempt.meta, stream: failing(error, call, settings) };
        break;
      }
      default:
        assertNever(opened, 'recovering()');
    }
  }
}

type Opened =
  | { readonly kind: 'held'; readonly parts: readonly LanguageModelV4StreamPart[] }
  | Extract<Awaited<ReturnType<StreamAttempt['next']>>, { kind: 'failed' | 'cancelled' }>;

/** Reads on while there is nothing that must be shown. */
async function holdBack(attempt: StreamAttempt, hold: Recovering['hold']): Promise<Opened> {
  const parts: LanguageModelV4StreamPart[] = [];
  for (;;) {
    // oxlint-disable-next-line no-await-in-loop -- a stream is read in order
    const step = await attempt.next();
    if (step.kind === 'end') return { kind: 'held', parts };
    if (step.kind !== 'part') return step;
    if (step.part.type !== 'ping') parts.push(step.part);
    if (step.part.type === 'finish' || (hold === 'first-part' && isContent(step.part))) return { kind: 'held', parts };
  }
}

interface Release {
  readonly attempt: StreamAttempt;
  readonly recovery: Recovery;
  readonly settings: Recovering;
}

/** What was held back, then the rest as it comes. Nothing is read before somebody asks for it. */
function release(
  held: readonly LanguageModelV4StreamPart[],
  { attempt, recovery, settings }: Release,
): ReadableStream<LanguageModelV4StreamPart> {
  let index = 0;
  let failed: ModelFailedError | undefined;
  return new ReadableStream<LanguageModelV4StreamPart>(
    {
      async pull(controller) {
        if (failed !== undefined) return end(controller, failed, settings);
        const part = held[index++];
        if (part !== undefined) return controller.enqueue(part);
        const step = await attempt.next();
        switch (step.kind) {
          case 'part':
            return controller.enqueue(step.part);
          case 'end':
            return controller.close();
          case 'cancelled':
            return controller.error(step.reason);
          case 'failed':
            failed = recovery.tooLate(step);
            return controller.enqueue({ type: 'error', error: failed });
          default:
            return assertNever(step, 'recovering()');
        }
      },
      cancel: (reason) => attempt.close(reason),
    },
    { highWaterMark: 0 },
  );
}

/**
 * A failure before anything was shown. In its first step `streamText` answers a model that throws with a `result.text` that
 * rejects. In a later one it would resolve to the text of the step before, as if that were the answer; an `error` part
 * prevents that.
 */
function failing(
  error: ModelFailedError,
  call: LanguageModelV4CallOptions,
  settings: Recovering,
): ReadableStream<LanguageModelV4StreamPart> {
  if (settings.surface === 'part' && call.prompt.at(-1)?.role !== 'tool') throw error;
  let told = false;
  return new ReadableStream<LanguageModelV4StreamPart>(
    {
      pull(controller) {
        if (told) return end(controller, error, settings);
        told = true;
        return controller.enqueue({ type: 'error', error });
      },
    },
    { highWaterMark: 0 },
  );
}

function end(
  controller: ReadableStreamDefaultController<LanguageModelV4StreamPart>,
  error: ModelFailedError,
  { surface }: Recovering,
): void {
  switch (surface) {
    case 'part':
      return controller.close();
    case 'throw':
      return controller.error(error);
    default:
      return assertNever(surface, 'recovering()');
  }
}
