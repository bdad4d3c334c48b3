import { describe, expect, test } from 'vitest';
import { classify } from '../../../../src/kernel/classify.ts';
import type { FailureClass } from '../../../../src/kernel/failure.ts';
import { readBanner } from '../../../../src/supervisor/adapters/claude/banners.ts';
import { outcome, play, say } from './support.ts';

/**
 * What Claude Code is known to print, with the class that the provider's documentation of the error calls for.
 * 2.1: from the recordings and the source of 2.1.197. 1.x, 2.0: from public reports.
 */
const corpus: readonly (readonly [version: string, category: string, text: string, expected: FailureClass])[] = [
  ['2.1', 'rate_limit', "You've hit your session limit · resets 4:25pm (UTC)", 'quota'],
  ['2.1', 'rate_limit', "You've hit your weekly limit · resets Dec 4, 9am (Europe/Berlin)", 'quota'],
  ['2.1', 'rate_limit', "You've hit your Opus limit · resets 11pm", 'quota'],
  ['2.1', 'rate_limit', "You've hit your limit · resets 3pm (America/New_York)", 'quota'],
  ['2.1', 'rate_limit', "You've hit your usage limit · resets 3pm", 'quota'],
  ['2.1', 'rate_limit', "You're out of extra usage · resets 3pm", 'quota'],
  ['2.0', 'rate_limit', '5-hour limit reached ∙ resets 3pm', 'quota'],
  ['2.0', 'rate_limit', 'Session limit reached ∙ resets 6pm', 'quota'],
  ['2.0', 'rate_limit', 'Weekly limit reached ∙ resets Oct 9, 10am', 'quota'],
  ['2.0', 'rate_limit', 'Opus weekly limit reached ∙ resets Oct 9, 10am', 'quota'],
  ['1.x', 'rate_limit', 'Claude AI usage limit reached|1760000000', 'quota'],
  ['2.1', 'rate_limit', "You've hit your monthly spend limit. Run /usage-credits to manage your limit.", 'billing'],
  ['2.1', 'rate_limit', 'Your org is out of usage · add funds to continue', 'billing'],
  ['2.1', 'rate_limit', 'Your org is out of usage · contact your admin', 'billing'],
  ['2.1', 'rate_limit', "Your group's usage limit is set to $0 · run /usage-credits to ask your admin", 'billing'],
  ['2.1', 'rate_limit', "Your seat type doesn't include usage", 'billing'],
  ['2.1', 'rate_limit', 'Fable 5 requires usage credits', 'billing'],
  ['2.1', 'rate_limit', 'API Error: Usage credits required for 1M context · turn on usage credits', 'billing'],
  ['2.1', 'billing_error', 'Credit balance is too low', 'billing'],
  [
    '2.1',
    'rate_limit',
    'API Error: Server is temporarily limiting requests (not your usage limit) · wait',
    'throttled',
  ],
  ['2.1', 'rate_limit', 'API Error: Request rejected (429) · this may be a temporary capacity issue.', 'throttled'],
  [
    '2.0',
    'unknown',
    'API Error: 429 {"type":"error","error":{"type":"rate_limit_error","message":"slow"}}',
    'throttled',
  ],
  ['2.0', 'unknown', 'API Error: Rate limit reached', 'throttled'],
  ['2.1', 'server_error', 'API Error: 529 Overloaded. This is a server-side issue, usually temporary', 'transient'],
  ['2.1', 'server_error', 'API Error: Repeated 529 Overloaded errors. The API is at capacity', 'transient'],
  [
    '2.0',
    'unknown',
    'API Error: 529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}',
    'transient',
  ],
  ['2.1', 'unknown', 'API Error: Overloaded', 'transient'],
  [
    '2.0',
    'unknown',
    'API Error: 500 {"type":"error","error":{"type":"api_error","message":"Internal server error"}}',
    'transient',
  ],
  ['1.x', 'unknown', 'API Error (502 <html><head><title>502 Bad Gateway</title></head></html>)', 'transient'],
  ['2.0', 'unknown', 'Opus is experiencing high load, please use /model to switch to Sonnet', 'transient'],
  ['2.1', 'server_error', 'API Error: Unable to connect to API (ConnectionRefused)', 'transient'],
  ['2.1', 'server_error', 'API Error: Unable to connect to API (ECONNRESET)', 'transient'],
  [
    '2.1',
    'server_error',
    'API Error: Connection to the API was lost (ECONNRESET). This is usually temporary — try again.',
    'transient',
  ],
  [
    '2.1',
    'server_error',
    'API Error: Connection closed mid-response. The response above may be incomplete.',
    'transient',
  ],
  ['2.1', 'server_error', 'API Error: Response stalled mid-stream. The response above may be incomplete.', 'transient'],
  ['2.0', 'unknown', 'API Error: Connection error.', 'transient'],
  ['2.1', 'unknown', 'API Error: The socket connection was closed unexpectedly', 'transient'],
  ['2.1', 'server_error', 'Request timed out', 'transient'],
  ['1.x', 'unknown', 'API Error (Request timed out.)', 'transient'],
  ['2.0', 'unknown', 'API Error: terminated', 'transient'],
  [
    '2.1',
    'unknown',
    'API Error: API returned an empty or malformed response (HTTP 200) — check for a proxy',
    'transient',
  ],
  ['2.1', 'unknown', 'API Error: Failed to parse JSON', 'transient'],
  ['2.1', 'authentication_failed', 'Not logged in · Please run /login', 'auth'],
  ['2.1', 'authentication_failed', 'Invalid API key · Fix external API key', 'auth'],
  ['2.0', 'unknown', 'Invalid API key · Please run /login', 'auth'],
  ['2.0', 'unknown', 'OAuth token revoked · Please run /login', 'auth'],
  [
    '2.0',
    'unknown',
    'API Error: 401 {"type":"error","error":{"type":"authentication_error"}} · Please run /login',
    'auth',
  ],
  ['2.0', 'unknown', 'OAuth token has expired. Please obtain a new token', 'auth'],
  ['2.1', 'authentication_failed', 'Failed to authenticate. API Error: 403 Request not allowed', 'auth'],
  ['2.1', 'authentication_failed', 'Please run /login · API Error: 401 Unauthorized', 'auth'],
  ['2.1', 'oauth_org_not_allowed', 'Your account does not have access to Claude Code. Please run /login', 'auth'],
  ['2.1', 'invalid_request', 'Your ANTHROPIC_API_KEY belongs to a disabled organization · Unset the variable', 'auth'],
  ['2.1', 'invalid_request', 'Your organization has disabled Claude subscription access for Claude Code', 'auth'],
  ['2.1', 'invalid_request', 'Prompt is too long', 'overflow'],
  ['2.1', 'invalid_request', 'Request too large (max 32MB). Try with a smaller file.', 'overflow'],
  ['2.1', 'max_output_tokens', 'API Error: The model has reached its context window limit.', 'overflow'],
  ['2.1', 'max_output_tokens', "API Error: Claude's response exceeded the 32000 output token maximum.", 'incomplete'],
  ['2.1', 'model_not_found', "There's an issue with the selected model (x). It may not exist", 'input'],
  ['2.1', 'invalid_request', 'Claude Opus is not available with the Claude Pro plan.', 'input'],
  ['2.1', 'unknown', 'API Error: 400 messages.1.content.0: Input should be a valid dictionary', 'input'],
  ['2.1', 'invalid_request', 'API Error: 400 duplicate tool_use ID in conversation history.', 'context-lost'],
  ['2.1', 'invalid_request', 'API Error: 400 due to tool use concurrency issues.', 'context-lost'],
  [
    '2.1',
    'invalid_request',
    'API Error: Claude Code is unable to respond to this request, which appears to violate our Usage Policy',
    'policy',
  ],
];

