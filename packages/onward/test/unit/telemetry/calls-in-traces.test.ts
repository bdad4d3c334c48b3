import { SpanStatusCode } from '@opentelemetry/api';
import { describe, expect, test } from 'vitest';
import { answer, createMemoryJournal, type Plugin } from '../../../src/library/agent/index.ts';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { createFakeClock, type ScriptedItem } from '../../../src/testing/index.ts';
import { testTool } from '../agent/start-test-agent.ts';
import { at, msOf, only, traced } from './trace-rig.ts';

const secret = 'sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789';

function call(spans: readonly ReadableSpan[], id: string): ReadableSpan {
  return only(spans, ({ attributes }) => attributes['gen_ai.tool.call.id'] === id);
}

/** Hears of each question that a call waits for. */
function person(asked: (question: string) => Promise<void>): Plugin {
  return {
    name: 'person',
    setup(host) {
      host.observe((event) => {
        if (event.type === 'call.waiting') void asked(event.data.question);
      });
    },
  };
}

describe('calls in a trace', () => {
  test('each is a child of the request that asked for it, with its outcome', async () => {
    const { spans } = await traced(
      [
        [
          { call: 'look', id: 'c1' },
          { call: 'fall', id: 'c2' },
          { call: 'nothing', id: 'c3' },
        ],
        'done',
      ],
      { tools: [testTool('look'), testTool('fall', () => Promise.reject(new Error('fell')), { effect: 'untracked' })] },
    );
    const request = at(spans, 1, 1);
    const [look, fall, unknown] = ['c1', 'c2', 'c3'].map((id) => call(spans, id));
    for (const span of [look, fall, unknown]) {
      expect(span?.parentSpanContext?.spanId).toBe(request.spanContext().spanId);
      expect(span?.attributes).toMatchObject({ 'gen_ai.operation.name': 'execute_tool', 'onward.attempt': 1 });
    }
    expect(look?.name).toBe('execute_tool look');
    expect(look?.status).toEqual({ code: SpanStatusCode.UNSET });
    expect(look?.attributes).toMatchObject({ 'gen_ai.tool.name': 'look', 'onward.tool.outcome': 'ok' });
    expect(fall?.status).toEqual({ code: SpanStatusCode.ERROR, message: 'tool-failed' });
    expect(fall?.attributes).toMatchObject({ 'onward.tool.outcome': 'tool-failed', 'error.type': 'tool-failed' });
    expect(unknown?.attributes).toMatchObject({ 'onward.tool.outcome': 'unknown-tool' });
  });

  test('the time of a tool is its own, and not that of the model', async () => {
    const clock = createFakeClock();
    const journal = createMemoryJournal({ clock });
    const { spans, start } = await traced([[{ call: 'slow' }], 'done'], {
      journal,
      clock,
      tools: [testTool('slow', async (_, { signal }) => clock.sleep(7_000, signal).then(() => 'slept'))],
    });
    const tool = only(spans, ({ name }) => name === 'execute_tool slow');
    expect([msOf(tool.startTime), msOf(tool.endTime)]).toEqual([start, start + 7_000]);
    expect(msOf(at(spans, 1, 1).endTime)).toBe(start);
    expect(msOf(at(spans, 1, 2).startTime)).toBe(start + 7_000);
    await journal.close();
  });

  test('what only a failed attempt had asked for is no call', async () => {
    const { spans } = await traced([[{ call: 'look' }, { fail: { message: 'Overloaded', status: 529 } }], 'done'], {
      tools: [testTool('look')],
    });
    expect(spans.map(({ name }) => name).filter((name) => name.startsWith('execute_tool'))).toEqual([]);
  });

  test('one that waited for an answer names its question, and begins when it is let through', async () => {
    const clock = createFakeClock();
    const journal = createMemoryJournal({ clock });
    const { spans, start } = await traced([[{ call: 'send' }], 'done'], {
      journal,
      clock,
      tools: [testTool('send', () => 'sent', { effect: 'untracked', approval: { version: '1' } })],
      plugins: [
        person(async (question) => {
          await clock.sleep(3_000);
          await answer(journal, question, { choice: 'approve', by: 'me' });
        }),
      ],
    });
    const span = only(spans, ({ name }) => name === 'execute_tool send');
    expect(span.attributes['onward.question']).toMatch(/./);
    expect(msOf(span.startTime)).toBe(start + 3_000);
    await journal.close();
  });
});

