import type { Failure } from '../kernel/failure.ts';
import { failureOf } from './failure-of.ts';

const BRAND = 'onward.effect-rejected';

/**
 * Thrown by the call of an effect when it is certain that nothing happened, e.g. since the service answered with 4xx or no
 * connection was made. Anything else that a call throws leaves the outcome unknown.
 */
export class EffectRejected extends Error {
  override readonly name = 'EffectRejected';
  /** The brand survives two copies of this package in one program, where `instanceof` would not. */
  readonly brand: typeof BRAND = BRAND;
  readonly failure: Failure;

  constructor(failure: Failure | string, options: { readonly cause?: unknown } = {}) {
    const facts = typeof failure === 'string' ? { message: failure } : failure;
    super(facts.message, options.cause === undefined ? undefined : { cause: options.cause });
    this.failure = options.cause === undefined ? facts : { ...facts, cause: failureOf(options.cause) };
  }
}

/** The failure of an `EffectRejected` of this or another copy of the package; `undefined` for any other error. */
export function rejectionOf(error: unknown): Failure | undefined {
  try {
    if (typeof error !== 'object' || error === null || !('brand' in error) || error.brand !== BRAND) return undefined;
    const { failure } = error as EffectRejected;
    return failureOf(failure);
  } catch {
    return undefined;
  }
}
