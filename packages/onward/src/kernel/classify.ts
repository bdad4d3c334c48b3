import { type Classification, type Failure, type FailureClass, failureChain, resetsAtOf } from './failure.ts';

/** Version of the table below; part of each rule's name, so that an old record stays readable after the table changed. */
export const classifyVersion = 1;

interface Rule {
  readonly name: string;
  readonly class: FailureClass;
  /**
   * The evidence when the rule fits this link of the chain, e.g. `status=529`. A rule that needs two signals looks for
   * the second in the whole chain, since a wrapper may have taken one of them.
   */
  readonly read: (link: Failure, chain: readonly Failure[]) => string | undefined;
}

const has =
  (field: 'type' | 'category' | 'code' | 'stop' | 'process', ...values: readonly string[]) =>
  (link: Failure): string | undefined => {
    const value = link[field];
    return value !== undefined && values.includes(value) ? `${field}=${value}` : undefined;
  };

const status =
  (...accepted: readonly (number | readonly [number, number])[]) =>
  (link: Failure): string | undefined => {
    const value = link.status;
    if (value === undefined) return undefined;
    const fits = accepted.some((a) => (typeof a === 'number' ? a === value : value >= a[0] && value <= a[1]));
    return fits ? `status=${value}` : undefined;
  };

const endOfLimit = (chain: readonly Failure[]): string | undefined => {
  const at = chain[0] === undefined ? undefined : resetsAtOf(chain[0]);
  return at === undefined ? undefined : `resetsAt=${new Date(at).toISOString()}`;
};

/**
 * The whole classification on one page, strongest signal first: what may still be happening, what was proven not
 * done, types that say one thing only, the agent's categories, a known end of a usage limit, stop reasons, status, types so general that a status beside
 * them says more, transport, what an adapter's table read from text, and last the fate of the process. The first rule
 * that fits any link of the cause chain decides.
 */
