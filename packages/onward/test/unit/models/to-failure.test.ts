import { APICallError, JSONParseError } from '@ai-sdk/provider';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { classify } from '../../../src/kernel/classify.ts';
import { failureChain } from '../../../src/kernel/failure.ts';
import { findNonJson, type Json } from '../../../src/kernel/json.ts';
import { toFailure } from '../../../src/models/to-failure.ts';

/** Counts how often code of it ran. */
function hostile(): { readonly thrown: object; readonly ran: () => number } {
  let ran = 0;
  const trap = (): never => {
    ran += 1;
    throw new Error('code of the thrown value ran');
  };
  const proto = {};
  const thrown = Object.create(proto) as object;
  const fields = [
    'message',
    'name',
    'code',
    'type',
    'status',
    'statusCode',
    'cause',
    'errors',
    'data',
    'error',
    'headers',
  ];
  for (const field of [...fields, 'responseHeaders', 'responseBody', 'response', 'requestId', 'stack', 'toString'])
    Object.defineProperty(field.length % 2 === 0 ? thrown : proto, field, { get: trap, enumerable: true });
  Object.defineProperty(thrown, Symbol.toPrimitive, { get: trap });
  Object.defineProperty(thrown, Symbol.toStringTag, { get: trap });
  Object.defineProperty(thrown, 'toJSON', { get: trap });
  return { thrown, ran: () => ran };
}

/** A proxy whose every trap counts. */
function trapped(target: object): { readonly thrown: object; readonly ran: () => number } {
  let ran = 0;
  const handler = new Proxy(
    {},
    {
      get: () => () => {
        ran += 1;
        throw new Error('a trap ran');
      },
    },
  );
  return { thrown: new Proxy(target, handler), ran: () => ran };
}

describe('A128 a hostile value', () => {
  test('with getters everywhere runs none of them, and is a plain failure', () => {
    const { thrown, ran } = hostile();

    const failure = toFailure(thrown);

    expect(ran()).toBe(0);
    expect(findNonJson(failure)).toBeUndefined();
    expect(failure.message).toBe('An object was thrown that says nothing of itself.');
  });

  test('that is a proxy, or has one as cause, headers or prototype, meets no trap', () => {
    const proxies = [trapped({}), trapped(new Error('x')), trapped(() => undefined), trapped([])];
    const [one, two, three, four] = proxies.map(({ thrown }) => thrown);

    const failures = [
      toFailure(one),
      toFailure(new Error('outer', { cause: two })),
      toFailure({ message: 'with headers', responseHeaders: three, data: four }),
      toFailure(Object.create(one as object)),
    ];

    expect(proxies.map(({ ran }) => ran())).toEqual([0, 0, 0, 0]);
    expect(failures.map((failure) => findNonJson(failure))).toEqual([undefined, undefined, undefined, undefined]);
  });

  test('gives facts where they are plain data, also inherited ones', () => {
    class ProviderError extends Error {
      readonly status = 529;
      readonly error = { type: 'overloaded_error', message: 'Overloaded' };
    }

    expect(toFailure(new ProviderError('busy'))).toEqual({ message: 'busy', type: 'overloaded_error', status: 529 });
  });

  test('takes nothing from what somebody put on all objects', () => {
    // oxlint-disable-next-line eslint/no-extend-native -- what a careless library does is what this is about
    Object.defineProperty(Object.prototype, 'statusCode', { value: 529, configurable: true });
    try {
      expect(toFailure({ message: 'm' })).toEqual({ message: 'm' });
    } finally {
      Reflect.deleteProperty(Object.prototype, 'statusCode');
    }
  });

  test('whatever it is, is turned into bounded, plain JSON', () => {
    fc.assert(
      fc.property(fc.anything({ withBigInt: true, withDate: true, withMap: true, withSparseArray: true }), (value) => {
        for (const thrown of [value, Object.assign(new Error('x'), { cause: value, data: value, status: value })]) {
          const failure = toFailure(thrown, 0);
          expect(findNonJson(failure)).toBeUndefined();
          expect(failure.message.length).toBeLessThanOrEqual(500);
        }
      }),
    );
  });

  test.each([
    ['a text', 'a text'],
    [undefined, 'A value was thrown that is no error: undefined.'],
    [null, 'A value was thrown that is no error: null.'],
    [Symbol('s'), 'A value was thrown that is no error: Symbol(s).'],
    [7n, 'A value was thrown that is no error: 7.'],
  ])('that is no object (%s) is named', (thrown, message) => {
    expect(toFailure(thrown)).toEqual({ message });
  });
});

function typeOf(type: string, code: string): Json | undefined {
  return toFailure({ error: { message: 'm', type, code } }).type;
}

