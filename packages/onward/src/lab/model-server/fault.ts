import type { StopReason } from './turn.ts';

/**
 * A place in a streamed answer. A fault acts right after it: after the opening of the message, after some of the text,
 * after the complete text block, inside the arguments of a tool call, after the complete call before the message ends.
 */
export type Place = 'start' | 'text' | 'after-text' | 'tool-json' | 'after-call';

/** An error a provider answers with, by meaning. Each wire format has its own body for it. */
export type ErrorCondition =
  | 'bad-request'
  | 'unauthorised'
  | 'forbidden'
  | 'not-found'
  | 'too-large'
  | 'rate-limited'
  | 'usage-limit'
  | 'billing'
  | 'context-overflow'
  | 'server-error'
  | 'bad-gateway'
  | 'unavailable'
  | 'overloaded';

/** What goes wrong with one request. Times are milliseconds unless the name says seconds. */
export type Fault =
  /** An HTTP error with that API's own body. `retryAfterSeconds` adds the header. */
  | { readonly kind: 'error'; readonly error: ErrorCondition; readonly retryAfterSeconds?: number }
  /** The subscription's usage limit, with a reset time that many seconds away. */
  | { readonly kind: 'usage-limit'; readonly resetsInSeconds: number }
  /** The connection is reset before any header. */
  | { readonly kind: 'reset' }
  /** The request is read and never answered. */
  | { readonly kind: 'no-headers' }
  /** The answer breaks off: `rst` resets the connection, `fin` ends the body cleanly, as if it were complete. */
  | { readonly kind: 'cut'; readonly at: Place; readonly how: 'rst' | 'fin' }
  /** The answer goes silent with the connection open. */
  | { readonly kind: 'stall'; readonly at: Place }
  /** The answer goes silent but for keep-alive pings. */
  | { readonly kind: 'ping-only'; readonly at: Place; readonly everyMs: number }
  /** An error event inside the stream, which then ends. */
  | { readonly kind: 'error-event'; readonly at: Place; readonly error: ErrorCondition }
  /** One data line that is not JSON; the rest of the answer follows. */
  | { readonly kind: 'malformed-chunk'; readonly at: Place }
  /** A well-formed answer without any content. */
  | { readonly kind: 'empty-answer' }
  /** Status 200 and not one byte of body. */
  | { readonly kind: 'empty-body' }
  /** The turn ends early with this reason: its text is sent, its tool calls are not. */
  | { readonly kind: 'stop'; readonly reason: Exclude<StopReason, 'end' | 'tool'> }
  /**
   * The port refuses connections. It closes as soon as the request before `from` has been answered (at once if `from` is
   * 1) and opens `forMs` later; without `forMs` only `accept()` or `heal()` opens it. `to` plays no part.
   */
  | { readonly kind: 'refused'; readonly forMs?: number };

/** Which requests meet a fault. */
export interface FaultRule {
  /** Number of the first main request it hits, counted from 1 since the script was set. */
  readonly from: number;
  /** Number of the last one; absent = only `from`; `null` = for ever. */
  readonly to?: number | null;
  /** Count and hit only the requests of this agent; absent = all main requests. */
  readonly agent?: 'main' | 'subagent';
  readonly fault: Fault;
}

/** Faults drawn by a seed: the same seed meets the same request numbers with the same faults. */
export interface SeededFaults {
  readonly seed: number;
  /** Share of main requests that meet a fault, from 0 to 1. */
  readonly share: number;
  /** The faults to draw from. */
  readonly faults: readonly Fault[];
  /** No more than this many in all, so that the task can end; absent = no bound. */
  readonly atMost?: number;
}

/** A fault in a few words, for logs: `cut (rst) at after-call`. */
export function describeFault(fault: Fault): string {
  switch (fault.kind) {
    case 'error':
      return fault.retryAfterSeconds === undefined
        ? fault.error
        : `${fault.error}, Retry-After ${fault.retryAfterSeconds} s`;
    case 'usage-limit':
      return `usage limit, resets in ${fault.resetsInSeconds} s`;
    case 'cut':
      return `cut (${fault.how}) at ${fault.at}`;
    case 'stall':
    case 'malformed-chunk':
      return `${fault.kind} at ${fault.at}`;
    case 'ping-only':
      return `only pings from ${fault.at}`;
    case 'error-event':
      return `error event (${fault.error}) at ${fault.at}`;
    case 'stop':
      return `stops with ${fault.reason}`;
    case 'refused':
      return fault.forMs === undefined ? 'port refuses' : `port refuses for ${fault.forMs} ms`;
    case 'reset':
    case 'no-headers':
    case 'empty-answer':
    case 'empty-body':
      return fault.kind;
    default:
      return unreachable(fault);
  }
}

function unreachable(value: never): never {
  throw new TypeError(`no such fault: ${JSON.stringify(value)}`);
}
