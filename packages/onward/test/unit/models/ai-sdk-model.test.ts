import type {
  LanguageModelV2,
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4StreamPart,
} from '@ai-sdk/provider';
import { describe, expect, test } from 'vitest';
import { isOnwardError } from '../../../src/kernel/error.ts';
import { type AiSdkLanguageModel, aiSdkFailure, aiSdkModel } from '../../../src/models/ai-sdk/index.ts';
import type { Message, ModelPart, ModelRequest } from '../../../src/models/model.ts';
import { failureIn, partsOf, REQUEST } from './wires.ts';

interface Fake {
  readonly model: LanguageModelV4;
  readonly calls: LanguageModelV4CallOptions[];
  cancelled: boolean;
}

/** A model that says these parts, of any version; after them the stream ends, or stays open for ever. */
function fake(parts: readonly unknown[], about: { version?: string; open?: boolean; provider?: string } = {}): Fake {
  const made: Fake = { calls: [], cancelled: false, model: undefined as unknown as LanguageModelV4 };
  const doStream = async (options: LanguageModelV4CallOptions): Promise<object> => {
    made.calls.push(options);
    const stream = new ReadableStream<LanguageModelV4StreamPart>({
      start(controller) {
        for (const part of parts) controller.enqueue(part as LanguageModelV4StreamPart);
        if (about.open !== true) controller.close();
      },
      cancel() {
        made.cancelled = true;
      },
    });
    return { stream, response: { headers: { 'x-request-id': 'req_fake' } } };
  };
  const { version = 'v4', provider = 'fake.chat' } = about;
  const model = { specificationVersion: version, provider, modelId: 'm-1', supportedUrls: {}, doStream };
  return Object.assign(made, { model: model as unknown as LanguageModelV4 });
}

const USAGE = { inputTokens: { total: 10, cacheRead: 4, cacheWrite: undefined }, outputTokens: { total: 2 } };
const STOP = { type: 'finish', finishReason: { unified: 'stop', raw: 'stop' }, usage: USAGE };

async function read(parts: readonly unknown[], about: Parameters<typeof fake>[1] = {}): Promise<readonly ModelPart[]> {
  return await partsOf(aiSdkModel(fake(parts, about).model));
}

async function finishOf(usage: unknown, price: () => number): Promise<ModelPart | undefined> {
  return (await partsOf(aiSdkModel(fake([{ ...STOP, usage }]).model, { price }))).at(-1);
}

