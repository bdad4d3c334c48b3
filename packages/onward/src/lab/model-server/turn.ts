import type { JsonObject } from './json.ts';

/** Why a model's turn ended. Each wire format has its own word for it, or the nearest one. */
export type StopReason = 'end' | 'tool' | 'max-tokens' | 'refusal' | 'pause' | 'content-filter' | 'context-window';

/** One tool call of a turn. */
export interface ToolCall {
  readonly name: string;
  /** The group of tools it belongs to, where an API has groups. */
  readonly namespace?: string;
  /** Arguments under the tool's own names; plain text for a tool that takes text. */
  readonly input: JsonObject | string;
  /** Its id; one that is made up unless given. Given twice in one turn it is a fault of the provider. */
  readonly id?: string;
  /** What is streamed as its arguments instead of `input`, JSON or not: a model that writes broken arguments. */
  readonly inputText?: string;
}

/** What a turn is said to have used, in tokens; what was read from and written to a cache is part of the input. */
export interface TurnUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cacheReadTokens?: number;
  readonly cacheWriteTokens?: number;
}

/** What the model says in answer to one request: some thinking, some text, then calls, then a reason to stop. */
export interface Turn {
  /** Sent first, signed or encrypted as the API does; a history must bring it back as it was. */
  readonly thinking?: string;
  readonly text: string;
  readonly calls: readonly ToolCall[];
  readonly stop: StopReason;
  /** Made up from the lengths of the texts unless given. */
  readonly usage?: TurnUsage;
}

/** The arguments of a call as they are streamed. */
export function argumentsOf(call: ToolCall): string {
  return call.inputText ?? JSON.stringify(call.input);
}
