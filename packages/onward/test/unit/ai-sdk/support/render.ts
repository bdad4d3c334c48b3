import { readUIMessageStream, type UIMessage, type UIMessageChunk } from 'ai';
import type { UIChunk } from '../../../../src/ai-sdk/index.ts';

/** What the stock reader of `ai` makes of the chunks: every state of the message. */
export async function render(
  stream: ReadableStream<UIChunk>,
  message?: UIMessage,
): Promise<{ readonly states: readonly UIMessage[]; readonly errors: readonly string[]; readonly last: UIMessage }> {
  const states: UIMessage[] = [];
  const errors: string[] = [];
  // That this compiles says that each of our chunks is one of theirs.
  const chunks: ReadableStream<UIMessageChunk> = stream;
  for await (const state of readUIMessageStream({
    stream: chunks,
    ...(message === undefined ? {} : { message: structuredClone(message) }),
    onError: (error) => errors.push((error as Error).message),
  }))
    states.push(state);
  const last = states.at(-1) ?? message;
  if (last === undefined) throw new Error('nothing was rendered');
  return { states, errors, last };
}

/** All text of a message, in order. */
export function textOf(message: UIMessage): string {
  return message.parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('');
}

/** The types of its parts, without the marks between steps. */
export function typesOf(message: UIMessage): readonly string[] {
  return message.parts.map(({ type }) => type).filter((type) => type !== 'step-start');
}

/** All chunks of a stream. */
export async function listOf(stream: ReadableStream<UIChunk>): Promise<readonly UIChunk[]> {
  const chunks: UIChunk[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return chunks;
}