describe('a request outside the conversation', () => {
  test('stands beside those of its turn, with what it cost and which plugin asked', async () => {
    const question = { system: '', messages: [], tools: [], settings: {} };
    const critic: Plugin = {
      name: 'critic',
      setup(host) {
        host.on('agent/turn-stopping', async ({ signal }, next) => {
          const content = [{ type: 'text' as const, text: 'Is it good?' }];
          await host.aside('review', { ...question, messages: [{ role: 'user', content }] }, signal);
          await host.aside('review', { ...question, messages: [{ role: 'user', content }] }, signal);
          await next();
        });
      },
    };
    const opinion: ScriptedItem[] = ['An opinion.', { finish: 'stop', usage: { inputTokens: 40 } }];
    const { spans } = await traced(['done', opinion, [{ fail: { message: 'No.', status: 500 } }]], {
      plugins: [critic],
    });
    const [first, second, more] = spans.filter(({ attributes }) => 'onward.aside.plugin' in attributes);
    expect(more).toBeUndefined();
    expect(first?.attributes).toMatchObject({
      'gen_ai.operation.name': 'chat',
      'gen_ai.request.model': 'large-1',
      'gen_ai.usage.input_tokens': 40,
      'onward.aside.plugin': 'critic',
      'onward.aside.purpose': 'review',
    });
    expect(first?.parentSpanContext?.spanId).toBe(at(spans, 1).spanContext().spanId);
    expect(first?.status.code).toBe(SpanStatusCode.UNSET);
    expect(second?.status.code).toBe(SpanStatusCode.ERROR);
    expect(second?.attributes).toMatchObject({ 'error.type': '500' });
  });
});

describe('a trace', () => {
  test('never holds what was said, thought, called with or answered, nor a secret, however a provider or a model spells it', async () => {
    const words = ['PROMPT-WORDS', 'THOUGHT-WORDS', 'ANSWER-WORDS', 'INPUT-WORDS', 'OUTPUT-WORDS', 'FAILURE-WORDS'];
    const { spans, events } = await traced(
      [
        [{ fail: { message: `FAILURE-WORDS: PROMPT-WORDS ${secret}`, status: 503, type: secret, code: 'a sentence' } }],
        [
          { thinking: 'THOUGHT-WORDS' },
          'ANSWER-WORDS',
          { call: 'look', id: secret, input: { path: 'INPUT-WORDS', key: secret } },
          { call: `INPUT-WORDS is no ${secret}`, id: 'INPUT-WORDS and more' },
        ],
        'ANSWER-WORDS',
      ],
      {
        prompt: `PROMPT-WORDS ${secret}`,
        tools: [testTool('look', () => Promise.reject(new Error(`OUTPUT-WORDS ${secret}`)))],
      },
    );
    const told = JSON.stringify(events);
    for (const word of [...words, secret]) expect(told).toContain(word);
    const shown = JSON.stringify(
      spans.map(({ name, attributes, status, links, events: more }) => ({
        name,
        attributes,
        status,
        links: links.map((link) => link.attributes),
        more,
      })),
    );
    for (const word of [...words, secret, 'a sentence']) expect(shown).not.toContain(word);
    expect(spans.filter(({ name }) => name.startsWith('execute_tool')).map(({ name }) => name)).toEqual([
      'execute_tool look',
      'execute_tool unknown',
    ]);
    expect(at(spans, 1, 1).attributes['error.type']).toBe('503');
  });
});
