import type { TurnEnd } from '../agent/index.ts';
import { assertNever } from '../kernel/error.ts';
import { endOfFailure, factsOf } from './failure-facts.ts';
import { safeWord } from './safe-text.ts';
import type { SpanEnd } from './span-change.ts';

/** The end of a turn's span, and, when no retry follows, of the span of the whole prompt: only a failure and a crash are errors; who cancels, or sets a limit, gets what they wanted. */
export function endOfTurn(end: TurnEnd): SpanEnd {
  const reason = { 'onward.outcome': end.reason };
  switch (end.reason) {
    case 'completed':
    case 'max-tokens':
      return { attributes: reason };
    case 'interrupted':
      return { attributes: { ...reason, 'error.type': 'interrupted' }, error: 'interrupted' };
    case 'aborted':
    case 'disposed': {
      const cause = safeWord(end.cause);
      return { attributes: { ...reason, ...(cause === undefined ? {} : { 'onward.cancel.cause': cause }) } };
    }
    case 'limit': {
      const { scope, unit, limit } = end;
      return {
        attributes: {
          ...reason,
          'onward.limit.scope': scope,
          'onward.limit.unit': safeWord(unit) ?? 'unknown',
          'onward.limit.value': limit,
        },
      };
    }
    case 'failed': {
      const failed = endOfFailure(factsOf(end.failure, end));
      return { ...failed, attributes: { ...reason, ...failed.attributes } };
    }
    default:
      return assertNever(end, 'the end of a turn');
  }
}
