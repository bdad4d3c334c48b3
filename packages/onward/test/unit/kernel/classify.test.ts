import { describe, expect, it } from 'vitest';

import { classify } from '../../../src/kernel/classify.ts';
import { type Failure, type FailureClass, failureClasses } from '../../../src/kernel/failure.ts';

const end = Date.UTC(2030, 0, 1, 16, 25);

/** Facts of a failure besides its message, the class they must give, and the rule that must say so. */
type Case = readonly [facts: Partial<Failure>, kind: FailureClass, rule: string];

const types = (kind: FailureClass, rule: string, ...names: readonly string[]): readonly Case[] =>
  names.map((type): Case => [{ type }, kind, rule]);

/** Anthropic's error types, OpenAI's codes, the names of Codex, and the types that our own loops give. */
const typed: readonly Case[] = [
  ...types('transient', 'overloaded', 'overloaded_error', 'server_is_overloaded', 'server_overloaded', 'slow_down'),
  ...types('transient', 'server-error-type', 'api_error', 'server_error', 'internal_server_error', 'timeout_error'),
  ...types('transient', 'server-error-type', 'stream_disconnected', 'empty_answer', 'cut_answer', 'malformed_chunk'),
  ...types('transient', 'server-error-type', 'http_connection_failed', 'response_stream_connection_failed'),
  ...types('transient', 'server-error-type', 'response_stream_disconnected', 'response_too_many_failed_attempts'),
  ...types('throttled', 'throttle-type', 'rate_limit_error', 'rate_limit_exceeded', 'too_many_requests'),
  ...types('quota', 'usage-limit-unknown-end', 'usage_limit_reached'),
  ...types(
    'billing',
    'billing-type',
    'billing_error',
    'insufficient_quota',
    'usage_limit_exceeded',
    'usage_not_included',
  ),
  ...types('billing', 'billing-type', 'credit_exhausted', 'billing_hard_limit_reached', 'billing_not_active'),
  ...types('auth', 'auth-type', 'authentication_error', 'permission_error', 'invalid_api_key', 'unauthorized'),
  ...types('auth', 'auth-type', 'refresh_token_failed'),
  ...types('overflow', 'overflow-type', 'context_length_exceeded', 'context_window_exceeded', 'prompt_too_long'),
  ...types('overflow', 'overflow-type', 'request_too_large'),
  ...types('policy', 'policy-type', 'content_filter', 'refusal', 'cyber_policy', 'sandbox_denied', 'sandbox_error'),
  ...types('input', 'invalid-request-type', 'invalid_request_error', 'not_found_error', 'bad_request'),
  ...types('input', 'input-type', 'model_not_found', 'invalid_input', 'invalid_prompt'),
  ...types('input', 'budget-type', 'max_budget', 'error_max_budget_usd', 'session_budget_exceeded'),
  ...types('conflict', 'conflict-type', 'stale_version', 'active_writer'),
  ...types('quality', 'quality-type', 'check_failed', 'error_max_structured_output_retries'),
  ...types('incomplete', 'incomplete-type', 'max_turns', 'error_max_turns', 'max_output_tokens', 'interrupted'),
  ...types('incomplete', 'incomplete-type', 'subagent_killed'),
  ...types('context-lost', 'session-unknown', 'session_not_found', 'session_changed', 'session_unreadable'),
  ...types('context-lost', 'no-progress', 'poisoned_history'),
  ...types('outcome-unknown', 'unknown-outcome', 'outcome_unknown'),
];

const categories: readonly Case[] = [
  [{ category: 'authentication_failed' }, 'auth', 'auth-category'],
  [{ category: 'oauth_org_not_allowed' }, 'auth', 'auth-category'],
  [{ category: 'cloud_credential_error' }, 'auth', 'auth-category'],
  [{ category: 'billing_error' }, 'billing', 'billing-category'],
  [{ category: 'account_on_hold' }, 'billing', 'billing-category'],
  [{ category: 'rate_limit' }, 'throttled', 'throttle-category'],
  [{ category: 'invalid_request' }, 'input', 'input-status'],
  [{ category: 'server_error' }, 'transient', 'server-category'],
  [{ category: 'overloaded' }, 'transient', 'server-category'],
  [{ category: 'model_not_found' }, 'input', 'model-category'],
  [{ category: 'max_output_tokens' }, 'incomplete', 'tokens-category'],
  [{ category: 'unknown' }, 'unclassified', 'nothing-fits'],
];

