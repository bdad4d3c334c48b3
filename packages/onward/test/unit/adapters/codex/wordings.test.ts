import { describe, expect, test } from 'vitest';
import { classify } from '../../../../src/kernel/classify.ts';
import type { FailureClass } from '../../../../src/kernel/failure.ts';
import { line, play } from './attempt.ts';

/** Every sentence with which codex is known to end a turn, and its class. From its source and from recordings. */
const wordings: readonly (readonly [string, FailureClass])[] = [
  [
    'You’ve hit your usage limit. Upgrade to Pro (https://chatgpt.com/explore/pro), visit https://chatgpt.com/settings/usage to purchase more credits or try again at 4:10 PM.',
    'quota',
  ],
  [
    "You've hit your usage limit. Upgrade to Plus to continue using Codex (https://chatgpt.com/explore/plus), or try again at Dec 3rd, 2026 4:10 PM.",
    'quota',
  ],
  ["You've hit your usage limit. To get more access now, send a request to your admin or try again later.", 'quota'],
  ["You've hit your usage limit for gpt-x. Switch to another model now, or try again at 4:10 PM.", 'quota'],
  ["You've hit your usage limit. Try again later.", 'quota'],
  ['Quota exceeded. Check your plan and billing details.', 'billing'],
  ['To use Codex with your ChatGPT plan, upgrade to Plus: https://chatgpt.com/explore/plus.', 'billing'],
  ['Your workspace is out of credits. Add credits to continue.', 'billing'],
  ['Your workspace is out of credits. Ask your workspace owner to refill in order to continue.', 'billing'],
  ['You hit your spend cap set in your workspace. Increase your spend cap to continue.', 'billing'],
  [
    'You hit your spend cap set by the owner of your workspace. Ask an owner to increase your spend cap to continue.',
    'billing',
  ],
  [
    "Codex ran out of room in the model's context window. Start a new thread or clear earlier history before retrying.",
    'overflow',
  ],
  ['Selected model is at capacity. Please try a different model.', 'transient'],
  ['We’re currently experiencing high demand, which may cause temporary errors.', 'transient'],
  ["We're currently experiencing high demand, which may cause temporary errors.", 'transient'],
  ['rate limit exceeded: Rate limit reached for some-model. Please try again in 3s.', 'throttled'],
  ['exceeded retry limit, last status: 429 Too Many Requests', 'throttled'],
  ['exceeded retry limit, last status: 429 Too Many Requests, request id: req_1', 'throttled'],
  ['exceeded retry limit, last status: 503 Service Unavailable', 'transient'],
  [
    'unexpected status 401 Unauthorized: Incorrect API key provided: DUMMY., url: http://127.0.0.1/v1/responses',
    'auth',
  ],
  ['unexpected status 402 Payment Required: payment required, url: http://127.0.0.1/v1/responses', 'billing'],
  [
    'unexpected status 403 Forbidden: Project does not have access to this model., url: http://127.0.0.1/v1/responses',
    'auth',
  ],
  [
    'Access blocked by Cloudflare. This usually happens when connecting from a restricted region (status 403 Forbidden), url: http://h',
    'auth',
  ],
  ['unexpected status 413 Payload Too Large: Request too large, url: http://127.0.0.1/v1/responses', 'overflow'],
  ['unexpected status 422 Unprocessable Entity: Unknown error', 'input'],
  ['unexpected status 502 Bad Gateway: <html>, url: http://127.0.0.1/v1/responses', 'transient'],
  ['unexpected status 529 <unknown status code>: Overloaded, url: http://127.0.0.1/v1/responses', 'transient'],
  ['unexpected status 200 OK: <html>, url: http://127.0.0.1/v1/responses', 'transient'],
  ['The model `some-model` does not exist or you do not have access to it.', 'input'],
  ['stream disconnected before completion: error sending request', 'transient'],
  ['stream disconnected before completion: Transport error: network error: error decoding response body', 'transient'],
  ['stream disconnected before completion: stream closed before response.completed', 'transient'],
  ['stream disconnected before completion: idle timeout waiting for SSE', 'transient'],
  ['stream disconnected before completion: The server had an error while processing your request.', 'transient'],
  ['stream disconnected before completion: Incomplete response returned, reason: upstream_error', 'transient'],
  ['stream disconnected before completion: Incomplete response returned, reason: content_filter', 'policy'],
  ['Incomplete response returned, reason: max_output_tokens', 'incomplete'],
  ['Connection failed: error sending request for url (http://127.0.0.1/v1/responses)', 'transient'],
  ['Error while reading the server response: error decoding response body, request id: r', 'transient'],
  ['request timed out', 'transient'],
  [
    'This content was flagged for possible cybersecurity risk. If this seems wrong, try rephrasing your request.',
    'policy',
  ],
  ['Invalid prompt: your prompt was flagged as potentially violating our usage policy.', 'policy'],
  ['Image poisoning', 'input'],
  ['sandbox error: Landlock was not able to fully enforce all sandbox rules', 'policy'],
  [
    'Your access token could not be refreshed because your refresh token has expired. Please log out and sign in again.',
    'auth',
  ],
  [
    'Your access token could not be refreshed because your refresh token was already used. Please log out and sign in again.',
    'auth',
  ],
  [
    'Your access token could not be refreshed because you have since logged out or signed in to another account. Please sign in again.',
    'auth',
  ],
  ['Missing environment variable: `OPENAI_API_KEY`. Create an API key and export it.', 'auth'],
  ['internal error; agent loop died unexpectedly', 'crash'],
];

function judge(message: string): ReturnType<typeof classify> {
  const { ending } = play([line.thread(), line.turn(), line.error(message), line.failed(message)], {
    exit: { code: 1, signal: null },
  });
  if (ending.ok) throw new Error('judged a success');
  return classify(ending.failure);
}

describe('sentences of codex', () => {
  test.each(wordings)('R28 %s', (message, expected) => {
    const { class: found, rule } = judge(message);
    expect(found).toBe(expected);
    expect(rule).toMatch(/^(?:kernel\/1:|codex-text\/1:)/);
  });

  test('R06 a capacity error is transient, not an end', () => {
    expect(judge('Selected model is at capacity. Please try a different model.').class).toBe('transient');
  });

  test.each(['fail to touch upstream', 'gateway: upstream request failed', 'no healthy upstream'])(
    'R09 an unknown upstream wording is transient by its 5xx status, and unclassified without one: %s',
    (wording) => {
      expect(judge(`unexpected status 503 Service Unavailable: ${wording}, url: http://127.0.0.1/v1`).class).toBe(
        'transient',
      );
      expect(judge(`exceeded retry limit, last status: 500 Internal Server Error`).class).toBe('transient');
      expect(judge(wording).class).toBe('unclassified');
    },
  );

  test.each(wordings)('R34 the same words inside another sentence mean nothing: %s', (message) => {
    expect(judge(`The test prints: ${message}`).class).toBe('unclassified');
  });
});
