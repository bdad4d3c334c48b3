import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4FinishReason,
  LanguageModelV4StreamPart,
} from '@ai-sdk/provider';

/** One thing that an attempt does: say a part, throw, fall silent for ever, or do the latter although it is aborted. */
export type Act = LanguageModelV4StreamPart | { readonly throws: unknown } | 'silence' | 'deaf silence';

export interface ScriptedModel extends LanguageModelV4 {
  readonly calls: LanguageModelV4CallOptions[];
  /** Streams of the model that were given up before their end. */
  readonly cancelled: number;
}

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

export const opening: LanguageModelV4StreamPart = { type: 'stream-start', warnings: [] };

export function says(text: string): readonly LanguageModelV4StreamPart[] {
  return [
    { type: 'text-start', id: '0' },
    { type: 'text-delta', id: '0', delta: text },
    { type: 'text-end', id: '0' },
  ];
}

export function finish(unified: LanguageModelV4FinishReason['unified'] = 'stop'): LanguageModelV4StreamPart {
  return { type: 'finish', usage, finishReason: { unified, raw: unified } };
}

/**
 * A model that plays one list of acts for each attempt; the last one again and again. An act that throws or falls silent as the
 * first does so before the headers.
 */
export function scriptedModel(...attempts: readonly (readonly Act[])[]): ScriptedModel {
  const calls: LanguageModelV4CallOptions[] = [];
  let cancelled = 0;
  const next = (call: LanguageModelV4CallOptions): readonly Act[] => {
    calls.push(call);
    return attempts[Math.min(calls.length, attempts.length) - 1] ?? [];
  };
  return {
    specificationVersion: 'v4',
    provider: 'lab',
    modelId: 'scripted',
    supportedUrls: {},
    calls,
    get cancelled() {
      return cancelled;
    },
    async doGenerate(call) {
      const acts = next(call);
      const content = [];
      for (const act of acts) {
        // oxlint-disable-next-line no-await-in-loop -- acts come one after the other
        const part = await perform(act, call.abortSignal);
        if (part.type === 'text-delta') content.push({ type: 'text' as const, text: part.delta });
        if (part.type === 'finish') return { content, usage, finishReason: part.finishReason, warnings: [] };
      }
      return { content, usage, finishReason: { unified: 'interrupted', raw: undefined }, warnings: [] };
    },
    async doStream(call) {
      const acts = next(call);
      if (acts[0] === 'silence' || acts[0] === 'deaf silence' || (acts[0] !== undefined && 'throws' in acts[0]))
        await perform(acts[0], call.abortSignal);
      let index = 0;
      const stream = new ReadableStream<LanguageModelV4StreamPart>(
        {
          async pull(controller) {
            const act = acts[index++];
            if (act === undefined) controller.close();
            else controller.enqueue(await perform(act, call.abortSignal));
          },
          cancel: () => void (cancelled += 1),
        },
        { highWaterMark: 0 },
      );
      return { stream, request: { body: 'asked' }, response: { headers: { 'request-id': `r${calls.length}` } } };
    },
  };
}

async function perform(act: Act, signal: AbortSignal | undefined): Promise<LanguageModelV4StreamPart> {
  if (act === 'deaf silence') return await new Promise(() => undefined);
  if (act === 'silence')
    return await new Promise((_resolve, reject) => {
      const stop = (): void => reject(signal?.reason as Error);
      if (signal?.aborted === true) stop();
      else signal?.addEventListener('abort', stop, { once: true });
    });
  if ('throws' in act) throw act.throws;
  return act;
}
