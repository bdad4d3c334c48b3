import { APICallError } from '@ai-sdk/provider';
import type { Classification, Failure, FailureClass } from '../kernel/failure.ts';
import { failureChain, retryAfterOf, resetsAtOf } from '../kernel/failure.ts';

/** What is known about a failure that surfaces. */
export interface ModelFailedDetails {
  readonly failure: Failure;
  readonly classification: Classification;
  /** Requests made for this call, the last one included. */
  readonly requests: number;
  /** Part of the answer had reached the consumer: repeating the request would have shown it twice. */
  readonly forwarded: boolean;
  /** Why there is no other request, one line for people. */
  readonly because: string;
  /** When it failed, ms since the epoch. */
  readonly now: number;
  /** What was thrown, if something was. */
  readonly thrown?: unknown;
}

/**
 * A model request that failed for good. It is an `APICallError` with `isRetryable: false`, so that nothing around it
 * tries again: all tries that were allowed have been made. It is also an `OnwardError` in all but its class.
 */
export class ModelFailedError extends APICallError {
  /** See `isOnwardError()`. */
  readonly brand = 'onward.error';
  readonly code = 'ai-sdk/model-failed';
  readonly next: readonly string[];
  readonly place: string | undefined = undefined;
  readonly class: FailureClass;
  /** The rule that named the class, e.g. `kernel/1:overloaded`. */
  readonly rule: string;
  readonly failure: Failure;
  readonly requests: number;
  readonly forwarded: boolean;
  readonly because: string;
  /** When the server said to come back, ms since the epoch. */
  readonly retryAt: number | undefined;

  constructor(details: ModelFailedDetails) {
    const { failure, classification, requests } = details;
    const said = APICallError.isInstance(details.thrown) ? details.thrown : undefined;
    const status = failureChain(failure).find((link) => link.status !== undefined)?.status;
    const times = requests === 1 ? 'one request' : `${requests} requests`;
    super({
      message: `${failure.message} (${classification.class}; ${times}; ${details.because})`,
      url: said?.url ?? '',
      // The prompt is in what was thrown; here it would land in every log of this error.
      requestBodyValues: undefined,
      isRetryable: false,
      cause: details.thrown,
      ...(status === undefined ? {} : { statusCode: status }),
      ...(said?.responseHeaders === undefined ? {} : { responseHeaders: said.responseHeaders }),
      ...(said?.responseBody === undefined ? {} : { responseBody: said.responseBody }),
      ...(said?.data === undefined ? {} : { data: said.data }),
    });
    this.class = classification.class;
    this.rule = classification.rule;
    this.failure = failure;
    this.requests = requests;
    this.forwarded = details.forwarded;
    this.because = details.because;
    this.retryAt = comeBackAt(failure, details.now);
    this.next = this.retryAt === undefined ? [] : [`Come back at ${new Date(this.retryAt).toISOString()}.`];
  }
}

const lastMoment = 8_640_000_000_000_000;

function comeBackAt(failure: Failure, now: number): number | undefined {
  const wait = retryAfterOf(failure);
  const at = resetsAtOf(failure) ?? (wait === undefined || wait === 0 ? undefined : Math.ceil(now + wait));
  return at !== undefined && at <= lastMoment ? at : undefined;
}

/** True for a `ModelFailedError`, also one of another copy of this package. */
export function isModelFailed(error: unknown): error is ModelFailedError {
  return typeof error === 'object' && error !== null && 'code' in error && error.code === 'ai-sdk/model-failed';
}
