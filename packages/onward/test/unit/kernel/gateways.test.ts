import { describe, expect, it } from 'vitest';

import { classify } from '../../../src/kernel/classify.ts';

/** What gateways, proxies and load balancers say in their own words, with a status of theirs: none is in any table. */
const shaped: readonly (readonly [status: number, message: string])[] = [
  [500, 'fail to touch upstream'],
  [500, 'the channel went away while relaying'],
  [500, 'panic: runtime error: index out of range'],
  [500, 'do request failed'],
  [500, 'bad response status code 500'],
  [501, 'method is not implemented by the relay'],
  [502, 'Bad Gateway'],
  [502, 'upstream sent an invalid header'],
  [502, 'no live upstreams while connecting to upstream'],
  [502, 'ProxyError: tunnel closed early'],
  [502, 'backend fetch gave up'],
  [503, 'no healthy upstream'],
  [503, 'upstream connect error or disconnect/reset before headers'],
  [503, 'Service Temporarily Unavailable'],
  [503, 'all backends are in cool-down'],
  [503, 'no available channel right now'],
  [503, 'queue is full, drop request'],
  [503, 'GPU pool is warming up'],
  [503, 'maintenance until further notice'],
  [504, 'upstream request timeout'],
  [504, 'Gateway Time-out'],
  [504, 'the model did not answer within 60 seconds'],
  [507, 'relay cache is full'],
  [508, 'loop in relay chain'],
  [520, 'web server is returning an unknown error'],
  [521, 'web server is down'],
  [522, 'connection timed out at the edge'],
  [523, 'origin is unreachable'],
  [524, 'a timeout occurred at the edge'],
  [525, 'handshake with the origin failed'],
  [529, 'site is overloaded'],
  [530, 'origin DNS error'],
  [598, 'network read timeout behind proxy'],
  [599, 'network connect timeout behind proxy'],
  [408, 'request body arrived too slowly'],
  [409, 'another request holds the slot'],
  [425, 'too early for this replica'],
  [499, 'client closed request'],
];

/** The same kind of words with nothing structured beside them. */
const shapeless: readonly string[] = [
  'fail to touch upstream',
  'upstream is sad',
  'relay: context canceled',
  'unexpected EOF',
  'Something went wrong. If this issue persists please contact us',
  'terminated',
  'fetch failed',
  'socket hang up',
  'Connection error.',
  'Network request failed',
  'Provider returned error',
  'The server had an error while processing your request',
  '<html><head><title>502 Bad Gateway</title></head></html>',
  'server_error 500 overloaded please retry',
  'Rate limit reached for requests',
  'too many concurrent sessions',
  'quota will reset after 12h34m',
  'insufficient balance, please top up',
  'your plan does not cover this model',
  'Unauthorized: token expired',
  'Forbidden',
  'prompt is too long: 210000 tokens > 200000 maximum',
  'maximum context length is 128000 tokens',
  'No conversation found with session ID',
  'model is loading',
  '',
  '\u0000\uFFFD',
  '服务繁忙，请稍后再试',
  'サーバーが混雑しています',
  '[object Object]',
];

describe('R09 unknown wordings of gateways', () => {
  it.each(shaped)('R09 given status %i and "%s", it is transient', (status, message) => {
    expect(classify({ message, status })).toMatchObject({ class: 'transient', evidence: `status=${status}` });
  });

  it.each(shaped)('R09 given status %i and "%s" with a type of the gateway, it is transient', (status, message) => {
    expect(classify({ message, status, type: 'new_api_error', category: 'unknown' }).class).toBe('transient');
  });

  it.each(shapeless)('R09 given only "%s", nothing is guessed', (message) => {
    expect(classify({ message })).toMatchObject({ class: 'unclassified', evidence: 'no structured signal' });
  });

  it.each([
    [401, 'auth'],
    [403, 'auth'],
    [402, 'billing'],
    [429, 'throttled'],
    [400, 'input'],
  ] as const)('R09 a gateway does not loosen %i, which stays %s', (status, kind) => {
    const classes = shaped.map(([, message]) => classify({ message, status, type: 'new_api_error' }).class);
    expect(new Set(classes)).toEqual(new Set([kind]));
  });
});
