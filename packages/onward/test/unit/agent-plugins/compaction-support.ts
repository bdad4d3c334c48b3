import type { Message, ModelRequest, SessionEvent } from '../../../src/agent/plugin.ts';
import { estimateTokens } from '../../../src/agent/plugins/compaction/measure.ts';
import type { Failure } from '../../../src/kernel/failure.ts';
import type { ScriptedItem, ScriptedStep } from '../../../src/testing/index.ts';

/** What a provider says when a request does not fit: typed, as adapters make it. */
export const overflow: Failure = {
  message: 'prompt is too long: 210000 tokens > 200000 maximum',
  status: 400,
  type: 'prompt_too_long',
};

/** What a provider says about an image that it does not take. */
export const imageRefused: Failure = {
  message: 'messages.0.content.1.image.source.base64: image exceeds 5 MB maximum',
  status: 400,
  type: 'image_rejected',
};

export const fails = (failure: Failure): readonly ScriptedItem[] => [{ fail: failure }];

export const user = (text: string): Message => ({ role: 'user', content: [{ type: 'text', text }] });
export const says = (text: string): Message => ({
  role: 'assistant',
  content: [{ type: 'text', text }],
  model: 'test/one',
});
export const calls = (...ids: readonly string[]): Message => ({
  role: 'assistant',
  content: ids.map((id) => ({ type: 'call', id, tool: 'read', input: { path: id } })),
  model: 'test/one',
});
export const results = (output: string, ...ids: readonly string[]): Message => ({
  role: 'tool',
  content: ids.map((id) => ({ type: 'result', id, tool: 'read', output })),
});
export const image = (data: string, text = 'look'): Message => ({
  role: 'user',
  content: [
    { type: 'text', text },
    { type: 'media', mediaType: 'image/png', data },
  ],
});

/** A text of about so many tokens, that says what it is. */
export const long = (name: string, tokens = 1_000): string => `${name} ${'lorem '.repeat(tokens)}`.slice(0, tokens * 4);

/** All that a request says, as one text. */
export const textOf = (messages: readonly Message[]): string => JSON.stringify(messages);

/** A request for a summary, by its last message. */
export function asksForSummary({ messages }: ModelRequest): boolean {
  return textOf(messages.slice(-1)).includes('write a summary of the conversation so far');
}

/** Tokens of a request, by the measure of the plugin. */
export const tokensOf = ({ messages, system }: ModelRequest): number =>
  estimateTokens(messages) + Math.ceil(system.length / 4);

/** A model with a window: what is larger is an overflow, a summary is answered with `summary`, all else by `answer`. */
export function windowed(
  window: number,
  answer: (request: ModelRequest, nth: number) => ScriptedStep,
  summary: (request: ModelRequest) => ScriptedStep = () => 'The user wants it done; half of it is done.',
): (request: ModelRequest) => ScriptedStep {
  let nth = 0;
  return (request) => {
    if (tokensOf(request) > window) return fails(overflow);
    return asksForSummary(request) ? summary(request) : answer(request, ++nth);
  };
}

/** Kinds of the records of the plugin, in order. */
export function kinds(events: readonly SessionEvent[]): readonly string[] {
  return events.flatMap((event) =>
    event.type === 'plugin.recorded' && event.data.plugin === 'compaction' ? [event.data.kind] : [],
  );
}
