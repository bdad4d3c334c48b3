import type { Message, SessionEvent } from '../../../src/agent/plugin.ts';
import type { Failure } from '../../../src/kernel/failure.ts';

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

/** All that messages say, as one text. */
export const textOf = (messages: readonly Message[]): string => JSON.stringify(messages);

/** Kinds of the records of the plugin, in order. */
export function kinds(events: readonly SessionEvent[]): readonly string[] {
  return events.flatMap((event) =>
    event.type === 'plugin.recorded' && event.data.plugin === 'compaction' ? [event.data.kind] : [],
  );
}
