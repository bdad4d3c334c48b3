/**
 * Every kind a failure can be of. What each means and what is done by default stands in `decide.ts`.
 * `cancelled` and `budget` are endings, not kinds of failure.
 */
export const failureClasses = [
  'transient',
  'throttled',
  'quota',
  'billing',
  'auth',
  'input',
  'overflow',
  'policy',
  'conflict',
  'quality',
  'incomplete',
  'crash',
  'context-lost',
  'outcome-unknown',
  'unclassified',
] as const;

/** One of {@link failureClasses}. */
export type FailureClass = (typeof failureClasses)[number];

/** Something that happened to a process rather than in a conversation; found by the coordinator, never by an adapter. */
export type ProcessFact =
  | 'spawn-failed'
  | 'startup-timeout'
  | 'idle-timeout'
  | 'tool-timeout'
  | 'wall-timeout'
  | 'ended-without-result'
  | 'host-crashed'
  | 'not-gone';

/** A tool call that the agent's own permission rules refused. */
export interface DeniedCall {
  readonly tool: string;
  /** What would have been called, shortened; never a secret that we handle. */
  readonly summary: string;
}

/**
 * What happened: facts only, as an adapter or a loop saw them, never a verdict. All of it is plain JSON. Structured
 * signals go to their own fields; `text` is a class that an adapter's own versioned table read from a message
 * of the provider or the CLI (never from words that a user, a tool or Onward wrote).
 */
export interface Failure {
  /** One line for people, at most 500 characters. Never read by `classify`. */
  readonly message: string;
  /** The provider's error type or code, e.g. `overloaded_error`, `usage_limit_reached`. */
  readonly type?: string;
  /** The agent's own category, e.g. `rate_limit`, `authentication_failed`. */
  readonly category?: string;
  /** HTTP status. */
  readonly status?: number;
  /** System or transport code, e.g. `ECONNRESET`. */
  readonly code?: string;
  /** Why the model stopped, e.g. `max_tokens`, `refusal`. */
  readonly stop?: string;
  readonly exit?: { readonly code: number | null; readonly signal: string | null };
  readonly process?: ProcessFact;
  readonly denied?: readonly DeniedCall[];
  readonly text?: { readonly class: FailureClass; readonly rule: string };
  /** The server's own hint, ms from the failure. */
  readonly retryAfterMs?: number;
  /** When a usage limit ends, ms since the epoch. */
  readonly resetsAt?: number;
  readonly requestId?: string;
  /** The failure under this one, as in `Error.cause`. */
  readonly cause?: Failure;
}

/** What kind a failure is, by which rule, on what evidence (e.g. `status=529`). */
export interface Classification {
  readonly class: FailureClass;
  /** `table/version:rule`, e.g. `kernel/1:overloaded`. */
  readonly rule: string;
  readonly evidence: string;
}

/** The chain of a failure, outermost first. Stops after 16 links, so that a cycle cannot hang a reader. */
export function failureChain(failure: Failure): readonly Failure[] {
  const chain: Failure[] = [];
  for (let link: Failure | undefined = failure; link !== undefined && chain.length < 16; link = link.cause)
    chain.push(link);
  return chain;
}

/**
 * The longest hint of the chain, ms; `undefined` when no link has one. What is no amount of time (NaN, negative) counts
 * as none; an endless one stays, since it does say not to come back.
 */
export function retryAfterOf(failure: Failure): number | undefined {
  const hints = failureChain(failure).flatMap(({ retryAfterMs: ms }) => (ms !== undefined && ms >= 0 ? [ms] : []));
  return hints.length === 0 ? undefined : Math.max(...hints);
}

/** The last moment that a `Date` can hold, ms since the epoch. */
const lastMoment = 8_640_000_000_000_000;

/** The latest end of a usage limit in the chain, ms since the epoch; `undefined` when no link names a real moment. */
export function resetsAtOf(failure: Failure): number | undefined {
  const times = failureChain(failure).flatMap(({ resetsAt: at }) =>
    at !== undefined && at >= 0 && at <= lastMoment ? [at] : [],
  );
  return times.length === 0 ? undefined : Math.max(...times);
}
