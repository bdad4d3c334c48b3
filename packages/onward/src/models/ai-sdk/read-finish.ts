import type { Failure } from '../../kernel/failure.ts';
import type { FinishReason, Usage } from '../model.ts';

/** How a stream says that it is over, in any version of the interface. */
export interface SdkFinish {
  readonly finishReason: string | { readonly unified: string; readonly raw?: string | undefined };
  readonly usage: unknown;
}

/** A finish that is one, or why it is none. */
export type Finished =
  | { readonly kind: 'finish'; readonly reason: FinishReason; readonly raw?: string }
  | { readonly kind: 'failed'; readonly failure: Failure };

/** A stream that ended without saying that it is complete. */
export const cutAnswer: Failure = {
  message: 'The answer ended before the provider said that it was complete.',
  type: 'cut_answer',
};

/**
 * What a finish means. The SDK makes one up when a body ends early: `interrupted`, or before version 4 a reason without the
 * provider's own word. Both are a cut answer.
 */
export function readFinish({ finishReason }: SdkFinish): Finished {
  const [unified, raw] =
    typeof finishReason === 'string' ? [finishReason, undefined] : [finishReason.unified, finishReason.raw];
  const word = raw === undefined ? {} : { raw };
  switch (unified) {
    case 'stop':
    case 'length':
    case 'content-filter':
      return { kind: 'finish', reason: unified, ...word };
    case 'tool-calls':
      return { kind: 'finish', reason: 'calls', ...word };
    case 'error':
      return { kind: 'failed', failure: errorFinish(raw) };
    case 'interrupted':
    case 'unknown':
      return { kind: 'failed', failure: cutAnswer };
    case 'other':
    default:
      if (raw === undefined && typeof finishReason !== 'string') return { kind: 'failed', failure: cutAnswer };
      return { kind: 'finish', reason: 'other', ...word };
  }
}

function errorFinish(raw: string | undefined): Failure {
  const type = 'server_error';
  if (raw === undefined) return { message: 'The provider ended the answer with an error.', type };
  return {
    message: `The provider ended the answer with an error (${raw.slice(0, 100)}).`,
    type,
    stop: raw.slice(0, 100),
  };
}

/** Token counts, flat in version 2 of the interface and nested since; `undefined` when there are none. */
export function readUsage(usage: unknown, price: ((usage: Usage) => number) | undefined): Usage | undefined {
  const {
    inputTokens: input,
    outputTokens: output,
    cachedInputTokens,
  } = (usage ?? {}) as { readonly [key: string]: unknown };
  const counts: Usage = {
    ...count('inputTokens', totalOf(input)),
    ...count('outputTokens', totalOf(output)),
    ...count('cacheReadTokens', isNested(input) ? input['cacheRead'] : cachedInputTokens),
    ...count('cacheWriteTokens', isNested(input) ? input['cacheWrite'] : undefined),
  };
  if (Object.keys(counts).length === 0) return undefined;
  return { ...counts, ...count('usd', price?.(counts)) };
}

function totalOf(value: unknown): unknown {
  return isNested(value) ? value['total'] : value;
}

function isNested(value: unknown): value is { readonly [key: string]: unknown } {
  return typeof value === 'object' && value !== null;
}

function count<Key extends keyof Usage>(key: Key, value: unknown): { readonly [K in Key]?: number } {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0
    ? ({ [key]: value } as { readonly [K in Key]: number })
    : {};
}