const statuses: readonly Case[] = [
  ...[500, 501, 502, 503, 504, 520, 522, 524, 529, 530, 599, 408, 409, 425, 499].map((status): Case => [
    { status },
    'transient',
    'retry-status',
  ]),
  ...[400, 404, 405, 406, 410, 415, 418, 421, 422, 451].map((status): Case => [{ status }, 'input', 'input-status']),
  [{ status: 401 }, 'auth', 'auth-status'],
  [{ status: 403 }, 'auth', 'auth-status'],
  [{ status: 402 }, 'billing', 'billing-status'],
  [{ status: 413 }, 'overflow', 'overflow-status'],
  [{ status: 429 }, 'throttled', 'throttle-status'],
  ...[0, -1, 100, 200, 204, 302, 399, 600, 999, Number.NaN].map((status): Case => [
    { status },
    'unclassified',
    'nothing-fits',
  ]),
];

const codes =
  `ECONNRESET ECONNREFUSED ECONNABORTED EPIPE ETIMEDOUT EAI_AGAIN ENETUNREACH EHOSTUNREACH ENOTFOUND ENETDOWN
  ENETRESET EHOSTDOWN ERR_STREAM_PREMATURE_CLOSE ConnectionRefused ConnectionClosed UND_ERR_SOCKET UND_ERR_HEADERS_TIMEOUT
  UND_ERR_BODY_TIMEOUT UND_ERR_CONNECT_TIMEOUT`.split(/\s+/);

const others: readonly Case[] = [
  ...codes.map((code): Case => [{ code }, 'transient', 'transport']),
  [{ stop: 'refusal' }, 'policy', 'refused'],
  [{ stop: 'content_filter' }, 'policy', 'refused'],
  [{ stop: 'model_context_window_exceeded' }, 'overflow', 'context-stop'],
  ...['max_tokens', 'max_output_tokens', 'pause_turn', 'max_turns', 'max_turn_requests', 'length'].map((stop): Case => [
    { stop },
    'incomplete',
    'ended-early',
  ]),
  [{ stop: 'end_turn' }, 'unclassified', 'nothing-fits'],
  [{ resetsAt: end }, 'quota', 'usage-limit'],
  [{ type: 'usage_limit_reached', resetsAt: end }, 'quota', 'usage-limit-type'],
  [{ type: 'usage_limit_exceeded', resetsAt: end }, 'quota', 'usage-limit-type'],
  [{ denied: [{ tool: 'Bash', summary: 'rm' }] }, 'policy', 'denied-calls'],
  [{ denied: [] }, 'unclassified', 'nothing-fits'],
  [{ process: 'startup-timeout' }, 'transient', 'stalled'],
  [{ process: 'idle-timeout' }, 'transient', 'stalled'],
  [{ process: 'tool-timeout' }, 'crash', 'tool-stalled'],
  [{ process: 'wall-timeout' }, 'incomplete', 'time-is-up'],
  [{ process: 'ended-without-result' }, 'crash', 'ended-without-result'],
  [{ process: 'host-crashed' }, 'crash', 'ended-without-result'],
  [{ process: 'spawn-failed' }, 'crash', 'ended-without-result'],
  [{ process: 'not-gone' }, 'outcome-unknown', 'process-not-gone'],
  ...['ENOENT', 'EACCES', 'E2BIG', 'ENOTDIR', 'ENOEXEC'].map((code): Case => [
    { process: 'spawn-failed', code },
    'input',
    'no-such-program',
  ]),
  [{ code: 'ENOENT' }, 'unclassified', 'nothing-fits'],
  [{ process: 'spawn-failed', code: 'EAGAIN' }, 'crash', 'ended-without-result'],
  [{ exit: { code: null, signal: 'SIGKILL' } }, 'crash', 'killed'],
  [{ exit: { code: 1, signal: null } }, 'unclassified', 'nothing-fits'],
  [{ exit: { code: 173, signal: null } }, 'unclassified', 'nothing-fits'],
  [{}, 'unclassified', 'nothing-fits'],
];

const all: readonly Case[] = [...typed, ...categories, ...statuses, ...others];