describe('the parts of a stream', () => {
  test('are numbered in the order in which blocks begin, though ids meet across kinds and come again', async () => {
    const parts = await read([
      { type: 'stream-start', warnings: [] },
      { type: 'text-start', id: '0' },
      { type: 'reasoning-start', id: '0' },
      { type: 'text-delta', id: '0', delta: 'a' },
      { type: 'reasoning-delta', id: '0', delta: 'b', providerMetadata: { p: { signature: 's', gone: undefined } } },
      { type: 'text-end', id: '0' },
      { type: 'text-start', id: '0' },
      { type: 'text-delta', id: '0', delta: '' },
      { type: 'text-end', id: '0' },
      { type: 'reasoning-end', id: '0' },
      { type: 'tool-call', toolCallId: 'c', toolName: 't', input: '{}' },
      STOP,
    ]);

    expect(parts).toEqual([
      { type: 'started', requestId: 'req_fake' },
      { type: 'block', block: 0, kind: 'text' },
      { type: 'block', block: 1, kind: 'thinking' },
      { type: 'delta', block: 0, text: 'a' },
      { type: 'delta', block: 1, text: 'b' },
      { type: 'end', block: 0 },
      { type: 'block', block: 2, kind: 'text' },
      { type: 'end', block: 2 },
      { type: 'end', block: 1, opaque: { p: { signature: 's' } } },
      { type: 'block', block: 3, kind: 'call', id: 'c', tool: 't' },
      { type: 'end', block: 3, text: '{}' },
      { type: 'finish', reason: 'stop', raw: 'stop', usage: { inputTokens: 10, outputTokens: 2, cacheReadTokens: 4 } },
    ]);
  });

  test.each([
    [{ type: 'source', sourceType: 'url', id: 's', url: 'https://example.test' }],
    [{ type: 'custom', kind: 'anthropic.message_start' }],
    [{ type: 'raw', rawValue: {} }],
    [{ type: 'ping' }],
    [{ type: 'response-metadata', id: 'r' }],
    [{ type: 'something-newer', text: 'x' }],
  ])('that a history can leave out are passed over: %j', async (part) => {
    expect((await read([part, STOP])).map(({ type }) => type)).toEqual(['started', 'finish']);
  });

  test.each([
    [{ type: 'tool-call', toolCallId: 'c', toolName: 'search', input: '{}', providerExecuted: true }],
    [{ type: 'tool-input-start', id: 'c', toolName: 'search', providerExecuted: true }],
    [{ type: 'tool-result', toolCallId: 'c', toolName: 'search', result: {} }],
    [{ type: 'file', mediaType: 'image/png', data: { type: 'data', data: '' } }],
  ])('that a history cannot leave out end the attempt: %j', async (part) => {
    const failure = failureIn(await read([part, STOP]));

    expect(failure).toMatchObject({ type: 'invalid_input', requestId: 'req_fake' });
  });

  test.each([
    [[{ type: 'text-delta', id: 'x', delta: 'a' }]],
    [[{ type: 'reasoning-end', id: 'x' }]],
    [[{ type: 'tool-input-delta', id: 'x', delta: '{' }]],
    [['text-start', 'text-end', 'text-end'].map((type) => ({ type, id: 'x' }))],
  ])('out of order are a malformed stream: %j', async (wrong) => {
    expect(failureIn(await read([...wrong, STOP])).type).toBe('malformed_chunk');
  });

  test('after a finish are read to the end of the body, and not told', async () => {
    const { model, ...made } = fake([STOP, STOP, { type: 'text-delta', id: 'x', delta: 'late' }]);

    expect((await partsOf(aiSdkModel(model))).map(({ type }) => type)).toEqual(['started', 'finish']);
    expect(made.calls).toHaveLength(1);
    // An abort would close the connection, and the next request would have to open another.
    expect(made.calls[0]?.abortSignal?.aborted).toBe(false);
  });

  test('of a body that does not end after the finish are left when the caller aborts', async () => {
    const state = fake([STOP], { open: true });
    const caller = new AbortController();
    const seen: string[] = [];

    for await (const part of aiSdkModel(state.model).stream(REQUEST, caller.signal)) {
      seen.push(part.type);
      if (part.type === 'finish') queueMicrotask(() => caller.abort(new Error('enough')));
    }

    expect(seen).toEqual(['started', 'finish']);
    expect(state.cancelled).toBe(true);
  });
});

describe('the end of a stream', () => {
  const ends: readonly (readonly [what: string, finish: unknown, type: string])[] = [
    ['interrupted', { unified: 'interrupted', raw: undefined }, 'cut_answer'],
    ['other, without a word of the provider', { unified: 'other', raw: undefined }, 'cut_answer'],
    ['unknown, in version 2', 'unknown', 'cut_answer'],
    ['error', { unified: 'error', raw: 'MALFORMED' }, 'server_error'],
  ];

  test.each(ends)('that says %s is a failure, and what it cost is known', async (_, finishReason, type) => {
    const parts = await read([{ ...STOP, finishReason }]);

    expect(failureIn(parts)).toMatchObject({ type, requestId: 'req_fake' });
    expect(parts.slice(1, -1)).toEqual([
      { type: 'usage', usage: { inputTokens: 10, outputTokens: 2, cacheReadTokens: 4 } },
    ]);
  });

  test('without a finish is a cut answer', async () => {
    expect(failureIn(await read([])).type).toBe('cut_answer');
  });

  test('in a word that the SDK does not know is kept with the word', async () => {
    expect((await read([{ ...STOP, finishReason: { unified: 'other', raw: 'compaction' } }])).at(-1)).toMatchObject({
      type: 'finish',
      reason: 'other',
      raw: 'compaction',
    });
  });

  test('of version 2 has flat counts and a bare reason', async () => {
    const usage = { inputTokens: 5, outputTokens: 1, totalTokens: 6, cachedInputTokens: 2 };

    const parts = await read([{ type: 'finish', finishReason: 'tool-calls', usage }], { version: 'v2' });

    expect(parts.at(-1)).toEqual({
      type: 'finish',
      reason: 'calls',
      usage: { inputTokens: 5, outputTokens: 1, cacheReadTokens: 2 },
    });
  });

  test('has a price if one was given, and no number that is none', async () => {
    expect(await finishOf(USAGE, () => 0.25)).toMatchObject({ usage: { inputTokens: 10, usd: 0.25 } });
    expect(await finishOf({ inputTokens: { total: Number.NaN }, outputTokens: { total: -1 } }, () => 1)).toEqual({
      type: 'finish',
      reason: 'stop',
      raw: 'stop',
    });
    expect(await finishOf(USAGE, () => Number.NaN)).toEqual({
      type: 'finish',
      reason: 'stop',
      raw: 'stop',
      usage: { inputTokens: 10, outputTokens: 2, cacheReadTokens: 4 },
    });
  });
});

