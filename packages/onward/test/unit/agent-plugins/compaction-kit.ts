import type { Message, ModelRequest, PluginHost } from '../../../src/agent/plugin.ts';
import type { SessionEvent } from '../../../src/agent/session-events.ts';
import type { Failure } from '../../../src/kernel/failure.ts';
import type { AnyTool, Plugin } from '../../../src/library/agent/index.ts';
import type { ScriptedItem, ScriptedModel } from '../../../src/testing/index.ts';
import { type LoopRig, recordingTool } from './loop-rig.ts';

/** What Anthropic says of a request that does not fit, as the adapter reads it. */
export const tooLong: Failure = { message: 'prompt is too long', status: 400, type: 'prompt_too_long' };
/** What Anthropic says of an image that it does not take, as the adapter reads it. */
export const badImage: Failure = { message: 'Could not process image', status: 400, type: 'image_rejected' };

export const overflows: readonly ScriptedItem[] = [{ fail: tooLong }];

/** An answer with what the provider counted for it. */
export function counted(text: string, inputTokens: number): readonly ScriptedItem[] {
  return [text, { finish: 'stop', usage: { inputTokens, outputTokens: 1 } }];
}

/** A request outside the conversation: its last message is the wish for a summary. */
export function isSummary({ messages }: ModelRequest): boolean {
  const last = messages.at(-1);
  return last?.role === 'user' && textOf([last]).includes('Do not call a tool');
}

/** All that is written in messages, as text. */
export function textOf(messages: readonly Message[]): string {
  return messages
    .flatMap(({ content }) => content.map((part) => ('text' in part ? part.text : JSON.stringify(part))))
    .join('\n');
}

/** The requests of the conversation, and those for summaries. */
export function sorted(requests: readonly ModelRequest[]): {
  readonly spoken: readonly ModelRequest[];
  readonly summaries: readonly ModelRequest[];
} {
  return {
    spoken: requests.filter((request) => !isSummary(request)),
    summaries: requests.filter((request) => isSummary(request)),
  };
}

/** Records of the plugin of one kind. */
export function recordsOf(events: readonly SessionEvent[], kind: string): readonly unknown[] {
  return events.flatMap(({ type, data }) =>
    type === 'plugin.recorded' && data.plugin === 'compaction' && data.kind === kind ? [data.data] : [],
  );
}

/** A plugin that only gives away its host. */
export function spy(): Plugin & { host(): PluginHost } {
  let given: PluginHost | undefined;
  return {
    name: 'spy',
    setup(host) {
      given = host;
    },
    host() {
      if (given === undefined) throw new Error('The plugin was not set up.');
      return given;
    },
  };
}

/** A tool whose every result has so many characters. */
export function wordyTool(name: string, characters: number): AnyTool & { readonly inputs: unknown[] } {
  const tool = recordingTool(name);
  const run = (input: unknown): string => `${String(tool.inputs.push(input))} ${'x'.repeat(characters)}`;
  return { ...tool, run };
}

/** `old old old ...`: text that must be gone after a compaction. */
export function long(word: string, characters = 6_000): string {
  return `${word} `.repeat(Math.ceil(characters / (word.length + 1))).trim();
}

/** Waits until a model was asked so often, no timer let run; for a bounded number of rounds. */
export async function untilAsked(model: ScriptedModel, times: number, { clock }: LoopRig): Promise<void> {
  // oxlint-disable-next-line no-await-in-loop -- the loop is at work meanwhile
  for (let round = 0; round < 2_000 && model.requests.length < times; round++) await clock.advance(0);
  if (model.requests.length < times) throw new Error(`The model was asked ${model.requests.length} times only.`);
}
