import { type PromptResponse, RequestError } from '@agentclientprotocol/sdk';
import type { FinalSettlement } from '../agent/index.ts';
import { assertNever, isOnwardError } from '../kernel/error.ts';
import { failureChain, type FailureClass } from '../kernel/failure.ts';
import type { Json } from '../kernel/json.ts';
import type { Redactor } from '../kernel/redact.ts';

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
const INVALID_PARAMS = -32_602;

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

/** What is thrown inside, as the JSON-RPC error that a client can act on, without secrets. */
export function toRequestError(error: unknown, redactor: Redactor): RequestError {
  const { code, message, data } = plainError(error);
  return new RequestError(code, redactor.text(message), data === undefined ? undefined : redactor.json(data as Json));
}

function plainError(error: unknown): Pick<RequestError, 'code' | 'message' | 'data'> {
  if (error instanceof RequestError) return error;
  if (!isOnwardError(error)) return { code: INTERNAL, message: error instanceof Error ? error.message : String(error) };
  if (error.code === 'session/unknown') return RequestError.sessionNotFound(error.place ?? '');
  const { code, message, next } = error;
  const data = { code, message, ...(next.length === 0 ? {} : { next }) };
  return { code: code === 'agent/bad-content' ? INVALID_PARAMS : INTERNAL, message, data };
}
