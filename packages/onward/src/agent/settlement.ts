import { assertNever } from '../kernel/error.ts';
import type { CallPart, TextPart, ThinkingPart, Usage } from '../models/model.ts';
import type { FinalSettlement } from './agent-api.ts';
import type { TurnEnd } from './session-events.ts';

/** What the end of a prompt's last turn means to whoever asked. */
export function settlementOf(
  turn: number,
  end: TurnEnd,
  chain: { readonly text: string; readonly usage: Usage },
): FinalSettlement {
  switch (end.reason) {
    case 'completed':
      return { kind: 'done', turn, text: chain.text, usage: chain.usage };
    case 'max-tokens':
      return { kind: 'incomplete', turn, partial: chain.text, reason: 'max-tokens' };
    case 'interrupted':
      return { kind: 'interrupted', turn };
    case 'aborted':
    case 'disposed':
      return { kind: 'cancelled', cause: end.cause };
    case 'limit':
      return { kind: 'limit', turn, unit: end.unit, limit: end.limit };
    case 'failed': {
      const { failure, class: kind, retryAt } = end;
      return { kind: 'failed', turn, failure, class: kind, ...(retryAt === undefined ? {} : { retryAt }) };
    }
    default:
      return assertNever(end, 'the end of a turn');
  }
}

/** The text of an answer: all its text blocks. */
export function textOf(parts: readonly (TextPart | ThinkingPart | CallPart)[]): string {
  return parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('');
}

/** Two usages added up; a number that neither has stays absent. */
export function addUsage(a: Usage, b: Usage): Usage {
  const sum: { -readonly [K in keyof Usage]: number } = {};
  for (const key of ['inputTokens', 'outputTokens', 'cacheReadTokens', 'cacheWriteTokens', 'usd'] as const) {
    if (a[key] !== undefined || b[key] !== undefined) sum[key] = (a[key] ?? 0) + (b[key] ?? 0);
  }
  return sum;
}