describe('a model that does not behave', () => {
  test('by throwing is a failure with its facts, once', async () => {
    const { model } = fake([]);
    let calls = 0;
    const throwing = {
      ...model,
      doStream: () => {
        calls += 1;
        throw Object.assign(new Error('x'), { code: 'EPIPE' });
      },
    };

    const parts = await partsOf(aiSdkModel(throwing));

    expect(parts).toEqual([{ type: 'failed', failure: { message: 'x', code: 'EPIPE' } }]);
    expect(calls).toBe(1);
  });

  test.each(['headers', 'body'])('by not heeding the signal is left while its %s is awaited', async (what) => {
    const { model } = fake([{ type: 'text-start', id: '0' }], { open: true });
    const deaf = what === 'headers' ? { ...model, doStream: async () => await new Promise(() => undefined) } : model;
    const stop = new AbortController();
    const parts: ModelPart[] = [];
    const readAll = async (): Promise<void> => {
      for await (const part of aiSdkModel(deaf as LanguageModelV4).stream(REQUEST, stop.signal)) parts.push(part);
    };

    const reading = readAll();
    await expect.poll(() => parts.length).toBe(what === 'headers' ? 0 : 2);
    stop.abort('enough');
    await reading;

    expect(failureIn(parts)).toEqual({
      message: 'The request was aborted.',
      type: 'aborted',
      cause: { message: 'enough' },
    });
  });

  test('is told why it is to stop, and is not asked at all after that', async () => {
    const { model, calls } = fake([{ type: 'text-start', id: '0' }], { open: true });
    const stop = new AbortController();

    for await (const part of aiSdkModel(model).stream(REQUEST, stop.signal))
      if (part.type === 'block') stop.abort('enough');
    await partsOf(aiSdkModel(model), REQUEST, stop.signal);

    expect(calls).toHaveLength(1);
    expect(calls[0]?.abortSignal?.reason).toBe('enough');
  });

  test('by sending parts of nonsense is a failure', async () => {
    const parts = await read([{ type: 'text-start', id: '0', providerMetadata: { p: { big: 1n } } }, STOP]);

    expect(failureIn(parts).message).toContain('BigInt');
  });

  test('leaves no listener on the signal', async () => {
    let listeners = 0;
    const signal = {
      aborted: false,
      reason: undefined,
      addEventListener: () => {
        listeners += 1;
      },
      removeEventListener: () => {
        listeners -= 1;
      },
    };

    for await (const part of aiSdkModel(fake([STOP]).model).stream(REQUEST, signal)) if (part.type === 'finish') break;

    expect(listeners).toBe(0);
  });
});

async function callOf(
  request: Partial<ModelRequest>,
  about: Parameters<typeof fake>[1] = {},
): Promise<LanguageModelV4CallOptions> {
  const made = fake([STOP], about);
  await partsOf(aiSdkModel(made.model), { ...REQUEST, ...request });
  const [call] = made.calls;
  if (call === undefined) throw new Error('no call');
  return call;
}

const image: Message = {
  role: 'user',
  content: [
    { type: 'media', mediaType: 'image/png', data: 'aGk=' },
    { type: 'media', mediaType: 'image/png', data: 'https://example.test/a.png' },
    { type: 'media', mediaType: 'image/png', data: 'data:image/png;base64,aGk=' },
  ],
};

const partsIn = async (version: string): Promise<unknown> => {
  const message = (await callOf({ messages: [image] }, { version })).prompt.at(-1);
  return message?.role === 'user'
    ? message.content.map((part) => (part.type === 'file' ? part.data : part))
    : undefined;
};

const failureOf = (message: string, status?: number, type?: string): ReturnType<typeof aiSdkFailure> =>
  aiSdkFailure({ message, ...(status === undefined ? {} : { statusCode: status }), error: { message, type } });

