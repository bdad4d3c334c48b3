import type { FailureClass } from '../../../kernel/failure.ts';

/** What a message of codex itself says. Status and hint are read from fixed places of fixed sentences. */
export interface ReadText {
  readonly rule: string;
  readonly class?: FailureClass;
  readonly status?: number;
  readonly retryAfterMs?: number;
  readonly requestId?: string;
}

interface TextRule {
  readonly name: string;
  /** Anchored at the start, so that a word inside a provider's or a user's sentence cannot fit. */
  readonly pattern: RegExp;
  /** Absent where the status says it. */
  readonly class?: FailureClass;
}

/**
 * Version 1: the sentences with which codex 0.166 to 0.171 ends a turn (`codex-rs/protocol/src/error.rs` and recordings).
 * Used only on `turn.failed` and `error` lines, never on output of a tool, a model or a user. First match decides.
 */
const rules: readonly TextRule[] = [
  { name: 'unexpected-status', pattern: /^unexpected status (?<status>[45]\d{2}) / },
  { name: 'unexpected-answer', pattern: /^unexpected status [1-3]\d{2} /, class: 'transient' },
  { name: 'retry-limit', pattern: /^exceeded retry limit, last status: (?<status>\d{3})\b/ },
  { name: 'blocked-by-cloudflare', pattern: /^Access blocked by Cloudflare\b[^(]*\(status (?<status>\d{3})\b/ },
  { name: 'usage-limit', pattern: /^You[’']ve hit your usage limit\b/, class: 'quota' },
  { name: 'quota-exceeded', pattern: /^Quota exceeded\. Check your plan and billing details\./, class: 'billing' },
  { name: 'not-in-plan', pattern: /^To use Codex with your ChatGPT plan, upgrade to /, class: 'billing' },
  { name: 'out-of-credits', pattern: /^(?:Your workspace is|You[’']re) out of credits\b/, class: 'billing' },
  { name: 'spend-cap', pattern: /^You hit your spend cap set (?:in your workspace|by the owner)\b/, class: 'billing' },
  { name: 'context-window', pattern: /^Codex ran out of room in the model[’']s context window\./, class: 'overflow' },
  { name: 'at-capacity', pattern: /^Selected model is at capacity\./, class: 'transient' },
  { name: 'high-demand', pattern: /^We[’']re currently experiencing high demand\b/, class: 'transient' },
  { name: 'rate-limit', pattern: /^rate limit exceeded: /, class: 'throttled' },
  {
    name: 'content-filter',
    pattern: /^(?:stream disconnected before completion: )?Incomplete response returned, reason: content_filter$/,
    class: 'policy',
  },
  {
    name: 'output-limit',
    pattern: /^(?:stream disconnected before completion: )?Incomplete response returned, reason: max_output_tokens$/,
    class: 'incomplete',
  },
  { name: 'stream-disconnected', pattern: /^stream disconnected before completion: /, class: 'transient' },
  { name: 'no-network', pattern: /^waiting for network\b/, class: 'transient' },
  { name: 'connection-failed', pattern: /^(?:Connection failed|error sending request)\b/i, class: 'transient' },
  { name: 'broken-response', pattern: /^Error while reading the server response: /, class: 'transient' },
  { name: 'request-timeout', pattern: /^request timed out$/, class: 'transient' },
  { name: 'idle-stream', pattern: /^idle timeout waiting for SSE\b/, class: 'transient' },
  { name: 'unknown-model', pattern: /^The model `[^`\n]*` does not exist\b/, class: 'input' },
  { name: 'invalid-prompt', pattern: /^Invalid prompt: your prompt was flagged\b/, class: 'policy' },
  { name: 'cyber-policy', pattern: /^This content was flagged for possible cybersecurity risk\b/, class: 'policy' },
  { name: 'bad-image', pattern: /^Image poisoning$/, class: 'input' },
  { name: 'sandbox-error', pattern: /^sandbox error: /, class: 'policy' },
  { name: 'login-expired', pattern: /^Your access token could not be refreshed\b/, class: 'auth' },
  { name: 'missing-key', pattern: /^Missing environment variable: `[^`\n]+`/, class: 'auth' },
  { name: 'agent-died', pattern: /^internal error; agent loop died unexpectedly\b/, class: 'crash' },
];

/** Version of the table; part of each rule's name. */
export const codexTextVersion = 1;

/** Reads one message of codex by the table; `undefined` when no sentence of it fits. */
export function readErrorText(message: string): ReadText | undefined {
  for (const rule of rules) {
    const match = rule.pattern.exec(message);
    if (match === null) continue;
    const status = match.groups?.['status'];
    const requestId = /, request id: (?<id>[\w-]+)(?:,|$)/.exec(message)?.groups?.['id'];
    const hint = rule.name === 'rate-limit' ? readHint(message) : undefined;
    return {
      rule: `codex-text/${codexTextVersion}:${rule.name}`,
      ...(rule.class === undefined ? {} : { class: rule.class }),
      ...(status === undefined ? {} : { status: Number(status) }),
      ...(hint === undefined ? {} : { retryAfterMs: hint }),
      ...(requestId === undefined ? {} : { requestId }),
    };
  }
  return undefined;
}

const unitMs: ReadonlyMap<string, number> = new Map([
  ['ms', 1],
  ['s', 1_000],
  ['m', 60_000],
]);

/** `Please try again in 3s.` at the end of a rate limit sentence, as ms. */
function readHint(message: string): number | undefined {
  const groups = /\bPlease try again in (?<amount>\d+(?:\.\d+)?)(?<unit>ms|s|m)\.?$/.exec(message.trimEnd())?.groups;
  const unit = unitMs.get(groups?.['unit'] ?? '');
  return unit === undefined ? undefined : Math.ceil(Number(groups?.['amount']) * unit);
}

/** `Reconnecting... 2/5 (why)` and `Reconnecting... waiting for network (why)`: notices while codex heals itself. */
export interface Reconnecting {
  /** Absent while it waits for the network, which it does without end. */
  readonly attempt?: number;
  readonly why: string;
}

/** Reads the notice of an inner retry; `undefined` for any other error line. */
export function readReconnecting(message: string): Reconnecting | undefined {
  const match = /^Reconnecting\.\.\. (?:(?<attempt>\d+)\/\d+|waiting for network)(?: \((?<why>[\s\S]*)\))?$/.exec(
    message,
  );
  if (match === null) return undefined;
  const attempt = match.groups?.['attempt'];
  const why = match.groups?.['why'] ?? '';
  return attempt === undefined ? { why } : { attempt: Number(attempt), why };
}
