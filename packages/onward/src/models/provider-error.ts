import { dataOf, headerOf, numberOf, textOf } from './read-data.ts';

/** What a provider's error object says of itself. */
export interface ProviderError {
  readonly message?: string;
  readonly type?: string;
  readonly code?: string;
  /** An HTTP status that the body names, as some gateways do inside a stream. */
  readonly status?: number;
  readonly requestId?: string;
  /** When a usage limit ends, ms since the epoch. */
  readonly resetsAt?: number;
}

/** A longer body is not read: an error of a provider has a few hundred bytes. */
const longestBody = 64 * 1024;

/** Types that only say that this is an error. */
const envelopes: readonly (string | undefined)[] = ['error', 'response.failed', 'response.error'];

/**
 * The error object that was thrown or sent, in the shapes in which providers and their clients wrap it: the text of the HTTP
 * body, the parsed body, `error` in it, `response.error` (OpenAI's failed responses), or the thing itself.
 */
export function providerErrorOf(thrown: unknown): ProviderError {
  const bodies = [parsed(textOf(thrown, 'responseBody')), dataOf(thrown, 'data'), dataOf(thrown, 'error'), thrown];
  for (const body of bodies) {
    const found = read(unwrap(body), body);
    if (found.type !== undefined || found.code !== undefined || found.status !== undefined) return found;
  }
  return {};
}

/** When a subscription's usage limit ends, ms since the epoch; Anthropic says so in headers alone, in seconds. */
export function limitEndOf(headers: unknown): number | undefined {
  if (headerOf(headers, 'anthropic-ratelimit-unified-status') !== 'rejected') return undefined;
  return moment(Number(headerOf(headers, 'anthropic-ratelimit-unified-reset')));
}

function unwrap(body: unknown): unknown {
  const inner = dataOf(body, 'error') ?? dataOf(dataOf(body, 'response'), 'error');
  return typeof inner === 'object' && inner !== null ? inner : body;
}

function read(error: unknown, body: unknown): ProviderError {
  const message = textOf(error, 'message');
  const type = [textOf(error, 'type'), textOf(error, 'status')].find((each) => !envelopes.includes(each));
  const code = textOf(error, 'code');
  const status = httpStatus(numberOf(error, 'code') ?? numberOf(error, 'status'));
  const requestId = textOf(body, 'request_id');
  const resetsAt = moment(numberOf(error, 'resets_at'));
  return {
    ...(message === undefined ? {} : { message }),
    ...(type === undefined ? {} : { type }),
    ...(code === undefined ? {} : { code }),
    ...(status === undefined ? {} : { status }),
    ...(requestId === undefined ? {} : { requestId }),
    ...(resetsAt === undefined ? {} : { resetsAt }),
  };
}

/** The number as an HTTP status of a failure. */
function httpStatus(value: number | undefined): number | undefined {
  return value !== undefined && Number.isInteger(value) && value >= 400 && value <= 599 ? value : undefined;
}

function moment(seconds: number | undefined): number | undefined {
  return seconds !== undefined && Number.isFinite(seconds) && seconds > 0 && seconds < 8.64e12
    ? Math.round(seconds * 1000)
    : undefined;
}

function parsed(text: string | undefined): unknown {
  if (text === undefined || text.length > longestBody) return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
