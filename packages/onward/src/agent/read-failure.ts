import { types } from 'node:util';
import { type Failure, type FailureClass, failureClasses } from '../kernel/failure.ts';
import { copyJson } from './copy-json.ts';
import { toFailure } from '../models/to-failure.ts';

const longestMessage = 500;
const longestWord = 200;
/** Links of a chain of causes, as many as `failureChain` reads. */
const longestChain = 16;
/** The last moment that a `Date` can hold, ms: what "never" becomes, since JSON has no infinity. */
const lastMoment = 8_640_000_000_000_000;

const words = ['type', 'category', 'code', 'stop', 'requestId'] as const;
const numbers = ['status', 'retryAfterMs', 'resetsAt'] as const;

/**
 * A failure as a model reported it, made fit for the log: plain, bounded, and read without running code of it. What is no
 * failure at all is taken for something thrown. Facts about processes and denied calls are not a model's to report.
 */
export function readFailure(value: unknown, now: number): Failure {
  return typeof dataOf(value, 'message') === 'string' ? link(value, 1) : toFailure(value, now);
}

function link(value: unknown, depth: number): Failure {
  const message = dataOf(value, 'message');
  const failure: Record<string, unknown> = {
    message: typeof message === 'string' ? cut(message, longestMessage) : 'It says nothing of itself.',
  };
  for (const field of words) {
    const word = dataOf(value, field);
    if (typeof word === 'string' && word !== '') failure[field] = cut(word, longestWord);
  }
  for (const field of numbers) {
    const number = dataOf(value, field);
    if (typeof number === 'number' && !Number.isNaN(number)) failure[field] = Math.min(number, lastMoment) + 0;
  }
  const text = copyJson(dataOf(value, 'text')) as { readonly class?: FailureClass; readonly rule?: string } | undefined;
  if (text?.class !== undefined && failureClasses.includes(text.class)) failure['text'] = text;
  const cause = dataOf(value, 'cause');
  if (typeof cause === 'object' && cause !== null && depth < longestChain) failure['cause'] = link(cause, depth + 1);
  return failure as unknown as Failure;
}

/** A property of its own that is plain data; an accessor or a proxy has none, and no code of it runs. */
export function dataOf(value: unknown, key: string): unknown {
  if (typeof value !== 'object' || value === null || types.isProxy(value)) return undefined;
  return Object.getOwnPropertyDescriptor(value, key)?.value as unknown;
}

/** Bounded, without half a character at the end. */
function cut(text: string, longest: number): string {
  return text.slice(0, longest).toWellFormed();
}
