import type { Failure } from '../kernel/failure.ts';
import type { Json } from '../kernel/json.ts';
import type { Signal } from '../kernel/signal.ts';

/** What a provider attached to a block, byte for byte: signatures, encrypted reasoning, item ids. Never read by us. */
export type Opaque = { readonly [key: string]: Json };

/** A piece of text, of thinking, or a file. `data` is base64 or a URL; `opaque` only makes sense to the model that wrote it. */
export type TextPart = { readonly type: 'text'; readonly text: string; readonly opaque?: Opaque };
export type ThinkingPart = { readonly type: 'thinking'; readonly text: string; readonly opaque?: Opaque };
export type MediaPart = { readonly type: 'media'; readonly mediaType: string; readonly data: string };

/** A call the model asks for. `input` was complete and parsed strictly; what was cut never becomes one. */
export interface CallPart {
  readonly type: 'call';
  /** Unique in its message. */
  readonly id: string;
  readonly tool: string;
  readonly input: Json;
  readonly opaque?: Opaque;
}

/** The result of one call. `code` says which of several ways a call that did not succeed ended. */
export interface ResultPart {
  readonly type: 'result';
  readonly id: string;
  readonly tool: string;
  readonly output: Json;
  readonly isError?: boolean;
}

/** One message of a history. A `tool` message holds the results of all calls of the assistant message before it. */
export type Message =
  | { readonly role: 'user'; readonly content: readonly (TextPart | MediaPart)[] }
  | {
      readonly role: 'assistant';
      readonly content: readonly (TextPart | ThinkingPart | CallPart)[];
      readonly model: string;
    }
  | { readonly role: 'tool'; readonly content: readonly ResultPart[] };

/** A tool as a model sees it; `input` is a JSON Schema. */
export interface ToolSpec {
  readonly name: string;
  readonly description: string;
  readonly input: Json;
}

/** What a provider is asked for besides the history. All of it plain JSON. */
export interface ModelSettings {
  readonly maxOutputTokens?: number;
  readonly temperature?: number;
  readonly toolChoice?: 'auto' | 'none' | 'required';
  /** Passed to the provider as they are, by provider name. */
  readonly providerOptions?: { readonly [provider: string]: { readonly [key: string]: Json } };
}

/** Everything one request says. Frozen by the caller. */
export interface ModelRequest {
  readonly system: string;
  readonly messages: readonly Message[];
  readonly tools: readonly ToolSpec[];
  readonly settings: ModelSettings;
}

/** What was used, in tokens and US dollars; absent where a provider does not say. */
export interface Usage {
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  readonly cacheReadTokens?: number;
  readonly cacheWriteTokens?: number;
  readonly usd?: number;
}

/** Why a model stopped. `length` cut it off, `content-filter` includes a refusal. */
export type FinishReason = 'stop' | 'calls' | 'length' | 'content-filter' | 'other';

/**
 * One thing that a stream says. `block` numbers blocks from 0 in the order they began. A call's deltas are pieces of
 * its input as JSON text; `end` may carry the whole (`text`), which then counts instead of the deltas.
 */
export type ModelPart =
  | { readonly type: 'started'; readonly requestId?: string }
  | { readonly type: 'block'; readonly block: number; readonly kind: 'text' | 'thinking' }
  | {
      readonly type: 'block';
      readonly block: number;
      readonly kind: 'call';
      readonly id: string;
      readonly tool: string;
    }
  | { readonly type: 'delta'; readonly block: number; readonly text: string }
  | { readonly type: 'end'; readonly block: number; readonly text?: string; readonly opaque?: Opaque }
  | { readonly type: 'usage'; readonly usage: Usage }
  | { readonly type: 'finish'; readonly reason: FinishReason; readonly usage?: Usage; readonly raw?: string }
  | { readonly type: 'failed'; readonly failure: Failure };

/**
 * A model behind one endpoint. `stream` makes exactly one attempt: no retry of its own, whatever fails. Expected
 * failures come as a `failed` part, last; what is thrown is taken for a failure too, through `toFailure`. After
 * `finish` or `failed` nothing follows; a stream that ends without either was cut. It stops when the signal aborts.
 */
export interface Model {
  /** `provider/model`, e.g. `anthropic/claude-sonnet-5`. Names the model in the log. */
  readonly id: string;
  /** Size of its context window, tokens; absent when nobody knows. */
  readonly contextTokens?: number;
  stream(request: ModelRequest, signal: Signal): AsyncIterable<ModelPart>;
}
