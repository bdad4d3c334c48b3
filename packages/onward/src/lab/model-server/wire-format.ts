import type { ErrorCondition, Place } from './fault.ts';
import type { HistoryItem } from './history.ts';
import type { JsonObject } from './json.ts';
import type { ToolSpec } from './tools.ts';
import type { Turn } from './turn.ts';

/** The three APIs the server speaks. */
export type Api = 'anthropic-messages' | 'openai-responses' | 'openai-chat';

/** What a wire format reads out of a request body. */
export interface ReadRequest {
  readonly model: string;
  readonly streaming: boolean;
  readonly history: readonly HistoryItem[];
  readonly tools: readonly ToolSpec[];
}

/** One write of a streamed answer; `mark` names the place that is reached once it was sent. */
export interface Frame {
  readonly wire: string;
  readonly mark?: Place;
}

/** What a wire format needs to render an answer. `id('msg')` gives a fresh id with that prefix. */
export interface Answer {
  readonly turn: Turn;
  readonly model: string;
  readonly id: (prefix: string) => string;
}

/** An HTTP error as that API sends it. A string body is HTML. */
export interface ErrorAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: JsonObject | string;
}

/** Details an error body may carry. */
export interface ErrorDetails {
  readonly model: string;
  /** Seconds since the epoch at which a usage limit resets. */
  readonly resetsAt: number;
  readonly now: number;
}

/**
 * One provider API: how a request is read, when the real service would refuse its history, and how an answer, an error and a
 * fault inside a stream look on the wire. Implementations are in `wire/` and do not see each other.
 */
export interface WireFormat {
  readonly api: Api;
  readonly path: string;
  /** A keep-alive that carries nothing. */
  readonly ping: string;
  read(body: JsonObject): ReadRequest;
  /** The message of the 400 with which the real API refuses this history; `undefined` = it is accepted. */
  refusal(body: JsonObject): string | undefined;
  /** The answer as a stream. An empty turn gives a well-formed stream without content. */
  frames(answer: Answer): readonly Frame[];
  /** The answer as one JSON body. */
  whole(answer: Answer): JsonObject;
  error(condition: ErrorCondition, details: ErrorDetails): ErrorAnswer;
  /** A 400 of this API with this message. */
  invalid(message: string): ErrorAnswer;
  /** The error inside a stream. */
  errorEvent(condition: ErrorCondition, details: ErrorDetails): string;
}