describe('what Claude Code is known to print', () => {
  test.each(corpus)('R28 %s, category %s: %s', (_version, category, text, expected) => {
    const { ending } = play([say.init(), say.error(category, text), say.failed(text, null)]);
    expect(outcome(ending)).toBe(expected);
    expect(ending).toMatchObject({ failure: { message: text } });
  });

  test('R28 the wording alone is enough where the category says nothing', () => {
    const unread = corpus.filter(([, , text, expected]) => {
      const banner = readBanner(text);
      const failure = { message: text, ...(banner === undefined ? {} : { text: banner }) };
      return classify(failure).class !== expected;
    });
    expect(unread.map(([, , text]) => text)).toEqual([]);
  });

  test('the end of a limit is read where an old version printed it in seconds', () => {
    expect(readBanner('Claude AI usage limit reached|1760000000')).toMatchObject({ resetsAt: 1_760_000_000_000 });
    expect(readBanner('Claude AI usage limit reached')).not.toHaveProperty('resetsAt');
  });

  test('words that are not at the start, and a warning about a limit, mean nothing', () => {
    for (const text of [
      'I saw "API Error: 529 Overloaded" in the log.',
      ' Credit balance is too low',
      "You've used 90% of your session limit · resets 4pm",
      'Approaching usage limit · resets 4pm',
      "You're now using usage credits · Your session limit resets 4pm",
      'Everything is fine: no limit reached',
    ])
      expect(readBanner(text)).toBeUndefined();
  });
});
