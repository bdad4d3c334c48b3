import { type PromptResponse, RequestError } from '@agentclientprotocol/sdk';
import type { FinalSettlement } from '../agent/index.ts';
import { assertNever, isOnwardError } from '../kernel/error.ts';
import { failureChain, type FailureClass } from '../kernel/failure.ts';

/**
 * What a client hears of the end of its prompt. Throws the JSON-RPC error of a failure. A prompt that was not admitted is a
 * `refusal`, which in ACP means just that: it is not part of the conversation.
 */
export function promptAnswer(settlement: FinalSettlement, now: number): PromptResponse {
  switch (settlement.kind) {
    case 'done':
      return { stopReason: 'end_turn', _meta: { onward: { usage: settlement.usage } } };
    case 'incomplete':
      return { stopReason: 'max_tokens' };
    case 'limit':
      return { stopReason: 'max_turn_requests', _meta: { onward: { unit: settlement.unit, limit: settlement.limit } } };
    case 'cancelled':
    case 'interrupted':
      return { stopReason: 'cancelled' };
    case 'blocked':
      return { stopReason: 'refusal', _meta: { onward: { because: settlement.because } } };
    case 'failed':
      throw failureError(settlement, now);
    default:
      return assertNever(settlement, 'the end of a prompt');
  }
}

/** Classes of failures after which the same prompt may well succeed later, without anybody changing anything. */
const retryable: ReadonlySet<FailureClass> = new Set<FailureClass>([
  'transient',
  'throttled',
  'quota',
  'incomplete',
  'crash',
]);

const INTERNAL = -32_603;

function failureError(settlement: Extract<FinalSettlement, { readonly kind: 'failed' }>, now: number): RequestError {
  const { failure, class: failureClass, retryAt } = settlement;
  const status = failureChain(failure).find((link) => link.status !== undefined)?.status;
  return new RequestError(INTERNAL, failure.message, {
    class: failureClass,
    retryable: retryable.has(failureClass),
    ...(retryAt === undefined ? {} : { retryAfter: Math.max(0, Math.ceil(retryAt - now)) }),
    ...(status === undefined ? {} : { status }),
    message: failure.message,
  });
}

/** What is thrown inside, as the JSON-RPC error that a client can act on; anything unknown stays as it is. */
export function toRequestError(error: unknown): unknown {
  if (!isOnwardError(error)) return error;
  if (error.code === 'session/unknown') return RequestError.sessionNotFound(error.place ?? '');
  const { code, next } = error;
  const data = { code, message: error.message, ...(next.length === 0 ? {} : { next }) };
  return new RequestError(code === 'agent/bad-content' ? -32_602 : INTERNAL, error.message, data);
}
