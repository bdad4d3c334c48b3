import { describe, expect, test } from 'vitest';
import type { TurnSpec } from '../../../src/lab/index.ts';
import { startModelServer } from '../../../src/lab/index.ts';
import { findNonJson, type Json } from '../../../src/kernel/json.ts';
import type { CallPart, Message, ModelPart, Opaque, TextPart, ThinkingPart } from '../../../src/models/model.ts';
import { modelAt, partsOf, REQUEST, textIn, WIRES } from './wires.ts';

const CALL: TurnSpec = {
  thinking: 'First "one", then two.',
  text: 'Now I write the notes.',
  calls: [
    { name: 'note', input: { word: 'one ✓' } },
    { name: 'note', input: { word: 'two' } },
  ],
  usage: { inputTokens: 120, outputTokens: 30, cacheReadTokens: 100 },
};

/** Puts an answer together as the loop does: blocks in the order they began, calls parsed strictly. */
function answerOf(parts: readonly ModelPart[], model: string): Extract<Message, { role: 'assistant' }> {
  const content = parts.flatMap((begun): (TextPart | ThinkingPart | CallPart)[] => {
    if (begun.type !== 'block') return [];
    const own = parts.filter((part) => 'block' in part && part.block === begun.block);
    const end = own.find((part) => part.type === 'end');
    const text = end?.text ?? own.map((part) => (part.type === 'delta' ? part.text : '')).join('');
    const opaque: { opaque?: Opaque } = end?.opaque === undefined ? {} : { opaque: end.opaque };
    if (begun.kind !== 'call') return [{ type: begun.kind, text, ...opaque }];
    return [{ type: 'call', id: begun.id, tool: begun.tool, input: JSON.parse(text) as Json, ...opaque }];
  });
  return { role: 'assistant', model, content };
}

function resultsOf(answer: Extract<Message, { role: 'assistant' }>): Message {
  const calls = answer.content.filter((part) => part.type === 'call');
  return {
    role: 'tool',
    content: calls.map(({ id, tool }, index) =>
      index === 0
        ? { type: 'result', id, tool, output: { written: true } }
        : { type: 'result', id, tool, output: 'disk full', isError: true },
    ),
  };
}

describe.each(WIRES)('$name', (wire) => {
  test('takes a whole conversation with thinking, calls and results, and the provider accepts the history', async () => {
    await using server = await startModelServer({ script: { turns: [CALL, { text: 'Half done.' }] } });
    const model = modelAt(wire, server.url);

    const first = await partsOf(model);
    const answer = answerOf(first, model.id);
    const next: Message = { role: 'user', content: [{ type: 'text', text: 'Say it.' }] };
    const second = await partsOf(model, {
      ...REQUEST,
      messages: [...REQUEST.messages, answer, resultsOf(answer), next],
    });

    expect(answer.content.filter(({ type }) => type === 'call')).toMatchObject([
      { tool: 'note', input: { word: 'one ✓' } },
      { tool: 'note', input: { word: 'two' } },
    ]);
    expect(findNonJson(first)).toBeUndefined();
    expect(first.at(-1)).toMatchObject({
      type: 'finish',
      reason: 'calls',
      usage: { inputTokens: 120, outputTokens: 30, cacheReadTokens: 100 },
    });
    expect(textIn(second)).toBe('Half done.');
    expect(second.at(-1)).toMatchObject({ type: 'finish', reason: 'stop' });
    expect(server.requests.map(({ refused, status }) => [refused, status])).toEqual([
      [null, 200],
      [null, 200],
    ]);
    expect(server.requests[1]?.history.slice(1)).toEqual([
      'user: Do the secret-prompt task.',
      'assistant: Now I write the notes.',
      'call note: {"word":"one ✓"}',
      'call note: {"word":"two"}',
      'result: {"written":true}',
      // OpenAI has no mark for a result that is an error: the SDK puts it into the text.
      wire.name.startsWith('openai ') ? 'result: {"error":"disk full"}' : 'result: disk full',
      'user: Say it.',
    ]);
  });

  test('sends the same bytes for the same request', async () => {
    await using server = await startModelServer({ script: { turns: [CALL, { text: 'a' }, { text: 'b' }] } });
    const model = modelAt(wire, server.url);
    const answer = answerOf(await partsOf(model), model.id);
    const request = { ...REQUEST, messages: [...REQUEST.messages, answer, resultsOf(answer)] };

    await partsOf(model, request);
    await partsOf(modelAt(wire, server.url), JSON.parse(JSON.stringify(request)) as typeof request);

    expect(JSON.stringify(server.requests[2]?.body)).toBe(JSON.stringify(server.requests[1]?.body));
  });

  test('sends nothing of what another model thought or its provider attached', async () => {
    await using server = await startModelServer({ script: { turns: [{ text: 'ok' }] } });
    const opaque = {
      anthropic: { signature: 'canary' },
      openai: { itemId: 'canary', reasoningEncryptedContent: 'canary' },
    };
    const other: Message = {
      role: 'assistant',
      model: 'other/model',
      content: [
        { type: 'thinking', text: 'canary thought', opaque },
        { type: 'text', text: 'Before.', opaque },
        { type: 'call', id: 'c1', tool: 'note', input: { word: 'one' }, opaque },
      ],
    };
    const only: Message = { role: 'assistant', model: 'other/model', content: [{ type: 'thinking', text: 'canary' }] };

    const parts = await partsOf(modelAt(wire, server.url), {
      ...REQUEST,
      messages: [...REQUEST.messages, other, resultsOf(other), only, ...REQUEST.messages],
    });

    expect(textIn(parts)).toBe('ok');
    expect(JSON.stringify(server.requests[0]?.body)).not.toContain('canary');
    expect(server.requests[0]?.history.join('\n')).toContain('Before.');
  });

  test('hands broken and cut arguments over as they are, for the loop to refuse', async () => {
    const call = { name: 'note', input: {}, inputText: '{"word":"on' };
    await using server = await startModelServer({ script: { turns: [{ calls: [call] }] } });

    const parts = await partsOf(modelAt(wire, server.url));

    const inputs = parts.flatMap((part) => (part.type === 'end' && part.text !== undefined ? [part.text] : []));
    expect(inputs).toEqual(['{"word":"on']);
  });

  test('is refused by the provider for an unpaired call, and says so as an input failure', async () => {
    await using server = await startModelServer({ script: { turns: [{ text: 'never' }] } });
    const call: Message = {
      role: 'assistant',
      model: 'other/model',
      content: [{ type: 'call', id: 'c1', tool: 'note', input: { word: 'one' } }],
    };

    const parts = await partsOf(modelAt(wire, server.url), { ...REQUEST, messages: [...REQUEST.messages, call] });

    expect(parts).toMatchObject([{ type: 'failed', failure: { status: 400, type: 'invalid_request_error' } }]);
  });
});
