import { classify } from '../../kernel/classify.ts';
import type { Failure } from '../../kernel/failure.ts';
import { toFailure } from '../to-failure.ts';
import { typeOfCode } from './codes.ts';
import { readWording } from './wording.ts';

/**
 * The facts of what an AI SDK model threw or sent as an `error` part: those of `toFailure`, and what the provider's code or words
 * stand for where it has no type for it. Never throws; plain JSON. `now`: ms since the epoch.
 */
export function aiSdkFailure(thrown: unknown, now?: number): Failure {
  const failure = readWording(toFailure(thrown, now));
  const type = typeOfCode(failure.code);
  return type === undefined || classify(failure).class !== 'unclassified' ? failure : { ...failure, type };
}

/** An attempt that the caller's signal ended. The reason is its cause, so that a time-out of the caller's stays one. */
export function abortedFailure(reason: unknown): Failure {
  return {
    message: 'The request was aborted.',
    type: 'aborted',
    ...(reason === undefined ? {} : { cause: toFailure(reason) }),
  };
}
