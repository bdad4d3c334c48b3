/** Failures of the provider that both CLIs can meet, by what is wrong rather than by number. */
export type FailureName =
  | 'overloaded'
  | 'server-error'
  | 'unavailable'
  | 'unauthorized'
  | 'forbidden'
  | 'bad-request'
  | 'model-not-found'
  | 'throttled'
  | 'usage-limit'
  | 'billing'
  | 'overflow'
  | 'disconnected'
  | 'unreachable';

/** How Claude Code reports a failure: the words and fields as recorded. */
export interface ClaudeFailure {
  /** `api_error_status` of the closing line. */
  readonly status: number | null;
  /** `error` of the made-up assistant line before it. */
  readonly category: string;
  readonly text: string;
  readonly terminalReason?: string;
}

/** How Codex reports a failure: one sentence on its output, and a typed value in its rollout file. */
export interface CodexFailure {
  readonly message: string;
  readonly info: string | { readonly [kind: string]: { readonly http_status_code: number | null } };
}

const later = 'This is a server-side issue, usually temporary — try again in a moment.';

/** The failures in the words of Claude Code 2.1.197. */
export const claudeFailures: { readonly [name in FailureName]: ClaudeFailure } = {
  overloaded: { status: 529, category: 'server_error', text: `API Error: 529 Overloaded. ${later}` },
  'server-error': { status: 500, category: 'server_error', text: `API Error: 500 Internal server error. ${later}` },
  unavailable: { status: 503, category: 'server_error', text: `API Error: 503 Service unavailable. ${later}` },
  unauthorized: { status: 401, category: 'authentication_failed', text: 'Invalid API key · Fix external API key' },
  forbidden: {
    status: 403,
    category: 'authentication_failed',
    text: 'Failed to authenticate. API Error: 403 Request not allowed',
  },
  'bad-request': { status: 400, category: 'unknown', text: 'API Error: 400 messages.0: invalid request' },
  'model-not-found': {
    status: 404,
    category: 'model_not_found',
    text: "There's an issue with the selected model. It may not exist or you may not have access to it.",
  },
  throttled: {
    status: 429,
    category: 'rate_limit',
    text: 'API Error: Request rejected (429) · This request would exceed your organization’s rate limit.',
  },
  'usage-limit': { status: 429, category: 'rate_limit', text: "You've hit your session limit · resets 4:25pm (UTC)" },
  billing: { status: 400, category: 'billing_error', text: 'Credit balance is too low' },
  overflow: {
    status: 400,
    category: 'invalid_request',
    text: 'Prompt is too long',
    terminalReason: 'prompt_too_long',
  },
  disconnected: {
    status: null,
    category: 'server_error',
    text: 'API Error: Connection closed mid-response. The response above may be incomplete.',
  },
  unreachable: {
    status: null,
    category: 'server_error',
    text: 'API Error: Unable to connect to API (ConnectionRefused)',
  },
};

const disconnect = 'stream disconnected before completion: error sending request';

/** The failures in the words of codex-cli 0.171.0. */
export const codexFailures: { readonly [name in FailureName]: CodexFailure } = {
  overloaded: {
    message: 'unexpected status 529 <unknown status code>: Overloaded, url: http://127.0.0.1/v1/responses',
    info: { http_connection_failed: { http_status_code: 529 } },
  },
  'server-error': {
    message: 'We’re currently experiencing high demand, which may cause temporary errors.',
    info: 'internal_server_error',
  },
  unavailable: {
    message: 'Selected model is at capacity. Please try a different model.',
    info: 'server_overloaded',
  },
  unauthorized: {
    message: 'unexpected status 401 Unauthorized: Incorrect API key provided, url: http://127.0.0.1/v1/responses',
    info: { http_connection_failed: { http_status_code: 401 } },
  },
  forbidden: {
    message: 'unexpected status 403 Forbidden: Request not allowed, url: http://127.0.0.1/v1/responses',
    info: { http_connection_failed: { http_status_code: 403 } },
  },
  'bad-request': {
    message: '{"error":{"message":"Invalid request","type":"invalid_request_error","code":null}}',
    info: 'other',
  },
  'model-not-found': { message: 'The requested model does not exist.', info: 'other' },
  throttled: {
    message: 'exceeded retry limit, last status: 429 Too Many Requests',
    info: { response_too_many_failed_attempts: { http_status_code: 429 } },
  },
  'usage-limit': {
    message: 'You’ve hit your usage limit. Upgrade to Pro or try again at 4:10 PM.',
    info: 'usage_limit_exceeded',
  },
  billing: { message: 'Quota exceeded. Check your plan and billing details.', info: 'usage_limit_exceeded' },
  overflow: {
    message:
      "Codex ran out of room in the model's context window. Start a new thread or clear earlier history before retrying.",
    info: 'context_window_exceeded',
  },
  disconnected: {
    message: 'stream disconnected before completion: stream closed before response.completed',
    info: { response_stream_disconnected: { http_status_code: null } },
  },
  unreachable: { message: disconnect, info: 'other' },
};
