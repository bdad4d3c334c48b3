import type { FailureClass } from '../../../kernel/failure.ts';

/** Version of the table below; part of each rule's name. */
export const bannerVersion = 1;

/** What a line that the CLI itself wrote says about a failure. */
export interface Banner {
  readonly class: FailureClass;
  /** `claude-text/version:rule`. */
  readonly rule: string;
  /** The typed error that these words stand for, where one must outrank a coarser category of the CLI. */
  readonly type?: string;
  /** When a usage limit ends, ms since the epoch; only old versions print it. */
  readonly resetsAt?: number;
}

type Row = readonly [rule: string, failureClass: FailureClass, pattern: RegExp, type?: string];

/**
 * What Claude Code prints when a request has failed for good, from its own source (2.1.197) and from reports about
 * older versions. Read only where the stream has no typed signal, only from lines which the CLI marks as its own, and
 * anchored at their start: the same words in an answer, a tool's output or a prompt are never looked at.
 */
const rows: readonly Row[] = [
  [
    'session-not-found',
    'context-lost',
    /^(Error: )?No (conversation|session) found (with session ID|to continue)/u,
    'session_not_found',
  ],
  ['session-in-use', 'conflict', /^Error: Session ID \S+ is already in use/u, 'active_writer'],

  [
    'usage-limit',
    'quota',
    /^You've (hit|reached) your (?!fast limit|.*spend limit)[^.]*limit\b/u,
    'usage_limit_reached',
  ],
  [
    'usage-limit',
    'quota',
    /^(5-hour|Session|Weekly|Opus( weekly)?|Sonnet( weekly)?|Usage|Claude( AI)?) (usage )?limit reached/u,
    'usage_limit_reached',
  ],
  ['extra-usage', 'quota', /^You're out of (extra usage|usage credits)/u, 'usage_limit_reached'],
  ['spend-limit', 'billing', /^You've (hit|reached) your .*spend limit/u, 'credit_exhausted'],
  ['organization-spend', 'billing', /^Your org is out of usage/u, 'credit_exhausted'],
  ['usage-limit-zero', 'billing', /^Your group's usage limit is set to \$0/u, 'credit_exhausted'],
  ['seat-without-usage', 'billing', /^Your seat type doesn't include/u, 'credit_exhausted'],
  [
    'credits-required',
    'billing',
    /^(API Error: )?(Usage credits required|.{0,40} requires usage credits)/u,
    'credit_exhausted',
  ],
  ['credit', 'billing', /^Credit balance (is )?too low/u],

  ['login', 'auth', /^(Not logged in|Please run \/login|Session expired|Your session has expired)\b/u],
  ['api-key', 'auth', /^Invalid API key\b/u],
  ['token', 'auth', /^OAuth (token|session|authentication)\b.*(revoked|expired|not allowed)/u],
  ['failed-login', 'auth', /^(Failed to authenticate|Authentication error)\b/u],
  [
    'organization',
    'auth',
    /^(Your organization has (been )?disabled|Your ANTHROPIC_API_KEY belongs to a disabled)/u,
    'authentication_error',
  ],
  [
    'account-blocked',
    'auth',
    /^(Your account does not have access to Claude Code|This service is disabled for your org)/u,
    'authentication_error',
  ],

  [
    'prompt-too-long',
    'overflow',
    /^(API Error: )?(\d{3} )?(Prompt is too long|prompt is too long|Context limit reached)/u,
    'prompt_too_long',
  ],
  ['request-too-large', 'overflow', /^Request too large\b/u, 'request_too_large'],
  ['refused', 'policy', /^API Error: (Claude Code is unable to respond|.{0,40}violate our Usage Policy)/u, 'refusal'],
  ['model', 'input', /^There's an issue with the selected model\b/u],
  ['model-not-offered', 'input', /^(The model \S+ is not available|Claude Opus is not available)\b/u],
  [
    'history',
    'context-lost',
    /^API Error: 400 (due to tool use concurrency issues|duplicate tool_use ID)/u,
    'poisoned_history',
  ],

  ['typed-overload', 'transient', /^API Error: \d{3} \{.*"type":\s*"overloaded_error"/u],
  ['typed-rate-limit', 'throttled', /^API Error: \d{3} \{.*"type":\s*"rate_limit_error"/u],
  [
    'limited',
    'throttled',
    /^API Error: (Server is temporarily limiting requests|Request rejected \(429\)|Rate limit reached)/u,
  ],
  ['status-429', 'throttled', /^API Error:? \(?429\b/u],
  [
    'capacity',
    'transient',
    /^(API Error: )?(Opus|Sonnet|Haiku|Claude \S+|The model|Selected model) is (experiencing high load|at capacity|currently overloaded)/u,
  ],
  ['overloaded', 'transient', /^API Error: (Repeated 529 )?Overloaded\b/u],
  ['server-status', 'transient', /^API Error:? \(?(408|5\d\d)\b/u],
  ['sign-in-status', 'auth', /^API Error:? \(?40[13]\b/u],
  ['too-large-status', 'overflow', /^API Error:? \(?413\b/u],
  ['request-status', 'input', /^API Error:? \(?4\d\d\b/u],
  ['empty-response', 'transient', /^API Error: API returned an empty or malformed response/u],
  [
    'connection',
    'transient',
    /^API Error: (Unable to connect to API|Connection to the API was lost|Connection error|Connection closed mid-response|The socket connection was closed)/u,
  ],
  ['stalled', 'transient', /^API Error: (Response stalled mid-stream|Stream idle timeout|Streaming timeout)/u],
  ['timeout', 'transient', /^(API Error:? ?)?\(?Request timed out\b/u],
  ['no-chunks', 'transient', /^API Error: (terminated|fetch failed|Stream ended without|.{0,20}stream ended before)/iu],
  [
    'context-window',
    'overflow',
    /^API Error: The model has reached its context window limit/u,
    'context_window_exceeded',
  ],
  [
    'malformed-chunk',
    'transient',
    /^API Error: (Failed to parse JSON|Could not parse message into JSON|Unexpected (end of JSON|token))/u,
  ],
  ['output-limit', 'incomplete', /^API Error: Claude's response exceeded the \d+ output token maximum/u],

  [
    'usage',
    'input',
    /^error: (unknown option|option .*(argument|invalid)|too many arguments|unknown command|required option)/u,
  ],
  ['root', 'input', /^--dangerously-skip-permissions cannot be used with root/u],
  ['no-prompt', 'input', /^Error: Input must be provided either through stdin/u],
  [
    'settings',
    'input',
    /^(Error: )?(Settings file not found|Invalid JSON provided to --settings|Error processing settings)/u,
  ],
  ['mcp', 'input', /^Error: (Invalid MCP configuration|MCP config file not found)/u],
];

/** What a line written by the CLI says; `undefined` when the table does not know it. */
export function readBanner(text: string): Banner | undefined {
  const row = rows.find(([, , pattern]) => pattern.test(text));
  if (row === undefined) return undefined;
  const [name, failureClass, , type] = row;
  // Old versions ended the line with the time in seconds: `Claude AI usage limit reached|1760000000`.
  const seconds = failureClass === 'quota' ? /\|(\d{10})$/u.exec(text)?.[1] : undefined;
  return {
    class: failureClass,
    rule: `claude-text/${bannerVersion}:${name}`,
    ...(type === undefined ? {} : { type }),
    ...(seconds === undefined ? {} : { resetsAt: Number(seconds) * 1000 }),
  };
}

/** The transport's own code where the CLI's line names one, e.g. `ECONNRESET`. */
export function transportCode(text: string): string | undefined {
  return /^API Error: (?:Unable to connect to API|Connection to the API was lost) \((E[A-Z_]+)\)/u.exec(text)?.[1];
}
