import { classify } from '../kernel/classify.ts';
import type { Failure } from '../kernel/failure.ts';
import { createRedactor, type Redactor } from '../kernel/redact.ts';
import { type KnownError, knownError } from './known-errors.ts';
import { limitEndOf, type ProviderError, providerErrorOf } from './provider-error.ts';
import { dataOf, domExceptionField, headerOf, numberOf, textOf } from './read-data.ts';
import { retryAfterMs } from './retry-after.ts';

const longestMessage = 500;
const longestWord = 100;
/** Links of a chain of causes, as many as `failureChain` reads. */
const longestChain = 16;

/** Providers quote keys in their messages. */
const redactor: Redactor = createRedactor({});

/** Set by the AI SDK on errors that came inside a stream: their `statusCode` was made up from the type. */
const inStream = Symbol.for('vercel.ai.providerStreamError');

/**
 * The facts of whatever was thrown, or sent as an error inside a stream: message, status, the provider's type and code, the
 * transport's code, hints, request id, causes. Never throws and never runs code of the value: only data properties are read, no
 * accessor, nothing of a proxy. The result is plain JSON and bounded; what was sent (headers, body, URL) is not in it. `now`, ms
 * since the epoch, serves for a `Retry-After` date in a response without a `Date`.
 */
export function toFailure(thrown: unknown, now?: number): Failure {
  return link(thrown, now, []);
}

function link(thrown: unknown, now: number | undefined, above: readonly unknown[]): Failure {
  if ((typeof thrown !== 'object' && typeof thrown !== 'function') || thrown === null)
    return {
      message: oneLine(typeof thrown === 'string' ? thrown : `A value was thrown that is no error: ${String(thrown)}.`),
    };
  const name = domExceptionField(thrown, 'name') ?? textOf(thrown, 'name');
  const known = knownError(name);
  const body = providerErrorOf(thrown);
  const cause = causeOf(thrown, [...above, thrown], now);
  return {
    message: messageOf(thrown, { name, known, body }),
    ...typesOf(thrown, known, body),
    ...hintsOf(thrown, body, now),
    ...(cause === undefined ? {} : { cause }),
  };
}

interface Names {
  readonly name: string | undefined;
  readonly known: KnownError | undefined;
  readonly body: ProviderError;
}

function messageOf(thrown: unknown, { name, known, body }: Names): string {
  const own = known?.message ?? domExceptionField(thrown, 'message') ?? textOf(thrown, 'message') ?? body.message;
  return oneLine(
    own ?? textOf(thrown, 'code') ?? name ?? `${article(typeof thrown)} was thrown that says nothing of itself.`,
  );
}

/** Type, code and status. Of type and code of a provider, the one that says more is the type. */
function typesOf(thrown: unknown, known: KnownError | undefined, body: ProviderError): Partial<Failure> {
  const code = word(textOf(thrown, 'code') ?? body.code);
  const provided = [body.code, body.type].find(saysSomething) ?? body.type;
  // Anthropic tells a usage limit that ends from a full minute by a header alone.
  const limited = limitEndOf(headersOf(thrown)) === undefined ? undefined : 'usage_limit_reached';
  const type = word(limited ?? provided ?? known?.type);
  const status = statusOf(thrown, type ?? code) ?? body.status;
  return {
    ...(type === undefined ? {} : { type }),
    ...(status === undefined ? {} : { status }),
    ...(code === undefined ? {} : { code }),
  };
}

function hintsOf(thrown: unknown, body: ProviderError, now: number | undefined): Partial<Failure> {
  const headers = headersOf(thrown);
  const read = (name: string): string | undefined => headerOf(headers, name);
  const wait = retryAfterMs(read, now);
  const resetsAt = body.resetsAt ?? limitEndOf(headers);
  const requestId = word(
    requestIdIn(headers) ?? textOf(thrown, 'requestId') ?? textOf(thrown, 'requestID') ?? body.requestId,
  );
  return {
    ...(wait === undefined ? {} : { retryAfterMs: wait }),
    ...(resetsAt === undefined ? {} : { resetsAt }),
    ...(requestId === undefined ? {} : { requestId }),
  };
}

/** The name that a provider gave a request, in its response headers. */
export function requestIdIn(headers: unknown): string | undefined {
  const names = ['request-id', 'x-request-id', 'x-amzn-requestid', 'apim-request-id'];
  return names.map((name) => headerOf(headers, name)).find((id) => id !== undefined);
}

/**
 * The HTTP status. For an error that came inside a stream the AI SDK makes one up from its type, or 500: that is no fact, and
 * the type says more.
 */
function statusOf(thrown: unknown, typed: string | undefined): number | undefined {
  const inside = dataOf(thrown, inStream) === true || isStream(headersOf(thrown));
  const status = numberOf(thrown, 'statusCode') ?? numberOf(thrown, 'status');
  if (status === undefined || !Number.isInteger(status) || status < 100 || status > 599) return undefined;
  return inside && typed !== undefined && status >= 400 ? undefined : status;
}

/** Providers answer with a stream only when they have accepted the request, with status 200. */
function isStream(headers: unknown): boolean {
  return headerOf(headers, 'content-type')?.startsWith('text/event-stream') === true;
}

function headersOf(thrown: unknown): unknown {
  return (
    dataOf(thrown, 'responseHeaders') ?? dataOf(thrown, 'headers') ?? dataOf(dataOf(thrown, 'response'), 'headers')
  );
}

/** The cause, or the first of several errors at once (the platform tries several addresses of one host). */
function causeOf(thrown: unknown, above: readonly unknown[], now: number | undefined): Failure | undefined {
  const cause = dataOf(thrown, 'cause') ?? dataOf(dataOf(thrown, 'errors'), '0');
  if (cause === undefined || cause === null || above.includes(cause) || above.length >= longestChain) return undefined;
  return link(cause, now, above);
}

function saysSomething(type: string | undefined): boolean {
  return type !== undefined && classify({ message: '', type }).class !== 'unclassified';
}

/** A bounded word of a foreign program: no secret, no half of a character. */
function word(text: string | undefined): string | undefined {
  return text === undefined ? undefined : redactor.text(text.slice(0, longestWord).toWellFormed());
}

/** One line, without what looks like a secret. Cut before it is searched, so that a long one costs little. */
function oneLine(text: string): string {
  const short = text
    .slice(0, 4 * longestMessage)
    .replaceAll(/\s+/g, ' ')
    .trim();
  return redactor.text(short.toWellFormed()).slice(0, longestMessage).toWellFormed();
}

function article(kind: string): string {
  return kind === 'object' ? 'An object' : `A ${kind}`;
}
