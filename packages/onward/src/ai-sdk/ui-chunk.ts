import type { FailureClass } from '../kernel/failure.ts';
import type { Json } from '../kernel/json.ts';

/** Where a message stands in its session's log, as `metadata.onward` of the message. See `resumeOf()`. */
export interface UIPlace {
  /** Everything up to this position is in the message for good. */
  readonly after: number;
  /** Parts behind the last `step-start` are of a step that was not over at `after`. */
  readonly open: boolean;
  /** The question that the stream ended for. */
  readonly question?: string;
}

/** Data of a `data-onward-retry` part: a request of this message failed, and its text was taken back. */
export interface UIRetry {
  /** Failed requests so far. */
  readonly failures: number;
  /** `failed`: nobody has said yet whether it is made again. `waiting`: it will be, at `at`. `retrying`: it is. */
  readonly state: 'failed' | 'waiting' | 'retrying';
  readonly message: string;
  /** When the next request is made, ms since the epoch. */
  readonly at?: number;
  /** Which retry it is, and how many there may be. */
  readonly retry?: number;
  readonly of?: number;
}

/** Data of a `data-onward-end` part: the message ended otherwise than with an answer. */
export type UIEnd =
  | {
      readonly reason: 'failed';
      readonly class: FailureClass;
      readonly message: string;
      /** When the server said to come back, ms since the epoch. */
      readonly retryAt?: number;
    }
  | { readonly reason: 'limit'; readonly unit: string; readonly limit: number }
  | { readonly reason: 'interrupted' };

interface Metadata {
  readonly onward: Partial<UIPlace>;
}

/**
 * The chunks of the AI SDK's UI message stream that are used here; each is a `UIMessageChunk` of `ai` 7. `reset-step`
 * takes back all parts since the last `start-step`.
 */
export type UIChunk =
  | { type: 'start'; messageId?: string; messageMetadata: Metadata }
  | { type: 'start-step' | 'finish-step' | 'reset-step' }
  | { type: 'text-start' | 'text-end' | 'reasoning-start' | 'reasoning-end'; id: string }
  | { type: 'text-delta' | 'reasoning-delta'; id: string; delta: string }
  | { type: 'tool-input-available'; toolCallId: string; toolName: string; input: Json }
  | { type: 'tool-approval-request'; toolCallId: string; approvalId: string }
  | { type: 'tool-output-available'; toolCallId: string; output: Json }
  | { type: 'tool-output-error'; toolCallId: string; errorText: string }
  | { type: 'tool-output-denied'; toolCallId: string }
  | { type: 'data-onward-retry'; id: string; data: UIRetry }
  | { type: 'data-onward-end'; id: string; data: UIEnd }
  | { type: 'message-metadata'; messageMetadata: Metadata }
  | { type: 'error'; errorText: string }
  | { type: 'abort'; reason: string }
  | {
      type: 'finish';
      finishReason?: 'stop' | 'length' | 'error' | 'tool-calls' | 'interrupted' | 'other';
      messageMetadata: Metadata;
    };
