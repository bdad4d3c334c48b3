import { describe, expect, test } from 'vitest';
import { effectStep, startModelServer } from '../../../src/lab/index.ts';
import type { Said } from './model-clients.ts';
import { APIS, bodyOf, PATHS, post } from './model-clients.ts';

const PROMPT: Said = { kind: 'user', text: 'Do the task.' };
const CALL: Said = { kind: 'call', id: 'toolu_1', name: 'Bash', input: { command: 'ls' } };
const RESULT: Said = { kind: 'result', id: 'toolu_1', text: 'a file' };
const GO_ON: Said = { kind: 'user', text: 'Continue.' };

/** Status and message of the answer to this body. */
async function answerTo(
  path: string,
  body: object,
): Promise<{ status: number | null; message: string; refused: string | null }> {
  const script = { task: { steps: [effectStep('one', 1)] }, temperament: 'naive' as const };
  await using server = await startModelServer({ script });
  const got = await post(server.url + path, body);
  const message = got.status === 200 ? '' : (JSON.parse(got.text) as { error: { message: string } }).error.message;
  return {
    status: got.status,
    message,
    refused: server.requests[0]?.refused ?? null,
  };
}

/** The same for a request to Anthropic Messages with these messages. */
const askAnthropic = async (
  messages: readonly object[],
  rest: object = { max_tokens: 10 },
): ReturnType<typeof answerTo> =>
  answerTo('/v1/messages', { model: 'm', tools: [{ name: 'Bash', input_schema: {} }], messages, ...rest });

describe.each(APIS)('%s', (api) => {
  const ask = async (...said: readonly Said[]): ReturnType<typeof answerTo> => answerTo(PATHS[api], bodyOf(api, said));

  test('a call with its result is accepted', async () => {
    expect(await ask(PROMPT, CALL, RESULT, GO_ON)).toMatchObject({ status: 200, refused: null });
  });

  test('a call without its result is refused', async () => {
    const got = await ask(PROMPT, CALL, GO_ON);

    expect(got.status).toBe(400);
    expect(got.message).toContain('toolu_1');
    expect(got.message).toMatch(
      /without `tool_result` blocks immediately after|No tool output found|did not have response messages/,
    );
    expect(got.refused).toBe(got.message);
  });

  test('a call without its result is refused although a later turn goes on, and at the very end', async () => {
    const later: Said = { kind: 'assistant', text: 'So be it.' };

    expect(await ask(PROMPT, CALL, GO_ON, later, GO_ON)).toMatchObject({ status: 400 });
    expect(await ask(PROMPT, CALL)).toMatchObject({ status: 400 });
  });

  test('a result without its call is refused', async () => {
    const got = await ask(PROMPT, RESULT, GO_ON);

    expect(got.status).toBe(400);
    expect(got.message).toMatch(
      /unexpected `tool_use_id`|No tool call found for function call output|must be a response to a preceeding message/,
    );
  });

  test('two results of one call are refused', async () => {
    const got = await ask(PROMPT, CALL, RESULT, RESULT);

    expect(got.status).toBe(400);
    expect(got.message).toMatch(
      /each tool_use must have a single result|Duplicate tool output|must be a response to a preceeding message/,
    );
  });

  test('two prompts in a row are accepted', async () => {
    expect(await ask(PROMPT, GO_ON, GO_ON)).toMatchObject({ status: 200 });
  });
});

describe('Anthropic Messages', () => {
  const call = { role: 'assistant', content: [{ type: 'tool_use', id: 't1', name: 'Bash', input: {} }] };
  const result = { type: 'tool_result', tool_use_id: 't1', content: 'x' };
  const text = { type: 'text', text: 'hello' };

  test.each([
    ['no messages', [], /at least one message/],
    [
      'the first message is the assistant',
      [{ role: 'assistant', content: 'hello' }],
      /first message must use the "user" role/,
    ],
    [
      'an empty text block',
      [{ role: 'user', content: [{ type: 'text', text: '' }] }],
      /text content blocks must be non-empty/,
    ],
    ['an empty text', [{ role: 'user', content: '' }], /text content blocks must be non-empty/],
    [
      'an empty message',
      [
        { role: 'user', content: [] },
        { role: 'user', content: 'x' },
      ],
      /must have non-empty content/,
    ],
    [
      'text in front of a result',
      [{ role: 'user', content: 'x' }, call, { role: 'user', content: [text, result] }],
      /immediately after: t1/,
    ],
    [
      'the same call id twice',
      [
        { role: 'user', content: 'x' },
        call,
        { role: 'user', content: [result] },
        call,
        { role: 'user', content: [result] },
      ],
      /ids must be unique/,
    ],
    ['a call with nothing after it', [{ role: 'user', content: 'x' }, call], /immediately after: t1/],
    [
      'a trailing space in the last assistant text',
      [
        { role: 'user', content: 'x' },
        { role: 'assistant', content: 'so ' },
      ],
      /trailing whitespace/,
    ],
  ])('%s is refused', async (_name, messages, words) => {
    const got = await askAnthropic(messages);

    expect(got.status).toBe(400);
    expect(got.message).toMatch(words);
  });

  test('text behind a result is accepted, also in a message of its own', async () => {
    const before = [{ role: 'user', content: 'x' }, call];

    expect(await askAnthropic([...before, { role: 'user', content: [result, text] }])).toMatchObject({ status: 200 });
    expect(
      await askAnthropic([...before, { role: 'user', content: [result] }, { role: 'user', content: [text] }]),
    ).toMatchObject({ status: 200 });
  });

  test('two calls need both results', async () => {
    const two = {
      role: 'assistant',
      content: [...call.content, { type: 'tool_use', id: 't2', name: 'Bash', input: {} }],
    };
    const other = { ...result, tool_use_id: 't2' };

    expect(
      await askAnthropic([{ role: 'user', content: 'x' }, two, { role: 'user', content: [result] }]),
    ).toMatchObject({
      status: 400,
    });
    expect(
      await askAnthropic([{ role: 'user', content: 'x' }, two, { role: 'user', content: [result, other] }]),
    ).toMatchObject({
      status: 200,
    });
  });

  test('a request without max_tokens is refused', async () => {
    expect(await askAnthropic([{ role: 'user', content: 'x' }], {})).toMatchObject({
      status: 400,
      message: 'max_tokens: Field required',
    });
  });
});

test('a poisoned history is refused before any fault, and the fault is not used up on it', async () => {
  const faults = [{ from: 2, fault: { kind: 'error' as const, error: 'overloaded' as const } }];
  const script = { task: { steps: [effectStep('one', 1)] }, temperament: 'naive' as const, faults };
  await using server = await startModelServer({ script });
  const ask = async (...said: readonly Said[]): Promise<number | null> =>
    (await post(server.url + PATHS['openai-responses'], bodyOf('openai-responses', said))).status;

  expect(await ask(PROMPT)).toBe(200);
  expect(await ask(PROMPT, CALL)).toBe(400);
  expect(server.requests[1]).toMatchObject({ fault: null, answer: null });
});

test('a body that is not JSON is refused in the words of that API', async () => {
  const script = { task: { steps: [effectStep('one', 1)] }, temperament: 'naive' as const };
  await using server = await startModelServer({ script });

  expect((await post(`${server.url}/v1/messages`, '{ "messages": ')).status).toBe(400);
});
