import type { Phase } from './chunks.ts';

/** What happens to a request instead of a healthy answer. */
export type Act =
  | { readonly kind: 'status'; readonly status: number; readonly error: object; readonly retryAfter?: number }
  | { readonly kind: 'reset' }
  | { readonly kind: 'hang-headers' }
  /** The answer up to the middle of a phase (to its end with `whole`), then `ending`. */
  | { readonly kind: 'part'; readonly phase: Phase; readonly whole?: true; readonly ending: Ending }
  /** A whole answer with arguments that are no JSON. */
  | { readonly kind: 'bad-args' }
  | { readonly kind: 'empty' };

/** How an answer goes on that was let through in part. */
export type Ending = 'cut' | 'eof' | 'hang' | 'stall' | 'error' | 'junk-chunk' | 'length';

/** One row of the matrix. */
export interface Fault {
  /** The first request of the conversation that it hits, from 1. Request 1 and 2 ask for the calls, 3 for the last text. */
  readonly at: number;
  /** How many requests from there on. */
  readonly times: number;
  readonly act?: Act;
  /** What kind of row it is, for the score. */
  readonly group: Group;
  /** Refuses requests with more bytes than this as too large, and answers shorter ones. */
  readonly bytes?: number;
}

/** Groups of rows. `permanent` faults cannot be recovered: the right ending is one request and an error. */
export type Group =
  | 'none'
  | 'http'
  | 'wait'
  | 'cut'
  | 'eof'
  | 'output'
  | 'in-stream'
  | 'silence'
  | 'overflow'
  | 'permanent';

const status = (code: number, type: string, retryAfter?: number): Act => ({
  kind: 'status',
  status: code,
  error: { message: `${type} (lab)`, type, param: null, code: type },
  ...(retryAfter === undefined ? {} : { retryAfter }),
});
const once = (group: Group, at: number, act: Act): Fault => ({ at, times: 1, act, group });
const always = (group: Group, act: Act): Fault => ({ at: 2, times: Number.POSITIVE_INFINITY, act, group });
const part = (phase: Phase, ending: Ending): Act => ({ kind: 'part', phase, ending });
const rate = (retryAfter?: number): Act => status(429, 'rate_limit_exceeded', retryAfter);

const rows: readonly (readonly [string, Fault])[] = [
  ['none', { at: 1, times: 0, group: 'none' }],
  ['429', once('http', 2, rate())],
  ['429-ra2', once('http', 2, rate(2))],
  ['429-ra90', once('wait', 2, rate(90))],
  ['500', once('http', 2, status(500, 'server_error'))],
  ['503', once('http', 2, status(503, 'service_unavailable'))],
  ['529', once('http', 2, status(529, 'overloaded_error'))],
  ['reset', once('http', 2, { kind: 'reset' })],
  ['503x3', { at: 2, times: 3, act: status(503, 'service_unavailable'), group: 'http' }],
  ['429x3-ra1', { at: 2, times: 3, act: rate(1), group: 'http' }],
  ['cut-text', once('cut', 3, part('text', 'cut'))],
  ['cut-args', once('cut', 2, part('args', 'cut'))],
  ['cut-after-call', once('cut', 2, { kind: 'part', phase: 'args', whole: true, ending: 'cut' })],
  ['cutx3', { at: 3, times: 3, act: part('text', 'cut'), group: 'cut' }],
  ['eof-text', once('eof', 3, part('text', 'eof'))],
  ['eof-args', once('eof', 2, part('args', 'eof'))],
  ['eof-after-call', once('eof', 2, { kind: 'part', phase: 'args', whole: true, ending: 'eof' })],
  ['length-args', once('output', 2, part('args', 'length'))],
  ['bad-args', once('output', 2, { kind: 'bad-args' })],
  ['sse-error', once('in-stream', 3, part('text', 'error'))],
  ['malformed', once('in-stream', 3, part('text', 'junk-chunk'))],
  ['empty', once('output', 3, { kind: 'empty' })],
  ['stall30', once('silence', 3, part('text', 'stall'))],
  ['hang', once('silence', 2, part('text', 'hang'))],
  ['hang-headers', once('silence', 2, { kind: 'hang-headers' })],
  ['overflow', always('permanent', status(400, 'context_length_exceeded'))],
  ['overflow-big', { ...always('overflow', status(400, 'context_length_exceeded')), bytes: 60_000 }],
  ['invalid', always('permanent', status(400, 'invalid_request_error'))],
  ['401', always('permanent', status(401, 'invalid_api_key'))],
  ['quota', always('permanent', status(429, 'insufficient_quota'))],
];

/** All rows of the matrix by name. */
export const faults: Readonly<Record<string, Fault>> = Object.fromEntries(rows);

/** Their names in the order in which they are printed; an object would have numbers first. */
export const faultNames: readonly string[] = rows.map(([name]) => name);

/** How long a stalled answer of `stall30` stands still, ms. */
export const stallMs = 30_000;