const sayings = [
  'Error: 529 overloaded_error, please retry after 3600 s',
  'src/limits.ts:429: if (rate_limit_exceeded) throw new Error("usage limit reached, resets at 4:25pm")',
  'Rate limit detected: continue where you left off. insufficient_quota, credit balance is too low',
  'HTTP 401 Unauthorized: Invalid API key. Please run /login',
  'prompt is too long: maximum context length exceeded. No conversation found with session ID',
  'wrote 529 bytes; 503 tests passed; line 401, column 429',
];

describe('each signal by itself', () => {
  it.each(all)('given %j, the class is %s by %s', (facts, kind, rule) => {
    expect(classify({ message: 'it failed', ...facts })).toMatchObject({ class: kind, rule: `kernel/1:${rule}` });
  });

  it('every class but those of the loops themselves has a rule', () => {
    expect(new Set(all.map(([, kind]) => kind))).toEqual(new Set(failureClasses));
  });

  it('an adapter names its own rule and class', () => {
    const text = { class: 'throttled', rule: 'codex-text/3:rate-limit' } as const;
    expect(classify({ message: 'x', text })).toMatchObject({ class: 'throttled', rule: 'codex-text/3:rate-limit' });
  });

  it('says on what evidence', () => {
    expect(classify({ message: 'x', status: 529 }).evidence).toBe('status=529');
    expect(classify({ message: 'x', resetsAt: end }).evidence).toBe('resetsAt=2030-01-01T16:25:00.000Z');
    expect(classify({ message: 'x', exit: { code: 7, signal: null } }).evidence).toBe('exit=7');
    expect(classify({ message: 'x' }).evidence).toBe('no structured signal');
  });

  it('names each denied tool once', () => {
    const denied = ['Bash', 'Write', 'Bash'].map((tool) => ({ tool, summary: '' }));
    expect(classify({ message: 'x', denied }).evidence).toBe('denied=Bash,Write');
  });
});

const wrapped = (facts: Partial<Failure>): Failure => ({
  message: 'the turn failed',
  exit: { code: 1, signal: null },
  cause: { message: 'the request failed', category: 'unknown', cause: { message: 'the stream failed', ...facts } },
});

describe('the cause chain', () => {
  it.each(all)('given %j three deep, the class is still %s by %s', (facts, kind, rule) => {
    expect(classify(wrapped(facts))).toMatchObject({ class: kind, rule: `kernel/1:${rule}` });
  });

  it('two signals of one rule may lie in different links', () => {
    expect(classify({ message: 'x', type: 'usage_limit_exceeded', cause: { message: 'y', resetsAt: end } }).class).toBe(
      'quota',
    );
    expect(classify({ message: 'x', resetsAt: end, cause: { message: 'y', type: 'usage_limit_exceeded' } }).class).toBe(
      'quota',
    );
    expect(classify({ message: 'x', process: 'spawn-failed', cause: { message: 'y', code: 'ENOENT' } }).class).toBe(
      'input',
    );
  });

  it('a cause that is its own cause ends', () => {
    const loop: { message: string; cause?: Failure } = { message: 'x' };
    loop.cause = loop;
    expect(classify(loop).class).toBe('unclassified');
  });
});

