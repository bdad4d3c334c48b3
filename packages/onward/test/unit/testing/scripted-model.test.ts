import { describe, expect, test } from 'vitest';
import type { CallPart, Message, ModelPart, ModelRequest } from '../../../src/models/model.ts';
import {
  createFixedIds,
  createFixedRandom,
  createGate,
  createScriptedModel,
  type ModelScript,
  type ScriptedModelOptions,
  testHash,
} from '../../../src/testing/index.ts';

const user = (text: string): Message => ({ role: 'user', content: [{ type: 'text', text }] });
const request = (messages: readonly Message[] = [user('hi')]): ModelRequest => ({
  system: '',
  messages,
  tools: [],
  settings: {},
});

async function collect(parts: AsyncIterable<ModelPart>): Promise<readonly ModelPart[]> {
  const all: ModelPart[] = [];
  for await (const part of parts) all.push(part);
  return all;
}

async function answer(script: ModelScript, options?: ScriptedModelOptions): Promise<readonly ModelPart[]> {
  return await collect(createScriptedModel(script, options).stream(request(), new AbortController().signal));
}

const types = (parts: readonly ModelPart[]): string => parts.map((part) => part.type).join(' ');

describe('a scripted model', () => {
  test('plays a text as one complete answer, and finishes by itself', async () => {
    expect(await answer(['hello'])).toEqual([
      { type: 'started' },
      { type: 'block', block: 0, kind: 'text' },
      { type: 'delta', block: 0, text: 'hello' },
      { type: 'end', block: 0 },
      { type: 'finish', reason: 'stop' },
    ]);
  });

  test('plays thinking and calls with ids of its own or given ones, and then finishes for the calls', async () => {
    const parts = await answer([
      [
        { thinking: 'hm', opaque: { signature: 's' } },
        { call: 'read', input: { path: 'a' } },
        { call: 'read', id: 'x' },
      ],
    ]);
    expect(parts.filter((part) => part.type === 'block')).toEqual([
      { type: 'block', block: 0, kind: 'thinking' },
      { type: 'block', block: 1, kind: 'call', id: 'call-1', tool: 'read' },
      { type: 'block', block: 2, kind: 'call', id: 'x', tool: 'read' },
    ]);
    expect(parts).toContainEqual({ type: 'end', block: 0, opaque: { signature: 's' } });
    expect(parts).toContainEqual({ type: 'delta', block: 1, text: '{"path":"a"}' });
    expect(parts.at(-1)).toEqual({ type: 'finish', reason: 'calls' });
  });

  test('streams a huge text in pieces that keep every character whole', async () => {
    const text = '🙂é'.repeat(500);
    const parts = await answer([[{ text, pieces: 250 }]]);
    const deltas = parts.flatMap((part) => (part.type === 'delta' ? [part.text] : []));
    expect(deltas).toHaveLength(250);
    expect(deltas.join('')).toBe(text);
    expect(deltas.every((delta) => delta.isWellFormed())).toBe(true);
  });

  test('fails in the stream or by throwing, is cut, is empty, and goes on after its finish, as it is told', async () => {
    expect(types(await answer([['a', { fail: { message: 'down', status: 503 } }]]))).toBe(
      'started block delta end failed',
    );
    const model = createScriptedModel([[{ throw: new Error('reset') }]]);
    await expect(collect(model.stream(request(), new AbortController().signal))).rejects.toThrow('reset');
    expect(types(await answer([['a', { cut: true }]]))).toBe('started block delta end');
    expect(types(await answer([[{ call: 'read', raw: '{"pa', open: true }, { cut: true }]]))).toBe(
      'started block delta',
    );
    expect(await answer([[]])).toEqual([{ type: 'started' }, { type: 'finish', reason: 'stop' }]);
    expect(types(await answer([[{ finish: 'stop' }, 'late']]))).toBe('started finish block delta end');
    expect(await answer([[{ part: { type: 'finish', reason: 'length' } }]])).toHaveLength(2);
    expect((await answer([[{ usage: { inputTokens: 3 } }]]))[1]).toEqual({ type: 'usage', usage: { inputTokens: 3 } });
  });

  test('a stall lasts until the signal aborts, and leaves nothing open', async () => {
    const model = createScriptedModel([['a', { stall: true }]]);
    const abort = new AbortController();
    const parts = collect(model.stream(request(), abort.signal));
    await new Promise((resolve) => setImmediate(resolve));
    expect(model.open).toBe(1);
    abort.abort();
    expect(types(await parts)).toBe('started block delta end');
    expect([model.open, model.aborted]).toEqual([0, 1]);
  });

  test('a gate holds the answer until the test opens it', async () => {
    const gate = createGate();
    const parts = answer([['a', { gate }, 'b']]);
    await gate.entered;
    expect(gate.waiting).toBe(1);
    gate.open();
    expect(types(await parts)).toBe('started block delta end block delta end finish');
    expect([gate.waiting, gate.isOpen]).toEqual([0, true]);
  });

  test('lets a function decide by the request and its number', async () => {
    const model = createScriptedModel((asked, nth) => `${nth}: ${asked.system}`);
    const { signal } = new AbortController();
    await collect(model.stream(request(), signal));
    expect(await collect(model.stream({ ...request(), system: 'S' }, signal))).toContainEqual({
      type: 'delta',
      block: 0,
      text: '2: S',
    });
  });

  test('keeps frozen copies of what it was asked, which nobody can change afterwards', async () => {
    const messages = [user('hi')];
    const model = createScriptedModel(['a']);
    await collect(model.stream(request(messages), new AbortController().signal));
    messages.push(user('later'));
    expect(model.requests).toEqual([request()]);
    expect(() => (model.requests[0]!.messages as Message[]).push(user('x'))).toThrow(TypeError);
  });

  test('sees what was changed inside a message between two requests, though it shares what was not', async () => {
    const content = [{ type: 'text' as const, text: 'one' }];
    const messages: readonly Message[] = [user('hi'), { role: 'user', content }];
    const model = createScriptedModel(['a', 'b', 'c']);
    const { signal } = new AbortController();
    const ask = async (): Promise<void> => void (await collect(model.stream(request(messages), signal)));
    await ask();
    await ask();
    content[0]!.text = 'two';
    await ask();
    const [first, second, third] = model.requests.map((asked) => asked.messages);
    expect(second?.[1]).toBe(first?.[1]);
    expect(third?.[0]).toBe(first?.[0]);
    expect([first?.[1], third?.[1]]).toEqual([user('one'), user('two')]);
  });

  test('says so when a request comes after the end of its script', async () => {
    await expect(answer([])).rejects.toMatchObject({ code: 'testing/script-ended' });
  });
});

