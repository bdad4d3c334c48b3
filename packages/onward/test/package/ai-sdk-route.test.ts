import { resolve } from 'node:path';
import { createOpenAI } from '@ai-sdk/openai';
import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { DefaultChatTransport, readUIMessageStream, type UIMessage, type UIMessageChunk } from 'ai';
import { describe, expect, test } from 'vitest';
import { aiSdkModel, resumeOf, type AiSdkLanguageModel } from '../../src/ai-sdk/index.ts';
import type { AnyTool } from '../../src/agent/tool.ts';
import { llmRetry } from '../../src/agent/plugins/llm-retry/index.ts';
import type { Plugin } from '../../src/agent/plugin.ts';
import type { Model } from '../../src/models/model.ts';
import { startModelServer, type TurnScript } from '../../src/lab/index.ts';
import { z } from 'zod';

/** The example as it is, with the built package behind it. */
interface Example {
  readonly startChat: (options: {
    readonly model: Model;
    readonly tools: readonly AnyTool[];
    readonly plugins: readonly Plugin[];
    readonly retry: false;
  }) => Promise<{ readonly url: string } & AsyncDisposable>;
}
const example = resolve(import.meta.dirname, '../../../../examples/ai-sdk-route/server.ts');
const { startChat } = (await import(example)) as Example;

/** The retries of an agent, without their waits. */
const quick = { plugins: [llmRetry({ initialMs: 0, maxMs: 0 })], retry: false } as const;

const FIRST = 'I look at the clock. ';
const SECOND = 'It is time to go on, since there is much to do.';
const script: TurnScript = {
  turns: [{ text: FIRST, calls: [{ name: 'clock', input: {} }] }, { text: SECOND }],
  faults: [{ from: 2, fault: { kind: 'cut', at: 'text', how: 'rst' } }],
};

const models: readonly [string, (baseURL: string) => AiSdkLanguageModel][] = [
  ['anthropic', (baseURL) => createAnthropic({ baseURL, apiKey: 'lab' })('claude-sonnet-4-5')],
  ['openai-responses', (baseURL) => createOpenAI({ baseURL, apiKey: 'lab' }).responses('gpt-5.1')],
  ['openai-compatible', (baseURL) => createOpenAICompatible({ baseURL, name: 'lab' })('lab')],
];

/** A clock that the test holds until it is told to go on. */
function heldClock(): {
  readonly tool: AnyTool;
  readonly called: Promise<void>;
  release(): void;
  readonly runs: number[];
} {
  const called = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  const runs: number[] = [];
  const tool: AnyTool = {
    name: 'clock',
    description: 'The time.',
    input: z.object({}),
    async run() {
      runs.push(runs.length);
      called.resolve();
      await gate.promise;
      return 'noon';
    },
  };
  return { tool, called: called.promise, release: () => gate.resolve(), runs };
}

const user: UIMessage = { id: 'u', role: 'user', parts: [{ type: 'text', text: 'What time is it?' }] };

function transportTo(url: string, at?: UIMessage): DefaultChatTransport<UIMessage> {
  const place = at === undefined ? undefined : resumeOf(at);
  return new DefaultChatTransport({
    api: url,
    ...(place && {
      prepareReconnectToStreamRequest: ({ api, id }) => ({
        api: `${api}/${id}/stream?place=${encodeURIComponent(JSON.stringify(place))}`,
      }),
    }),
  });
}

async function send(transport: DefaultChatTransport<UIMessage>): Promise<ReadableStream<UIMessageChunk>> {
  return await transport.sendMessages({
    chatId: 'chat',
    messages: [user],
    trigger: 'submit-message',
    messageId: undefined,
    abortSignal: undefined,
  });
}

async function resume(transport: DefaultChatTransport<UIMessage>): Promise<ReadableStream<UIMessageChunk>> {
  const stream = await transport.reconnectToStream({ chatId: 'chat' });
  if (stream === null) throw new Error('there is nothing to resume');
  return stream;
}

