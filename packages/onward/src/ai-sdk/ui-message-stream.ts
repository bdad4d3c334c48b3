import type { AgentEvent } from '../agent/index.ts';
import type { UIChunk, UIPlace } from './ui-chunk.ts';
import { UIWriter, type UIWriterOptions } from './ui-writer.ts';

/** How a message is streamed. */
export interface UIMessageStreamOptions extends UIWriterOptions {
  /** Told when the events cannot be read; what it returns is the sentence for the page. Default: one that says no more. */
  readonly onError?: (error: unknown) => string;
}

/**
 * The events of one prompt (`handle.events()`) as the chunks of one assistant message for `useChat`. Text is live; an attempt
 * that fails is taken back and the next one takes its place, so that the message has each text once, now and after a
 * reload. Retries show as a `data-onward-retry` part, an end without an answer as `data-onward-end` (and `error` if it
 * failed). Hand it to `createUIMessageStreamResponse({ stream })` or `pipeUIMessageStreamToResponse({ stream, response })`
 * of `ai`, or write it with `toServerSentEvents()`. A reader that goes away stops the reading, not the agent.
 */
export function toUIMessageStream(
  events: AsyncIterable<AgentEvent>,
  options: UIMessageStreamOptions = {},
): ReadableStream<UIChunk> {
  const writer = new UIWriter(options);
  const iterator = events[Symbol.asyncIterator]();
  const queue: UIChunk[] = [...writer.begin()];
  const leave = (): void => void Promise.resolve(iterator.return?.()).catch(() => undefined);
  const fill = async (): Promise<void> => {
    while (queue.length === 0 && !writer.over) {
      // oxlint-disable-next-line no-await-in-loop -- events come in order
      const next = await iterator.next();
      for (const chunk of next.done === true ? writer.end() : writer.push(next.value)) queue.push(chunk);
      if (writer.over && next.done !== true) leave();
    }
  };
  return new ReadableStream<UIChunk>(
    {
      async pull(controller) {
        try {
          await fill();
        } catch (error) {
          // A stream that errors would end the process of a route that pipes it.
          const errorText = options.onError?.(error) ?? 'The session could not be read.';
          controller.enqueue({ type: 'error', errorText });
          return controller.close();
        }
        for (const chunk of queue.splice(0)) controller.enqueue(chunk);
        if (writer.over) controller.close();
      },
      cancel: leave,
    },
    { highWaterMark: 0 },
  );
}

/** Headers of a response in the AI SDK's data stream protocol. */
export const serverSentEventHeaders: Readonly<Record<string, string>> = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache',
  connection: 'keep-alive',
  'x-vercel-ai-ui-message-stream': 'v1',
  'x-accel-buffering': 'no',
};

/** The chunks as the body of such a response, for servers without `ai`. */
export async function* toServerSentEvents(chunks: AsyncIterable<UIChunk>): AsyncGenerator<string> {
  for await (const chunk of chunks) yield `data: ${JSON.stringify(chunk)}\n\n`;
  yield 'data: [DONE]\n\n';
}

/**
 * Where a message that somebody kept stops: ask the session's events after `after`, and give the whole to `toUIMessageStream`
 * as `resume`. `undefined` for a message that is none of ours. Reads untrusted data.
 */
export function resumeOf(message: { readonly metadata?: unknown }): UIPlace | undefined {
  const { onward } = (message.metadata ?? {}) as { readonly onward?: unknown };
  const { after, open, question } = (onward ?? {}) as { readonly [key in keyof UIPlace]?: unknown };
  if (typeof after !== 'number' || !Number.isSafeInteger(after) || after < 0) return undefined;
  return { after, open: open === true, ...(typeof question === 'string' ? { question } : {}) };
}
