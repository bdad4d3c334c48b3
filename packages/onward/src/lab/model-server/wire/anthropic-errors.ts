import type { ErrorCondition } from '../fault.ts';
import type { ErrorAnswer, ErrorDetails } from '../wire-format.ts';
import { BAD_GATEWAY_PAGE } from './bad-gateway-page.ts';

/** Status, type and message of each condition, worded as the service words them (docs.anthropic.com, "Errors"). */
const ERRORS: Readonly<Record<ErrorCondition, readonly [status: number, type: string, message: string]>> = {
  'bad-request': [400, 'invalid_request_error', 'metadata.user_id: String should have at most 256 characters'],
  unauthorised: [401, 'authentication_error', 'invalid x-api-key'],
  forbidden: [403, 'permission_error', 'Your API key does not have permission to use the specified resource.'],
  'not-found': [404, 'not_found_error', 'model: MODEL'],
  'too-large': [413, 'request_too_large', 'Request exceeds the maximum size'],
  'rate-limited': [
    429,
    'rate_limit_error',
    "This request would exceed your organization's rate limit of 50 requests per minute.",
  ],
  'usage-limit': [
    429,
    'rate_limit_error',
    "This request would exceed your account's rate limit. Please try again later.",
  ],
  billing: [
    400,
    'invalid_request_error',
    'Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.',
  ],
  'context-overflow': [400, 'invalid_request_error', 'prompt is too long: 210000 tokens > 200000 maximum'],
  'server-error': [500, 'api_error', 'Internal server error'],
  'bad-gateway': [502, 'api_error', 'Bad gateway'],
  unavailable: [503, 'api_error', 'Service unavailable'],
  overloaded: [529, 'overloaded_error', 'Overloaded'],
};

/** The HTTP error of this API for a condition. */
export function anthropicError(condition: ErrorCondition, details: ErrorDetails): ErrorAnswer {
  const [status, type, message] = ERRORS[condition];
  if (condition === 'bad-gateway') return { status, headers: {}, body: BAD_GATEWAY_PAGE };
  const headers = condition === 'usage-limit' ? usageLimitHeaders(details.resetsAt) : {};
  return { status, headers, body: errorBody(type, message.replace('MODEL', details.model)) };
}

/** The 400 for a request that makes no sense. */
export function anthropicInvalid(message: string): ErrorAnswer {
  return { status: 400, headers: {}, body: errorBody('invalid_request_error', message) };
}

function errorBody(type: string, message: string): ErrorAnswer['body'] {
  return { type: 'error', error: { type, message }, request_id: 'req_lab' };
}

/** What a subscription account gets: the reset time is in these headers alone, in seconds since the epoch. */
function usageLimitHeaders(resetsAt: number): Record<string, string> {
  return {
    'anthropic-ratelimit-unified-status': 'rejected',
    'anthropic-ratelimit-unified-reset': String(resetsAt),
    'anthropic-ratelimit-unified-representative-claim': 'five_hour',
    'anthropic-ratelimit-unified-5h-status': 'rejected',
    'anthropic-ratelimit-unified-5h-reset': String(resetsAt),
    'anthropic-ratelimit-unified-5h-utilization': '1.0',
  };
}
