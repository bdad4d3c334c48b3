import { OnwardError } from '../kernel/error.ts';
import type { Failure, FailureClass } from '../kernel/failure.ts';
import { longestMs, type Policy, resolvePolicy } from '../kernel/policy.ts';
import type { Clock, Random } from '../kernel/ports.ts';
import { systemClock, systemHash, systemRandom } from '../processes/index.ts';

/** A request that failed and will be made again. */
export interface RetryNotice {
  /** Counts the retries of this call from 1. */
  readonly retry: number;
  /** How many there may be at most. */
  readonly of: number;
  /** The wait before it, ms. */
  readonly delayMs: number;
  readonly class: FailureClass;
  /** The rule that named the class. */
  readonly rule: string;
  readonly failure: Failure;
}

/** How `recovering()` recovers. Times are ms; 0 switches a time-out off. */
export interface RecoveringOptions {
  /** Requests after the first one, at most 100; default 5. */
  readonly retries?: number;
  /** The first wait, doubled each time up to `maxMs`; defaults 500 and 10,000. Each is spread by 10 %. */
  readonly initialMs?: number;
  readonly maxMs?: number;
  /** A server that asks for a longer wait than this gets none: the failure surfaces at once, with `retryAt`. Default 60,000. */
  readonly hintCapMs?: number;
  /** Until the answer's headers; default 60,000. Of streaming calls only. */
  readonly headersMs?: number;
  /** Between two parts of an answer; keep-alive pings do not count. Default 120,000. Of streaming calls only. */
  readonly idleMs?: number;
  /** A whole answer that is not streamed, whose headers come with it; default 600,000. */
  readonly generateMs?: number;
  /**
   * How much of a streamed answer is held back, since only what was never shown can be asked for again. `first-part`
   * (default): up to the first piece of content, then live; what breaks after that is an error. `whole`: all of it, so
   * that a cut anywhere is recovered and the text still comes once, but nothing of it is live.
   */
  readonly hold?: 'first-part' | 'whole';
  /**
   * How a failure of `streamText` surfaces. `part` (default): as the AI SDK does it, as an `error` part; `onError` hears of it and
   * `finishReason` is `error`, but `result.text` still resolves, to half a text. `throw`: the stream then errors, too, so that
   * `result.text` rejects with the failure. The `pipe...ToResponse()` of `ai` reject, too, and end the process if nobody catches it.
   */
  readonly surface?: 'part' | 'throw';
  /** Told before each wait. What it throws changes nothing. */
  readonly onRetry?: (notice: RetryNotice) => void;
  readonly clock?: Clock;
  readonly random?: Random;
}

/** Checked options, with the kernel's policy made of them. */
export type Recovering = Required<Omit<RecoveringOptions, 'onRetry'>> & {
  readonly onRetry: (notice: RetryNotice) => void;
  readonly policy: Policy;
};

const defaults: Recovering = {
  retries: 5,
  initialMs: 500,
  maxMs: 10_000,
  hintCapMs: 60_000,
  headersMs: 60_000,
  idleMs: 120_000,
  generateMs: 600_000,
  hold: 'first-part',
  surface: 'part',
  onRetry: () => undefined,
  clock: systemClock,
  random: systemRandom,
  policy: resolvePolicy([], systemHash).policy,
};

const times = ['initialMs', 'maxMs', 'hintCapMs', 'headersMs', 'idleMs', 'generateMs'] as const;

/** Fills in and checks. Throws `ai-sdk/bad-option` that names the option. */
export function checkRecovering(options: RecoveringOptions): Recovering {
  for (const key of Object.keys(options))
    if (key === 'policy' || !(key in defaults)) throw bad(key, 'one that exists', Object.keys(defaults).join(', '));
  const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
  const all: Recovering = { ...defaults, ...given };
  whole('retries', all.retries, 100);
  for (const name of times) whole(name, all[name], longestMs);
  if (all.initialMs > all.maxMs) throw bad('initialMs', 'at most maxMs', all.initialMs);
  if (!['first-part', 'whole'].includes(all.hold)) throw bad('hold', "'first-part' or 'whole'", all.hold);
  if (!['part', 'throw'].includes(all.surface)) throw bad('surface', "'part' or 'throw'", all.surface);
  if (typeof all.onRetry !== 'function') throw bad('onRetry', 'a function', all.onRetry);
  return { ...all, policy: policyOf(all) };
}

/** A request has no conversation to rebuild, nobody to ask and no window to wait for: what is not retried surfaces. */
function policyOf({ retries, initialMs, maxMs, hintCapMs }: Recovering): Policy {
  const scheduleMs = Array.from({ length: retries }, (_, index) => Math.min(initialMs * 2 ** index, maxMs));
  const values = { retry: { scheduleMs, total: retries + 1, hintCapMs, fallbacks: 0 } };
  return resolvePolicy([{ source: 'flag', values }], systemHash).policy;
}

function whole(name: string, value: number, most: number): void {
  if (!Number.isInteger(value) || value < 0 || Object.is(value, -0) || value > most)
    throw bad(name, `a whole number from 0 to ${most}`, value);
}

function bad(name: string, must: string, value: unknown): OnwardError {
  const sentence = `The option ${name} of recovering() must be ${must}; it is ${String(value).slice(0, 80)}.`;
  return new OnwardError('ai-sdk/bad-option', sentence, { place: name });
}