describe('the facts of an error', () => {
  test('are its causes too, sixteen at most, and a ring of causes ends', () => {
    let deep: Error = new Error('innermost');
    for (let depth = 0; depth < 40; depth += 1) deep = new Error(`level ${depth}`, { cause: deep });
    const ring = new Error('one');
    const other = new Error('two', { cause: ring });
    ring.cause = other;

    const chain = failureChain(toFailure(deep));

    expect(chain).toHaveLength(16);
    expect(chain.at(-1)?.cause).toBeUndefined();
    expect(toFailure(ring)).toEqual({ message: 'one', cause: { message: 'two' } });
  });

  test('keep the code of the transport, three causes deep', () => {
    const socket = Object.assign(new Error('other side closed'), { code: 'UND_ERR_SOCKET' });
    const failure = toFailure(new Error('outer', { cause: new TypeError('terminated', { cause: socket }) }));

    expect(failureChain(failure).map(({ code }) => code)).toEqual([undefined, undefined, 'UND_ERR_SOCKET']);
    expect(classify(failure).class).toBe('transient');
  });

  test('of several errors at once are those of the first', () => {
    const refused = Object.assign(new Error('connect ECONNREFUSED ::1:1'), { code: 'ECONNREFUSED' });

    expect(toFailure(new AggregateError([refused, new Error('other')]))).toMatchObject({
      cause: { code: 'ECONNREFUSED' },
    });
  });

  test.each([Number.NaN, Infinity, -1, 0, 99, 600, 429.5, '429', null])('leave out a status of %s', (status) => {
    expect(toFailure({ message: 'm', status, statusCode: status })).toEqual({ message: 'm' });
  });

  test('are cut to a line of 500 characters without half a character', () => {
    const failure = toFailure(new Error(`first\n  second ${'😀'.repeat(400)}`));

    expect(failure.message.startsWith('first second ')).toBe(true);
    expect(failure.message.length).toBeLessThanOrEqual(500);
    expect(failure.message.isWellFormed()).toBe(true);
  });

  test('have no key that a provider quotes', () => {
    const key = `sk-ant-${'a1B2'.repeat(8)}`;

    expect(JSON.stringify(toFailure(new Error(`Bad key ${key}`, { cause: { message: key } })))).not.toContain(key);
  });

  test('have nothing of what was sent', () => {
    const error = new APICallError({
      message: 'Overloaded',
      url: 'https://example.test/?key=canary-url',
      requestBodyValues: { messages: ['canary-prompt'] },
      statusCode: 529,
      responseHeaders: { 'request-id': 'req_1', 'set-cookie': 'canary-cookie', 'Retry-After': '3' },
      responseBody: '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"echo":"canary-echo"}',
    });

    expect(toFailure(error)).toEqual({
      message: 'Overloaded',
      type: 'overloaded_error',
      status: 529,
      retryAfterMs: 3000,
      requestId: 'req_1',
    });
  });

  test('are found in the error of other clients: headers that are an object of the platform, the error beside them', () => {
    const error = Object.assign(new Error('429 slow down'), {
      status: 429,
      headers: new Headers({ 'X-Request-Id': 'req_2', 'retry-after-ms': '1500' }),
      error: { type: 'requests', code: 'rate_limit_exceeded', message: 'slow down' },
    });

    expect(toFailure(error)).toEqual({
      message: '429 slow down',
      type: 'rate_limit_exceeded',
      status: 429,
      code: 'rate_limit_exceeded',
      retryAfterMs: 1500,
      requestId: 'req_2',
    });
  });

  test('of several words of a provider put the one that says more first', () => {
    expect(typeOf('invalid_request_error', 'context_length_exceeded')).toBe('context_length_exceeded');
    expect(typeOf('invalid_request_error', 'some_new_code')).toBe('invalid_request_error');
    expect(typeOf('some_new_type', 'some_new_code')).toBe('some_new_type');
  });

  test('have the status that a gateway puts into its body, and not the one that the SDK made up for a typed error', () => {
    const marked = Object.defineProperty(
      { message: 'm', type: 'overloaded_error', statusCode: 529, data: { type: 'overloaded_error', message: 'm' } },
      Symbol.for('vercel.ai.providerStreamError'),
      { value: true },
    );

    expect(toFailure({ code: 429, message: 'm' }).status).toBe(429);
    expect(toFailure(marked)).toEqual({ message: 'm', type: 'overloaded_error' });
  });

  test('say when a usage limit ends, by body or by header', () => {
    const seconds = 1_900_000_000;
    const headers = {
      'anthropic-ratelimit-unified-status': 'rejected',
      'anthropic-ratelimit-unified-reset': String(seconds),
    };

    const byHeader = toFailure({
      message: 'm',
      statusCode: 429,
      responseHeaders: headers,
      data: { error: { type: 'rate_limit_error' } },
    });
    const byBody = toFailure({ message: 'm', error: { type: 'usage_limit_reached', resets_at: seconds } });
    const stillAllowed = toFailure({
      message: 'm',
      responseHeaders: { ...headers, 'anthropic-ratelimit-unified-status': 'allowed' },
    });

    expect([byHeader, byBody].map(({ resetsAt }) => resetsAt)).toEqual([seconds * 1000, seconds * 1000]);
    expect([byHeader, byBody].map((failure) => classify(failure).class)).toEqual(['quota', 'quota']);
    expect(stillAllowed).toEqual({ message: 'm' });
  });

  test('trust no verdict that a value carries', () => {
    const claims = {
      message: 'm',
      isRetryable: true,
      text: { class: 'transient', rule: 'x' },
      process: 'idle-timeout',
      stop: 'refusal',
    };

    expect(toFailure(claims)).toEqual({ message: 'm' });
  });

  test('tell an abort from a time-out', () => {
    const time = toFailure(new DOMException('Too slow.', 'TimeoutError'));

    expect(toFailure(new DOMException('Stop.', 'AbortError'))).toEqual({ message: 'Stop.', type: 'aborted' });
    expect(time).toEqual({ message: 'Too slow.', type: 'timeout_error' });
    expect(classify(time).class).toBe('transient');
  });

  test('of an answer that could not be read do not quote it', () => {
    const error = new JSONParseError({ text: '{"text":"canary-answer', cause: undefined });

    expect(toFailure(error)).toEqual({ message: 'A piece of the answer was not valid JSON.', type: 'malformed_chunk' });
  });

  test('of a body too long to be an error are those beside it', () => {
    const body = JSON.stringify({ error: { type: 'overloaded_error', message: 'x'.repeat(70_000) } });

    expect(toFailure({ message: 'm', statusCode: 500, responseBody: body })).toEqual({ message: 'm', status: 500 });
  });
});
