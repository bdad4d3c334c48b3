import type { Observation } from '../../adapter.ts';
import { inputTokensOf } from './messages.ts';
import { asShape, numberAt, shapeAt, type Shape, textAt } from './shape.ts';

/** What this process has used so far, and how much of it was already reported. */
export interface UsageSoFar {
  input: number;
  output: number;
  usd: number;
  /** Output of the message that is being streamed; the CLI repeats it as a running total. */
  streaming: number;
}

/** Nothing used yet. */
export function noUsage(): UsageSoFar {
  return { input: 0, output: 0, usd: 0, streaming: 0 };
}

/** Tokens of a streamed message, as they become known, so that an attempt that is lost is not thought to be free. */
export function streamUsage(so: UsageSoFar, event: Shape): readonly Observation[] {
  switch (textAt(event, 'type') ?? '') {
    case 'message_start':
      so.streaming = 0;
      return report(so, inputTokensOf(shapeAt(shapeAt(event, 'message'), 'usage')), 0, 0);
    case 'message_delta': {
      const total = numberAt(shapeAt(event, 'usage'), 'output_tokens') ?? 0;
      const added = more(total, so.streaming);
      so.streaming = Math.max(so.streaming, total);
      return report(so, 0, added, 0);
    }
    default:
      return [];
  }
}

/**
 * What a `result` adds to that. Its totals are those of the whole process, all models and subagents; after a resume
 * they do not contain earlier processes (measured with 2.1.197: 70 of 71 recorded pairs).
 */
export function resultUsage(so: UsageSoFar, result: Shape): readonly Observation[] {
  const models = Object.values(shapeAt(result, 'modelUsage') ?? {}).flatMap((value): readonly Shape[] => {
    const model = asShape(value);
    return model === undefined ? [] : [model];
  });
  const sum = (...fields: readonly string[]): number =>
    models.reduce((total, model) => total + fields.reduce((n, field) => n + (numberAt(model, field) ?? 0), 0), 0);
  const usage = shapeAt(result, 'usage');
  const input =
    models.length > 0 ? sum('inputTokens', 'cacheReadInputTokens', 'cacheCreationInputTokens') : inputTokensOf(usage);
  const output = models.length > 0 ? sum('outputTokens') : (numberAt(usage, 'output_tokens') ?? 0);
  const usd = numberAt(result, 'total_cost_usd') ?? 0;
  return report(so, more(input, so.input), more(output, so.output), more(usd, so.usd));
}

function more(total: number, before: number): number {
  return Math.max(0, total - before);
}

function report(so: UsageSoFar, input: number, output: number, usd: number): readonly Observation[] {
  so.input += input;
  so.output += output;
  so.usd += usd;
  if (input === 0 && output === 0 && usd === 0) return [];
  return [{ kind: 'usage', scope: 'own', inputTokens: input, outputTokens: output, ...(usd > 0 ? { usd } : {}) }];
}