describe('a request', () => {
  test('has its settings, and none that were not set', async () => {
    const settings = {
      maxOutputTokens: 5,
      temperature: 0,
      toolChoice: 'required',
      providerOptions: { p: { effort: 'low' } },
    } as const;

    const full = await callOf({ settings });
    const bare = await callOf({ settings: { toolChoice: 'none' }, tools: [], system: '' });

    expect(full).toMatchObject({
      maxOutputTokens: 5,
      temperature: 0,
      toolChoice: { type: 'required' },
      providerOptions: { p: { effort: 'low' } },
      tools: [{ type: 'function', name: 'note' }],
    });
    expect(Object.keys(bare).toSorted()).toEqual(['abortSignal', 'prompt']);
    expect(bare.prompt.map(({ role }) => role)).toEqual(['user']);
  });

  test('carries images as base64 and as addresses, in the words of each version', async () => {
    const url = new URL('https://example.test/a.png');

    expect(await partsIn('v4')).toEqual([
      { type: 'data', data: 'aGk=' },
      { type: 'url', url },
      { type: 'data', data: 'aGk=' },
    ]);
    expect(await partsIn('v3')).toEqual(['aGk=', url, 'aGk=']);
  });

  test('brings back what its own model attached, byte for byte', async () => {
    const opaque = { fake: { signature: 'sig+/=', nested: [1, { a: null }] } };
    const own: Message = {
      role: 'assistant',
      model: 'fake/m-1',
      content: [
        { type: 'thinking', text: '', opaque },
        { type: 'text', text: '' },
        { type: 'text', text: 'a', opaque },
        { type: 'call', id: 'c', tool: 't', input: [1], opaque },
      ],
    };

    const other: Message = { role: 'assistant', model: 'other', content: [{ type: 'thinking', text: 'hm' }] };
    const { prompt } = await callOf({ messages: [own, other], system: '' });

    expect(prompt).toHaveLength(1);
    expect(prompt.at(-1)).toEqual({
      role: 'assistant',
      content: [
        { type: 'reasoning', text: '', providerOptions: opaque },
        { type: 'text', text: 'a', providerOptions: opaque },
        { type: 'tool-call', toolCallId: 'c', toolName: 't', input: [1], providerOptions: opaque },
      ],
    });
  });

  test('to OpenAI Responses does not depend on the memory of its server, unless it is asked to', async () => {
    const about = { provider: 'openai.responses' };
    const asked = { providerOptions: { openai: { store: true, effort: 'low' } } };

    expect((await callOf({ settings: {} }, about)).providerOptions).toEqual({ openai: { store: false } });
    expect((await callOf({ settings: asked }, about)).providerOptions).toEqual(asked.providerOptions);
    expect((await callOf({ settings: {} }, { provider: 'openai.chat' })).providerOptions).toBeUndefined();
  });
});

describe('a model', () => {
  test('is named by provider and model, or as it is told', () => {
    const { model } = fake([], { provider: 'anthropic.messages' });

    expect(aiSdkModel(model)).toMatchObject({ id: 'anthropic/m-1' });
    expect(aiSdkModel(model, { id: 'mine', contextTokens: 200_000 })).toMatchObject({
      id: 'mine',
      contextTokens: 200_000,
    });
    expect('contextTokens' in aiSdkModel(model)).toBe(false);
  });

  test.each(['a-name', null, undefined, {}, { specificationVersion: 'v9', doStream: () => undefined }])(
    'that is none is refused: %j',
    (wrong) => {
      expect(codeOf(() => aiSdkModel(wrong as unknown as LanguageModelV2))).toBe('models/not-a-model');
    },
  );

  test.each([
    { id: ' ' },
    { id: '\uD800' },
    { contextTokens: 0 },
    { contextTokens: 1.5 },
    { contextTokens: Number.NaN },
  ])('is not made with nonsense: %j', (options) => {
    expect(codeOf(() => aiSdkModel(fake([]).model as AiSdkLanguageModel, options))).toBe('models/bad-option');
  });
});

describe('words of a provider', () => {
  const overflow = "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens";
  const quota = 'You exceeded your current quota, please check your plan and billing details.';

  test.each([
    ['prompt is too long: 210000 tokens > 200000 maximum', 400, 'invalid_request_error', 'overflow'],
    [overflow, 400, undefined, 'overflow'],
    ['The input token count (9) exceeds the maximum number of tokens allowed (8).', 400, undefined, 'overflow'],
    [quota, 429, undefined, 'billing'],
  ])('count where nothing typed says it: %s', (message, status, type, kind) => {
    expect(failureOf(message, status, type).text?.class).toBe(kind);
  });

  test.each([
    ['in the middle of a sentence', `The user wrote: ${quota}`, 429, undefined],
    ['beside a type that says more', quota, 429, 'rate_limit_exceeded'],
    ["with Google's type, whose free minutes use the same words", quota, 429, 'RESOURCE_EXHAUSTED'],
    ['with a status that they do not come with', overflow, 500, undefined],
  ])('do not count %s', (_, message, status, type) => {
    expect(failureOf(message, status, type).text).toBeUndefined();
  });
});

function codeOf(act: () => unknown): string | undefined {
  try {
    act();
  } catch (error) {
    return isOnwardError(error) ? error.code : String(error);
  }
  return undefined;
}
