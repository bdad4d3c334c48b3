import type { ErrorCondition } from '../fault.ts';
import type { JsonObject } from '../json.ts';
import type { ErrorAnswer, ErrorDetails } from '../wire-format.ts';
import { BAD_GATEWAY_PAGE } from './bad-gateway-page.ts';

interface OpenAiError {
  readonly status: number;
  readonly message: string;
  readonly type: string;
  readonly code: string | null;
  readonly param?: string;
}

const QUOTA =
  'You exceeded your current quota, please check your plan and billing details. For more information on this error, read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors.';

/** Each condition as OpenAI words it (platform.openai.com, "Error codes"); shared by Responses and Chat Completions. */
const ERRORS: Readonly<Record<ErrorCondition, OpenAiError>> = {
  'bad-request': {
    status: 400,
    message: "Invalid value: 'lab'. Supported values are: 'low', 'medium', and 'high'.",
    type: 'invalid_request_error',
    code: 'invalid_value',
    param: 'reasoning.effort',
  },
  unauthorised: {
    status: 401,
    message:
      'Incorrect API key provided: sk-lab***. You can find your API key at https://platform.openai.com/account/api-keys.',
    type: 'invalid_request_error',
    code: 'invalid_api_key',
  },
  forbidden: {
    status: 403,
    message: 'Country, region, or territory not supported',
    type: 'request_forbidden',
    code: 'unsupported_country_region_territory',
  },
  'not-found': {
    status: 404,
    message: 'The model `MODEL` does not exist or you do not have access to it.',
    type: 'invalid_request_error',
    code: 'model_not_found',
  },
  'too-large': { status: 413, message: 'Request too large', type: 'invalid_request_error', code: 'request_too_large' },
  'rate-limited': {
    status: 429,
    message:
      'Rate limit reached for MODEL in organization org-lab on requests per min (RPM): Limit 3, Used 3, Requested 1. Please try again in 3s.',
    type: 'requests',
    code: 'rate_limit_exceeded',
  },
  'usage-limit': { status: 429, message: 'The usage limit has been reached', type: 'usage_limit_reached', code: null },
  billing: { status: 429, message: QUOTA, type: 'insufficient_quota', code: 'insufficient_quota' },
  'context-overflow': {
    status: 400,
    message: 'Your input exceeds the context window of this model. Please adjust your input and try again.',
    type: 'invalid_request_error',
    code: 'context_length_exceeded',
    param: 'input',
  },
  'server-error': {
    status: 500,
    message: 'The server had an error while processing your request. Sorry about that!',
    type: 'server_error',
    code: null,
  },
  'bad-gateway': { status: 502, message: 'Bad gateway', type: 'server_error', code: null },
  unavailable: {
    status: 503,
    message: 'Our servers are currently overloaded. Please try again later.',
    type: 'service_unavailable_error',
    code: 'server_is_overloaded',
  },
  overloaded: { status: 529, message: 'Overloaded', type: 'overloaded_error', code: null },
};

/** The HTTP error of this API for a condition. */
export function openAiError(condition: ErrorCondition, details: ErrorDetails): ErrorAnswer {
  const { status } = ERRORS[condition];
  if (condition === 'bad-gateway') return { status, headers: {}, body: BAD_GATEWAY_PAGE };
  const error = openAiErrorObject(condition, details);
  if (condition !== 'usage-limit') return { status, headers: {}, body: { error } };
  const limit = { plan_type: 'plus', resets_at: details.resetsAt, resets_in_seconds: details.resetsAt - details.now };
  return { status, headers: usageLimitHeaders(details.resetsAt), body: { error: { ...error, ...limit } } };
}

/** The `error` member alone, as it also appears inside streams. */
export function openAiErrorObject(condition: ErrorCondition, details: ErrorDetails): JsonObject {
  const { message, type, code, param } = ERRORS[condition];
  return { message: message.replace('MODEL', details.model), type, param: param ?? null, code };
}

/** The code that a failed stream carries: those without one are plain server errors. */
export function openAiStreamCode(condition: ErrorCondition): string {
  if (condition === 'overloaded') return 'server_is_overloaded';
  return ERRORS[condition].code ?? (condition === 'usage-limit' ? 'usage_limit_reached' : 'server_error');
}

/** The 400 for a request that makes no sense. */
export function openAiInvalid(message: string, param: string): ErrorAnswer {
  return { status: 400, headers: {}, body: { error: { message, type: 'invalid_request_error', param, code: null } } };
}

/** What a ChatGPT account gets beside the body; Codex reads the reset time from here. */
function usageLimitHeaders(resetsAt: number): Record<string, string> {
  return {
    'x-codex-primary-used-percent': '100',
    'x-codex-primary-window-minutes': '300',
    'x-codex-primary-reset-at': String(resetsAt),
    'x-codex-secondary-used-percent': '40',
    'x-codex-secondary-window-minutes': '10080',
    'x-codex-secondary-reset-at': String(resetsAt + 500_000),
  };
}
