import { describe, expect, test } from 'vitest';
import type { TurnScript } from '../../../src/lab/index.ts';
import { checkScript, LabError, startModelServer } from '../../../src/lab/index.ts';
import type { Said } from './model-clients.ts';
import { APIS, bodyOf, eventsOf, hear, PATHS, post } from './model-clients.ts';

const PROMPT: Said = { kind: 'user', text: 'Do the task.' };
const NOTE = { name: 'note', input: { word: 'one' } };

describe.each(APIS)('a list of turns over %s', (api) => {
  const ask = async (url: string, said: readonly Said[] = [PROMPT], stream = true): ReturnType<typeof post> =>
    await post(url + PATHS[api], bodyOf(api, said, { stream, tools: false }));

  test.each([true, false])('is played to a caller without any tools, turn by turn (streaming: %s)', async (stream) => {
    await using server = await startModelServer({ script: { turns: [{ calls: [NOTE] }, { text: 'Done.' }] } });

    const first = hear(api, (await ask(server.url, [PROMPT], stream)).text, stream);
    const second = hear(api, (await ask(server.url, [PROMPT], stream)).text, stream);

    expect(first.calls).toMatchObject([NOTE]);
    expect(second).toMatchObject({ text: 'Done.', calls: [] });
    expect(server.requests.map(({ index, answer }) => [index, answer])).toEqual([
      [1, 'call note {"word":"one"}'],
      [2, 'Done.'],
    ]);
  });

  test('gives the turn again that a fault kept from its caller', async () => {
    await using server = await startModelServer({
      script: {
        turns: [{ text: 'One.' }, { text: 'Two.' }],
        faults: [{ from: 1, to: 2, fault: { kind: 'error', error: 'overloaded' } }],
      },
    });

    const replies = [await ask(server.url), await ask(server.url), await ask(server.url), await ask(server.url)];

    expect(replies.map(({ status }) => status)).toEqual([529, 529, 200, 200]);
    expect(replies.slice(2).map(({ text }) => hear(api, text, true).text)).toEqual(['One.', 'Two.']);
  });

  test('is refused with words of its own once it is used up', async () => {
    await using server = await startModelServer({ script: { turns: [{ text: 'One.' }] } });
    await ask(server.url);

    const reply = await ask(server.url);

    expect(reply.status).toBe(400);
    expect(reply.text).toContain("The lab's script has 1 turns, and all of them were given.");
    expect(server.requests[1]?.refused).toContain('all of them were given');
  });

  test('still refuses a history that the real API refuses, and uses no turn up for it', async () => {
    await using server = await startModelServer({ script: { turns: [{ text: 'One.' }] } });
    const unpaired: Said[] = [PROMPT, { kind: 'call', id: 'c1', name: 'note', input: { word: 'one' } }];

    const refused = await ask(server.url, unpaired);
    const good = await ask(server.url);

    expect(refused.status).toBe(400);
    expect(server.requests[0]?.refused).not.toBeNull();
    expect(hear(api, good.text, true).text).toBe('One.');
  });

  test('may hold broken arguments, and ids of its own', async () => {
    const call = { name: 'note', input: {}, id: 'same', inputText: '{"word":"on' };
    await using server = await startModelServer({ script: { turns: [{ calls: [call, call] }] } });

    const { text } = await ask(server.url);

    expect(text.match(/"same"/g)?.length).toBeGreaterThanOrEqual(2);
    expect(() => hear(api, text, true)).toThrow(SyntaxError);
  });

  test('says what a turn used', async () => {
    const usage = { inputTokens: 50, outputTokens: 7, cacheReadTokens: 20 };
    await using server = await startModelServer({ script: { turns: [{ text: 'One.', usage }] } });

    const { text } = await ask(server.url);

    const said = {
      'anthropic-messages': /"input_tokens":30,.*"cache_read_input_tokens":20.*"output_tokens":7/su,
      'openai-responses': /"input_tokens":50,"input_tokens_details":\{"cached_tokens":20\},"output_tokens":7/u,
      'openai-chat': /"prompt_tokens":50,"completion_tokens":7,.*"cached_tokens":20/u,
    };
    expect(text).toMatch(said[api]);
  });

  test('sends its thinking before its text', async () => {
    await using server = await startModelServer({ script: { turns: [{ thinking: 'Hm.', text: 'Yes.' }] } });

    const streamed = eventsOf((await ask(server.url)).text).join('\n');

    const thinking = streamed.search(/thinking_delta|reasoning_summary_text\.delta|reasoning_content/u);
    const text = streamed.search(/text_delta|output_text\.delta|"content":"Y/u);
    expect(thinking).toBeGreaterThan(0);
    expect(text).toBeGreaterThan(thinking);
  });

  test('starts again when the script is set again', async () => {
    const script: TurnScript = { turns: [{ text: 'One.' }] };
    await using server = await startModelServer({ script });
    await ask(server.url);

    server.setScript(script);

    expect((await ask(server.url)).status).toBe(200);
  });
});

function again(content: readonly object[]): object {
  return {
    model: 'm',
    max_tokens: 10,
    messages: [
      { role: 'user', content: 'Do it.' },
      { role: 'assistant', content },
      { role: 'user', content: 'Go on.' },
    ],
  };
}

describe('thinking that comes back', () => {
  const thought = { type: 'thinking', thinking: 'Hm.', signature: '' };

  test('is taken with the signature it had, and refused with another', async () => {
    await using server = await startModelServer({
      script: { turns: [{ thinking: 'Hm.', text: 'Yes.' }, { text: 'Ok.' }] },
    });
    const url = server.url + PATHS['anthropic-messages'];
    const whole = JSON.parse(
      (await post(url, bodyOf('anthropic-messages', [PROMPT], { stream: false, tools: false }))).text,
    ) as { content: object[] };
    const changed = await post(url, again([{ ...thought, signature: 'another' }]));
    const kept = await post(url, again(whole.content));

    expect(changed.text).toContain('Invalid `signature` in `thinking` block');
    expect([changed.status, kept.status]).toEqual([400, 200]);
  });

  test('is refused when its encrypted content was changed', async () => {
    await using server = await startModelServer({ script: { turns: [{ text: 'Yes.' }] } });
    const item = {
      type: 'reasoning',
      id: 'rs_1',
      summary: [{ type: 'summary_text', text: 'Hm.' }],
      encrypted_content: 'lab.x',
    };

    const reply = await post(server.url + PATHS['openai-responses'], { model: 'm', stream: true, input: [item] });

    expect(reply.text).toContain('could not be verified');
  });
});

describe('a list that makes no sense is refused by its place', () => {
  const cases: readonly (readonly [script: object, place: string])[] = [
    [{ turns: [] }, 'script.turns must be'],
    [{ turns: 'many' }, 'script.turns must be'],
    [{ turns: [{ text: 1 }] }, 'script.turns[0].text must be'],
    [{ turns: [{ thinking: {} }] }, 'script.turns[0].thinking must be'],
    [{ turns: [{ stop: 'never' }] }, 'script.turns[0].stop must be'],
    [{ turns: [{ calls: [{ name: '', input: {} }] }] }, 'script.turns[0].calls[0].name must be'],
    [{ turns: [{ calls: [{ name: 'x' }] }] }, 'script.turns[0].calls[0].input must be'],
    [{ turns: [{ usage: { inputTokens: -1, outputTokens: 0 } }] }, 'script.turns[0].usage.inputTokens must be'],
    [{ turns: [{}], faults: [{ from: 0, fault: { kind: 'reset' } }] }, 'script.faults[0].from must be'],
  ];

  test.each(cases)('%j', (script, place) => {
    expect(() => checkScript(script as TurnScript)).toThrow(LabError);
    expect(() => checkScript(script as TurnScript)).toThrow(place);
  });
});