describe('which of two signals is heard', () => {
  it.each<readonly [string, Partial<Failure>, FailureClass]>([
    ['R10 an overload inside HTTP 200', { status: 200, type: 'overloaded_error' }, 'transient'],
    ['R10 an overload under a 400', { status: 400, type: 'overloaded_error' }, 'transient'],
    ['a general server type inside HTTP 200', { status: 200, type: 'api_error' }, 'transient'],
    ['a general server type with 401', { status: 401, type: 'api_error' }, 'auth'],
    ['a general server type with 429', { status: 429, type: 'server_error' }, 'throttled'],
    ['a general input type with 401, as OpenAI sends it', { status: 401, type: 'invalid_request_error' }, 'auth'],
    ['a general input type with 402', { status: 402, type: 'invalid_request_error' }, 'billing'],
    ['R09 a general input type under a 502', { status: 502, type: 'invalid_request_error' }, 'transient'],
    ['a general input type with 404', { status: 404, type: 'not_found_error' }, 'input'],
    ['R32 missing credit with 429', { status: 429, type: 'insufficient_quota' }, 'billing'],
    ['R32 missing credit with 400, as Claude says it', { status: 400, category: 'billing_error' }, 'billing'],
    ['R32 missing credit, though a usage limit is known', { category: 'billing_error', resetsAt: end }, 'billing'],
    ['a usage limit, as Claude says it', { status: 429, category: 'rate_limit', resetsAt: end }, 'quota'],
    ['an expired login, though a usage limit is known', { status: 401, resetsAt: end }, 'auth'],
    ['an outage, though a usage limit is known', { status: 529, resetsAt: end }, 'transient'],
    ['an outage, as Claude says it', { status: 500, category: 'server_error', resetsAt: end }, 'transient'],
    [
      'a full context, as Claude says it',
      { status: 400, category: 'invalid_request', type: 'prompt_too_long' },
      'overflow',
    ],
    ['a body too large, as Claude says it', { status: 413, category: 'invalid_request' }, 'overflow'],
    ['a 400, as Claude says it', { status: 400, category: 'unknown' }, 'input'],
    ['a 404, as Claude says it', { status: 404, category: 'model_not_found' }, 'input'],
    ['a 403, as Claude says it', { status: 403, category: 'authentication_failed' }, 'auth'],
    ['Codex out of attempts on 429', { status: 429, type: 'response_too_many_failed_attempts' }, 'throttled'],
    ['Codex without a connection on 401', { status: 401, type: 'http_connection_failed' }, 'auth'],
    ['Codex without a connection on 529', { status: 529, type: 'http_connection_failed' }, 'transient'],
    ['Codex cut off without a status', { type: 'response_stream_disconnected' }, 'transient'],
    ['a structured status beside a text rule', { status: 401, text: { class: 'transient', rule: 't/1:x' } }, 'auth'],
    [
      'a text rule beside a lost process',
      { process: 'ended-without-result', text: { class: 'auth', rule: 't/1:x' } },
      'auth',
    ],
    [
      'a stalled agent that we killed',
      { process: 'idle-timeout', exit: { code: null, signal: 'SIGKILL' } },
      'transient',
    ],
    [
      'our own time limit, though we killed',
      { process: 'wall-timeout', exit: { code: null, signal: 'SIGKILL' } },
      'incomplete',
    ],
    [
      'a process that is not gone, whatever else it said',
      { process: 'not-gone', status: 529, type: 'overloaded_error' },
      'outcome-unknown',
    ],
    [
      'an unknown outcome with denied calls',
      { type: 'outcome_unknown', denied: [{ tool: 'Bash', summary: '' }] },
      'outcome-unknown',
    ],
    [
      'denied calls in an answer that ended well',
      { stop: 'end_turn', denied: [{ tool: 'Bash', summary: '' }] },
      'policy',
    ],
  ])('%s', (_, facts, kind) => {
    expect(classify({ message: 'x', ...facts }).class).toBe(kind);
  });
});

describe('words', () => {
  it.each(sayings)('R34 R35 R36 in a message never change the class: %s', (message) => {
    for (const [facts, kind] of all) {
      expect(classify({ message, ...facts }).class).toBe(kind);
      expect(classify({ message: 'x', cause: { message, ...facts } }).class).toBe(kind);
    }
  });

  it.each(sayings)('R34 in the summary of a denied call never change the class: %s', (summary) => {
    expect(classify({ message: 'x', denied: [{ tool: 'Bash', summary }] }).class).toBe('policy');
  });

  it.each(sayings)('R28 an unknown type, category, code or stop is not searched for known words: %s', (words) => {
    const failure: Failure = { message: 'x', type: words, category: words, code: words, stop: words };
    expect(classify(failure).class).toBe('unclassified');
  });
});

describe('bad facts', () => {
  it.each([Number.NaN, Number.POSITIVE_INFINITY, -1, 8.64e15 + 1, Number.MAX_VALUE])(
    'an end of a usage limit that is no moment (%s) is no end, and no crash',
    (resetsAt) => {
      expect(classify({ message: 'x', resetsAt }).class).toBe('unclassified');
      expect(classify({ message: 'x', type: 'usage_limit_exceeded', resetsAt }).class).toBe('billing');
      expect(classify({ message: 'x', type: 'usage_limit_reached', resetsAt }).class).toBe('quota');
    },
  );
});
