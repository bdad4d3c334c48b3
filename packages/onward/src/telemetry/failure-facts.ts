import { classify } from '../kernel/classify.ts';
import { type Failure, type FailureClass, failureChain } from '../kernel/failure.ts';
import { safeWord } from './safe-text.ts';
import type { SpanEnd } from './span-change.ts';

/** What a trace says of a failure: never its message, which may quote what was sent. */
export interface FailureFacts {
  readonly class: FailureClass;
  readonly rule: string;
  /** The provider's own name of the error, else the code of the transport, else the status, else the class. */
  readonly type: string;
  /** HTTP status. */
  readonly status?: number;
}

/** The facts of a failure; `known` where its class and rule are on record. */
export function factsOf(
  failure: Failure,
  known?: { readonly class: FailureClass; readonly rule: string },
): FailureFacts {
  const judged = known ?? classify(failure);
  const chain = failureChain(failure);
  const status = first(chain, (link) => (Number.isInteger(link.status) ? link.status : undefined));
  const named =
    first(chain, ({ type }) => safeWord(type)) ??
    first(chain, ({ code }) => safeWord(code)) ??
    first(chain, ({ category }) => safeWord(category)) ??
    first(chain, ({ process }) => safeWord(process)) ??
    first(chain, ({ stop }) => safeWord(stop));
  return {
    class: judged.class,
    rule: safeWord(judged.rule) ?? 'unknown',
    type: named ?? (status === undefined ? judged.class : String(status)),
    ...(status === undefined ? {} : { status }),
  };
}

function first<Value>(chain: readonly Failure[], read: (link: Failure) => Value | undefined): Value | undefined {
  for (const link of chain) {
    const value = read(link);
    if (value !== undefined) return value;
  }
  return undefined;
}

/** The end of a span that failed so; of one that did not, nothing. */
export function endOfFailure(facts: FailureFacts | undefined): SpanEnd {
  if (facts === undefined) return { attributes: {} };
  const attributes = {
    'error.type': facts.type,
    'onward.failure.class': facts.class,
    'onward.failure.rule': facts.rule,
    ...(facts.status === undefined ? {} : { 'http.response.status_code': facts.status }),
  };
  return { attributes, error: `${facts.class} (${facts.rule})` };
}
