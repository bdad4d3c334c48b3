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
}

/** What the model says in answer to one request: some text, then calls, then a reason to stop. */
export interface Turn {
  readonly text: string;
  readonly calls: readonly ToolCall[];
  readonly stop: StopReason;
}