const call = (id: string): CallPart => ({ type: 'call', id, tool: 't', input: {} });
const assistant = (...ids: readonly string[]): Message => ({ role: 'assistant', model: 'm', content: ids.map(call) });
const results = (...ids: readonly string[]): Message => ({
  role: 'tool',
  content: ids.map((id) => ({ type: 'result', id, tool: 't', output: null })),
});
const empty: Message = { role: 'assistant', model: 'm', content: [] };

describe('a strict scripted model', () => {
  test('takes a history whose calls all have their results', async () => {
    const model = createScriptedModel(['ok']);
    const history = [user('a'), assistant('1', '2'), results('1', '2'), user('b')];
    expect(types(await collect(model.stream(request(history), new AbortController().signal)))).toContain('finish');
    expect(model.refused).toEqual([]);
  });

  test.each<[string, readonly Message[]]>([
    ['call 1 has no result right after it', [user('a'), assistant('1'), user('b')]],
    ['call 2 has no result right after it', [user('a'), assistant('1', '2'), results('1')]],
    ['results without a message that called', [user('a'), results('1')]],
    ['the result 2 answers no call', [user('a'), assistant('1'), results('1', '2')]],
    ['two calls have one id', [user('a'), assistant('1', '1'), results('1')]],
    ['two results for one call', [user('a'), assistant('1'), results('1', '1')]],
    ['an empty assistant message', [user('a'), empty, user('b')]],
    ['a text without content', [user(' ')]],
    ['the first message is not from the user', [assistant('1'), results('1')]],
    ['the last message is the model’s own', [user('a'), assistant('1')]],
  ])('refuses as a provider would: %s', async (fault, messages) => {
    const model = createScriptedModel(['never']);
    const parts = await collect(model.stream(request(messages), new AbortController().signal));
    expect(parts).toMatchObject([{ type: 'failed', failure: { status: 400, type: 'invalid_request_error' } }]);
    expect(model.refused.join('\n')).toContain(fault);
    const loose = createScriptedModel(['ok'], { strict: false });
    expect(types(await collect(loose.stream(request(messages), new AbortController().signal)))).toContain('finish');
  });
});

describe('fixed ports', () => {
  test('ids count, are UUIDs of version 7, and two series never meet', () => {
    const [one, other] = [createFixedIds(), createFixedIds('a')];
    const made = [one.uuid(), one.uuid(), other.uuid()];
    expect(new Set(made).size).toBe(3);
    for (const id of made) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(made[0]! < made[1]!).toBe(true);
  });

  test('chance follows its samples and stays at the last', () => {
    const random = createFixedRandom([0, 1]);
    expect([random.next(), random.next(), random.next()]).toEqual([0, 1, 1]);
    expect(createFixedRandom().next()).toBe(0.5);
  });

  test('the hash is SHA-256', () => {
    expect(testHash.sha256('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
  });
});