async function render(stream: ReadableStream<UIMessageChunk>, message?: UIMessage): Promise<UIMessage> {
  let last = message;
  for await (const state of readUIMessageStream({ stream, ...(message && { message: structuredClone(message) }) }))
    last = state;
  if (last === undefined) throw new Error('nothing was rendered');
  return last;
}

const textOf = ({ parts }: UIMessage): string =>
  parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('');
const typesOf = ({ parts }: UIMessage): readonly string[] =>
  parts.map(({ type }) => type).filter((type) => type !== 'step-start');

describe.each(models)('the chat route, with %s behind it', (_name, make) => {
  test('an answer that breaks off is in the page once, with the retry beside it', async () => {
    await using lab = await startModelServer({ script });
    const clock = heldClock();
    clock.release();
    await using chat = await startChat({
      model: aiSdkModel(make(`${lab.url}/v1`)),
      tools: [clock.tool],
      ...quick,
    });

    const message = await render(await send(transportTo(chat.url)));

    expect(textOf(message)).toBe(FIRST + SECOND);
    expect(typesOf(message)).toEqual(['text', 'tool-clock', 'data-onward-retry', 'text']);
    expect(clock.runs).toHaveLength(1);
    expect(lab.requests).toHaveLength(3);
  });

  test('a page that was reloaded while a tool runs goes on by position, and has each text and the call once', async () => {
    await using lab = await startModelServer({ script });
    const clock = heldClock();
    await using chat = await startChat({
      model: aiSdkModel(make(`${lab.url}/v1`)),
      tools: [clock.tool],
      ...quick,
    });

    const reader = (await send(transportTo(chat.url))).getReader();
    const seen: UIMessageChunk[] = [];
    for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
      seen.push(chunk.value);
      if (chunk.value.type === 'tool-input-available') break;
    }
    await clock.called;
    await reader.cancel();
    const kept = await render(ReadableStream.from(seen));
    const rest = await resume(transportTo(chat.url, kept));
    clock.release();
    const message = await render(rest, kept);

    expect(textOf(message)).toBe(FIRST + SECOND);
    expect(typesOf(message)).toEqual(['text', 'tool-clock', 'data-onward-retry', 'text']);
    expect(clock.runs).toHaveLength(1);
  });

  test('a page that kept nothing gets the whole message again', async () => {
    await using lab = await startModelServer({ script });
    const clock = heldClock();
    clock.release();
    await using chat = await startChat({
      model: aiSdkModel(make(`${lab.url}/v1`)),
      tools: [clock.tool],
      ...quick,
    });

    const first = await render(await send(transportTo(chat.url)));
    const again = await render(await resume(transportTo(chat.url)));

    expect(again).toEqual(first);
    expect(lab.requests).toHaveLength(3);
  });

  test('wherever a page stopped, the second request with its last position has the rest', async () => {
    await using lab = await startModelServer({ script });
    const clock = heldClock();
    clock.release();
    await using chat = await startChat({
      model: aiSdkModel(make(`${lab.url}/v1`)),
      tools: [clock.tool],
      ...quick,
    });
    const chunks: UIMessageChunk[] = [];
    for await (const chunk of await send(transportTo(chat.url))) chunks.push(chunk);

    for (let count = 3; count < chunks.length; count += 1) {
      const kept = await render(ReadableStream.from(chunks.slice(0, count)));
      const message = await render(await resume(transportTo(chat.url, kept)), kept);
      expect(textOf(message)).toBe(FIRST + SECOND);
      expect(typesOf(message).filter((type) => type !== 'data-onward-retry')).toEqual(['text', 'tool-clock', 'text']);
    }
  });
});

test('a chat that nobody knows has nothing to resume', async () => {
  await using lab = await startModelServer({ script });
  await using chat = await startChat({
    model: aiSdkModel(createOpenAICompatible({ baseURL: lab.url, name: 'lab' })('lab')),
    tools: [],
    ...quick,
  });
  expect(await transportTo(chat.url).reconnectToStream({ chatId: 'other' })).toBeNull();
});