const rules: readonly Rule[] = [
  { name: 'process-not-gone', class: 'outcome-unknown', read: has('process', 'not-gone') },
  { name: 'unknown-outcome', class: 'outcome-unknown', read: has('type', 'outcome_unknown') },
  {
    name: 'denied-calls',
    class: 'policy',
    read: (f) => (f.denied?.length ? `denied=${[...new Set(f.denied.map((d) => d.tool))].join(',')}` : undefined),
  },

  {
    name: 'session-unknown',
    class: 'context-lost',
    read: has('type', 'session_not_found', 'session_changed', 'session_unreadable'),
  },
  { name: 'no-progress', class: 'context-lost', read: has('type', 'poisoned_history') },
  {
    name: 'usage-limit-type',
    class: 'quota',
    read: (f, chain) =>
      endOfLimit(chain) === undefined ? undefined : has('type', 'usage_limit_reached', 'usage_limit_exceeded')(f),
  },
  {
    name: 'billing-type',
    class: 'billing',
    read: has(
      'type',
      'billing_error',
      'insufficient_quota',
      'credit_exhausted',
      'usage_limit_exceeded',
      'usage_not_included',
      'billing_hard_limit_reached',
      'billing_not_active',
    ),
  },
  { name: 'usage-limit-unknown-end', class: 'quota', read: has('type', 'usage_limit_reached') },
  {
    name: 'auth-type',
    class: 'auth',
    read: has(
      'type',
      'authentication_error',
      'permission_error',
      'invalid_api_key',
      'refresh_token_failed',
      'unauthorized',
    ),
  },
  {
    name: 'overflow-type',
    class: 'overflow',
    read: has('type', 'context_length_exceeded', 'context_window_exceeded', 'prompt_too_long', 'request_too_large'),
  },
  {
    name: 'policy-type',
    class: 'policy',
    read: has('type', 'content_filter', 'refusal', 'cyber_policy', 'sandbox_denied', 'sandbox_error'),
  },
  {
    name: 'throttle-type',
    class: 'throttled',
    read: has('type', 'rate_limit_error', 'rate_limit_exceeded', 'too_many_requests'),
  },
  {
    name: 'overloaded',
    class: 'transient',
    read: has('type', 'overloaded_error', 'server_is_overloaded', 'server_overloaded', 'slow_down'),
  },
  { name: 'input-type', class: 'input', read: has('type', 'model_not_found', 'invalid_input', 'invalid_prompt') },
  { name: 'conflict-type', class: 'conflict', read: has('type', 'stale_version', 'active_writer') },
  { name: 'quality-type', class: 'quality', read: has('type', 'check_failed', 'error_max_structured_output_retries') },
  {
    name: 'incomplete-type',
    class: 'incomplete',
    read: has('type', 'max_turns', 'error_max_turns', 'max_output_tokens', 'subagent_killed', 'interrupted'),
  },
  {
    name: 'budget-type',
    class: 'input',
    read: has('type', 'max_budget', 'error_max_budget_usd', 'session_budget_exceeded'),
  },

  { name: 'billing-category', class: 'billing', read: has('category', 'billing_error', 'account_on_hold') },
  {
    name: 'auth-category',
    class: 'auth',
    read: has('category', 'authentication_failed', 'oauth_org_not_allowed', 'cloud_credential_error'),
  },
  { name: 'model-category', class: 'input', read: has('category', 'model_not_found') },
  { name: 'server-category', class: 'transient', read: has('category', 'server_error', 'overloaded') },
  {
    name: 'usage-limit',
    class: 'quota',
    read: (_, chain) => (chain.some((f) => f.status === 401 || (f.status ?? 0) >= 500) ? undefined : endOfLimit(chain)),
  },
  { name: 'throttle-category', class: 'throttled', read: has('category', 'rate_limit') },
  { name: 'tokens-category', class: 'incomplete', read: has('category', 'max_output_tokens') },

  { name: 'refused', class: 'policy', read: has('stop', 'refusal', 'content_filter') },
  { name: 'context-stop', class: 'overflow', read: has('stop', 'model_context_window_exceeded') },
  {
    name: 'ended-early',
    class: 'incomplete',
    read: has('stop', 'max_tokens', 'max_output_tokens', 'pause_turn', 'max_turns', 'max_turn_requests', 'length'),
  },

  { name: 'billing-status', class: 'billing', read: status(402) },
  { name: 'auth-status', class: 'auth', read: status(401, 403) },
  { name: 'throttle-status', class: 'throttled', read: status(429) },
  { name: 'overflow-status', class: 'overflow', read: status(413) },
  // 499 is a gateway saying that its own client went away; 409 a lock of the provider's.
  { name: 'retry-status', class: 'transient', read: status(408, 409, 425, 499, [500, 599]) },
  {
    name: 'server-error-type',
    class: 'transient',
    read: has(
      'type',
      'api_error',
      'server_error',
      'internal_server_error',
      'timeout_error',
      'stream_disconnected',
      'empty_answer',
      'cut_answer',
      'malformed_chunk',
      'http_connection_failed',
      'response_stream_connection_failed',
      'response_stream_disconnected',
      'response_too_many_failed_attempts',
    ),
  },
  {
    name: 'invalid-request-type',
    class: 'input',
    read: has('type', 'invalid_request_error', 'not_found_error', 'bad_request'),
  },
  { name: 'input-status', class: 'input', read: (f) => has('category', 'invalid_request')(f) ?? status([400, 499])(f) },

  {
    name: 'transport',
    class: 'transient',
    read: has(
      'code',
      'ECONNRESET',
      'ECONNREFUSED',
      'ECONNABORTED',
      'EPIPE',
      'ETIMEDOUT',
      'EAI_AGAIN',
      'ENETUNREACH',
      'EHOSTUNREACH',
      'ENOTFOUND',
      'ENETDOWN',
      'ENETRESET',
      'EHOSTDOWN',
      'ERR_STREAM_PREMATURE_CLOSE',
      'ConnectionRefused',
      'ConnectionClosed',
      'UND_ERR_SOCKET',
      'UND_ERR_HEADERS_TIMEOUT',
      'UND_ERR_BODY_TIMEOUT',
      'UND_ERR_CONNECT_TIMEOUT',
    ),
  },
  {
    name: 'adapter-text',
    class: 'unclassified',
    read: (f) => (f.text === undefined ? undefined : `text rule ${f.text.rule}`),
  },

  {
    name: 'no-such-program',
    class: 'input',
    read: (f, chain) =>
      chain.some((link) => link.process === 'spawn-failed')
        ? has('code', 'ENOENT', 'EACCES', 'E2BIG', 'ENOTDIR', 'ENOEXEC')(f)
        : undefined,
  },
  { name: 'stalled', class: 'transient', read: has('process', 'startup-timeout', 'idle-timeout') },
  { name: 'time-is-up', class: 'incomplete', read: has('process', 'wall-timeout') },
  { name: 'tool-stalled', class: 'crash', read: has('process', 'tool-timeout') },
  {
    name: 'ended-without-result',
    class: 'crash',
    read: has('process', 'ended-without-result', 'host-crashed', 'spawn-failed'),
  },
  { name: 'killed', class: 'crash', read: (f) => (f.exit?.signal ? `signal=${f.exit.signal}` : undefined) },
];

/**
 * Says what kind a failure is and which rule said so. Pure and total: what no rule knows is `unclassified`, never a
 * guess. Looks through the whole cause chain, so that a wrapper does not hide a status three errors deep.
 */
export function classify(failure: Failure): Classification {
  const chain = failureChain(failure);
  for (const rule of rules) {
    for (const link of chain) {
      const evidence = rule.read(link, chain);
      if (evidence === undefined) continue;
      if (link.text !== undefined && rule.name === 'adapter-text')
        return { class: link.text.class, rule: link.text.rule, evidence };
      return { class: rule.class, rule: `kernel/${classifyVersion}:${rule.name}`, evidence };
    }
  }
  const exit = chain.find((link) => link.exit !== undefined)?.exit;
  const evidence = exit === undefined ? 'no structured signal' : `exit=${exit.code ?? exit.signal}`;
  return { class: 'unclassified', rule: `kernel/${classifyVersion}:nothing-fits`, evidence };
}
