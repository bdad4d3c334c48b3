import { AbstractChat, type ChatState, type ChatTransport, type UIMessage, type UIMessageChunk } from 'ai';
import { describe, expect, test } from 'vitest';
import { resumeOf, type UIChunk, toUIMessageStream } from '../../../src/ai-sdk/index.ts';
import { listOf, textOf } from './support/render.ts';
import { completed, eventsAfter, failed, Story } from './support/story.ts';

/** The state of `useChat` without React. */
class PlainState implements ChatState<UIMessage> {
  status: ChatState<UIMessage>['status'] = 'ready';
  error: Error | undefined = undefined;
  messages: UIMessage[];
  constructor(messages: UIMessage[]) {
    this.messages = messages;
  }
  pushMessage = (message: UIMessage): void => {
    this.messages = [...this.messages, structuredClone(message)];
  };
  popMessage = (): void => {
    this.messages = this.messages.slice(0, -1);
  };
  replaceMessage = (index: number, message: UIMessage): void => {
    this.messages = this.messages.with(index, structuredClone(message));
  };
  snapshot = <T>(value: T): T => structuredClone(value);
}

/** The stock chat behind `useChat`. */
class PlainChat extends AbstractChat<UIMessage> {
  constructor(transport: ChatTransport<UIMessage>, messages: UIMessage[] = []) {
    super({ id: 'chat', transport, state: new PlainState(messages) });
  }
  /** All text of the assistant that is on screen. */
  get shown(): string {
    return this.messages.flatMap((message) => (message.role === 'assistant' ? [textOf(message)] : [])).join('|');
  }
}

const { events } = new Story()
  .prompt()
  .step()
  .live('Step ')
  .live('one.')
  .block('Step one.')
  .call('c1')
  .answered()
  .result('c1')
  .closeStep()
  .step()
  .live('Half')
  .closeStep('failed')
  .closeTurn(failed)
  .retry()
  .step()
  .live('All ')
  .live('done.')
  .block('All done.')
  .answered()
  .closeStep()
  .closeTurn(completed);

/** The chunks of the message, then what a browser's fetch throws when its network goes. */
function cutAfter(count: number): ReadableStream<UIChunk> {
  const reader = toUIMessageStream(eventsAfter(events, 0)).getReader();
  let sent = 0;
  return new ReadableStream<UIChunk>(
    {
      async pull(controller) {
        if (sent++ === count) return controller.error(new TypeError('network error'));
        const { done, value } = await reader.read();
        return done ? controller.close() : controller.enqueue(value);
      },
    },
    { highWaterMark: 0 },
  );
}

const total = (await listOf(toUIMessageStream(eventsAfter(events, 0)))).length;

describe('the stock chat behind useChat', () => {
  test('has the text once after a failed attempt', async () => {
    const chat = new PlainChat({
      sendMessages: () => Promise.resolve(toUIMessageStream(eventsAfter(events, 0)) as ReadableStream<UIMessageChunk>),
      reconnectToStream: () => Promise.resolve(null),
    });
    await chat.sendMessage({ text: 'Go' });
    expect(chat.status).toBe('ready');
    expect(chat.shown).toBe('Step one.All done.');
  });

  test.each(Array.from({ length: total - 1 }, (_, index) => index + 1))(
    'whose network went after %i chunks, goes on by position and has each text once',
    async (count) => {
      const chat: PlainChat = new PlainChat({
        resumeStreamIsReplay: false,
        sendMessages: () => Promise.resolve(cutAfter(count) as ReadableStream<UIMessageChunk>),
        reconnectToStream: () => {
          const resume = resumeOf(chat.lastMessage ?? {}) ?? { after: 0, open: false };
          return Promise.resolve(
            toUIMessageStream(eventsAfter(events, resume.after), { resume }) as ReadableStream<UIMessageChunk>,
          );
        },
      });
      await chat.sendMessage({ text: 'Go' });
      expect(chat.status).toBe('error');
      await chat.resumeStream();
      expect(chat.status).toBe('ready');
      expect(chat.shown).toBe('Step one.All done.');
    },
  );

  test.each(Array.from({ length: total - 1 }, (_, index) => index + 1))(
    'on a page that was reloaded after %i chunks, replays the message and has each text once',
    async (count) => {
      const before = new PlainChat({
        sendMessages: () => Promise.resolve(cutAfter(count) as ReadableStream<UIMessageChunk>),
        reconnectToStream: () => Promise.resolve(null),
      });
      await before.sendMessage({ text: 'Go' });
      const chat = new PlainChat(
        {
          resumeStreamIsReplay: true,
          sendMessages: () => Promise.reject(new Error('nothing is sent')),
          reconnectToStream: () =>
            Promise.resolve(toUIMessageStream(eventsAfter(events, 0)) as ReadableStream<UIMessageChunk>),
        },
        structuredClone(before.messages),
      );
      await chat.resumeStream();
      expect(chat.shown).toBe('Step one.All done.');
      expect(chat.messages).toHaveLength(2);
    },
  );
});
