import fc from 'fast-check';
import { afterEach, describe, expect, test } from 'vitest';
import type { Signal } from '../../../src/kernel/signal.ts';
import type { ModelPart } from '../../../src/models/model.ts';
import { createMemoryJournal } from '../../../src/stores/memory/index.ts';
import { openSqliteJournal } from '../../../src/stores/sqlite/index.ts';
import {
  createFakeClock,
  createFixedRandom,
  createScriptedModel,
  type ScriptedModel,
  testHash,
} from '../../../src/testing/index.ts';
import { quickHarness } from '../../fixtures/sqlite-harness.ts';
import { endTestAgents, outline, startTestAgent, type TestAgent, testTool } from './start-test-agent.ts';

afterEach(endTestAgents);

/** A first answer as the test writes it, of anything; then `fine`. */
function oddly(first: (signal: Signal) => unknown): ScriptedModel {
  const then = createScriptedModel(() => 'fine');
  let asked = 0;
  return {
    ...then,
    stream(request, signal) {
      asked += 1;
      return asked === 1 ? (first(signal) as AsyncIterable<ModelPart>) : then.stream(request, signal);
    },
  };
}

async function* saying(...parts: readonly unknown[]): AsyncGenerator {
  for (const part of parts) yield await Promise.resolve(part);
}

/** The turn failed with plain facts; what is stored loads; the next prompt is answered, and from the old history. */
async function expectSurvived(rig: TestAgent): Promise<void> {
  const [closed] = rig.data('turn.closed');
  expect(closed?.end).toMatchObject({ reason: 'failed', failure: { message: expect.any(String) as string } });
  expect(rig.data('answer.completed')).toEqual([]);
  expect(await rig.ask('on')).toMatchObject({ kind: 'done', text: 'fine' });
  const { journal, clock } = rig;
  const again = await startTestAgent({ journal, clock, reopen: true, series: 'c' });
  expect(outline(again.agent.history())).toEqual(['user: go', 'user: on', 'assistant: fine']);
}

const text = { type: 'block', block: 0, kind: 'text' };
const said = [text, { type: 'delta', block: 0, text: 'hello' }, { type: 'end', block: 0 }];
const finish = { type: 'finish', reason: 'stop' };
const callBlock = { type: 'block', block: 0, kind: 'call', id: 'c', tool: 'look' };

const hostile = new Proxy(
  {},
  {
    get() {
      throw new Error('touched');
    },
  },
);

describe('a model', () => {
  test.each<{ readonly what: string; readonly stream: () => unknown }>([
    {
      what: 'throws at once',
      stream: () => {
        throw new Error('not now');
      },
    },
    { what: 'returns nothing', stream: () => undefined },
    { what: 'returns a promise', stream: () => Promise.resolve(saying(...said, finish)) },
    { what: 'returns a list', stream: () => [...said, finish] },
    { what: 'has an iterator that is none', stream: () => ({ [Symbol.asyncIterator]: () => 5 }) },
    { what: 'has a next that returns nothing', stream: () => ({ [Symbol.asyncIterator]: () => ({ next: () => {} }) }) },
    {
      what: 'has a next that gives nothing',
      stream: () => ({ [Symbol.asyncIterator]: () => ({ next: async () => await Promise.resolve() }) }),
    },
    {
      what: 'has a next that throws',
      stream: () => ({
        [Symbol.asyncIterator]: () => ({
          next() {
            throw new Error('no more');
          },
          return() {
            throw new Error('no end');
          },
        }),
      }),
    },
    { what: 'is hostile all through', stream: () => hostile },
  ])('that $what fails the request, and the next prompt is answered', async ({ stream }) => {
    const rig = await startTestAgent({ model: oddly(stream) });
    expect(await rig.ask('go')).toMatchObject({ kind: 'failed' });
    expect(JSON.stringify(rig.data('turn.closed')[0])).not.toContain('did not answer');
    await expectSurvived(rig);
  });

  const parts: readonly (readonly [string, unknown])[] = [
    ['null', null],
    ['a text', 'hello'],
    ['a number', 7],
    ['an object without a type', {}],
    ['another type', { type: 'thought' }],
    ['a block without a number', { type: 'block', kind: 'text' }],
    ['a block with half a number', { type: 'block', block: 1.5, kind: 'text' }],
    ['a block of another kind', { type: 'block', block: 1, kind: 'image' }],
    ['a call without an id', { type: 'block', block: 1, kind: 'call', tool: 'look' }],
    ['a call without a tool', { type: 'block', block: 1, kind: 'call', id: 'c', tool: '' }],
    ['a delta of no block', { type: 'delta', block: 5, text: 'x' }],
    ['a delta of bytes', { type: 'delta', block: 0, text: new Uint8Array([0xff]) }],
    ['an end of no block', { type: 'end', block: 9 }],
    ['an end with a signature that is not JSON', { type: 'end', block: 0, opaque: { sign: () => 1 } }],
    ['an end with half of a signature', { type: 'end', block: 0, opaque: { signature: 'abc\ud800' } }],
    ['another reason to finish', { type: 'finish', reason: 'done' }],
    ['a failure that is none', { type: 'failed', failure: null }],
    ['a failure without a message', { type: 'failed', failure: { status: 500 } }],
    [
      'a failure that JSON cannot say',
      {
        type: 'failed',
        failure: { message: 'no', status: Number.NaN, retryAfterMs: Number.POSITIVE_INFINITY, at: 1n },
      },
    ],
    ['a failure of half a character', { type: 'failed', failure: { message: 'no \ud83d', type: '\ud83d' } }],
    ['a hostile failure', { type: 'failed', failure: hostile }],
    ['a hostile part', hostile],
  ];

  const partOf = (what: string): unknown => parts.find(([name]) => name === what)?.[1];

  test.each(parts.map(([what]) => what))(
    'that says %s fails the request, and nothing of it is committed',
    async (what) => {
      const part = partOf(what);
      const rig = await startTestAgent({ model: oddly(() => saying(text, part, { type: 'end', block: 0 }, finish)) });
      expect(await rig.ask('go')).toMatchObject({ kind: 'failed' });
      await expectSurvived(rig);
    },
  );

  test.each(parts.filter(([what]) => !what.includes('failure')).map(([what]) => what))(
    'that says %s after its finish fails the request',
    async (what) => {
      const part = partOf(what);
      const rig = await startTestAgent({ model: oddly(() => saying(...said, finish, part)) });
      await rig.ask('go');
      await expectSurvived(rig);
    },
  );

  test('that says anything at all never breaks the session', async () => {
    const part = fc.oneof(
      fc.anything(),
      fc.record(
        {
          type: fc.constantFrom('started', 'block', 'delta', 'end', 'usage', 'finish', 'failed'),
          block: fc.oneof(fc.nat(2), fc.anything()),
          kind: fc.oneof(fc.constantFrom('text', 'thinking', 'call'), fc.anything()),
          text: fc.oneof(fc.string({ unit: 'binary' }), fc.anything()),
          id: fc.oneof(fc.string(), fc.anything()),
          tool: fc.constantFrom('look', 'none', ''),
          reason: fc.constantFrom('stop', 'calls', 'length', 'other', 'odd'),
          usage: fc.anything(),
          failure: fc.anything(),
          opaque: fc.anything(),
          requestId: fc.anything(),
        },
        { requiredKeys: ['type', 'block', 'kind', 'text', 'id', 'tool', 'reason'] },
      ),
      fc.constantFrom<unknown>(...said, finish, callBlock),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(part, { maxLength: 8 }), async (list) => {
        const rig = await startTestAgent({ model: oddly(() => saying(...list)), tools: [testTool('look')] });
        await rig.ask('go');
        expect(await rig.ask('on')).toMatchObject({ kind: 'done', text: 'fine' });
        expect(rig.model.refused).toEqual([]);
        const { journal, clock } = rig;
        const again = await startTestAgent({ journal, clock, reopen: true, series: 'c' });
        expect(again.agent.history()).toEqual(rig.agent.history());
      }),
      { numRuns: 300 },
    );
  });

  test('that reports odd amounts is counted by those that are amounts', async () => {
    const usage = { inputTokens: Number.NaN, outputTokens: 5, usd: -1, cacheReadTokens: null, more: 'x' };
    const rig = await startTestAgent({ model: oddly(() => saying(...said, { ...finish, usage })) });
    expect(await rig.ask('go')).toMatchObject({ kind: 'done', usage: { outputTokens: 5 } });
    expect(rig.data('answer.completed')).toMatchObject([{ usage: { outputTokens: 5 } }]);
  });
});

describe('text that is none', () => {
  test('half characters of an answer become U+FFFD, and a whole one that was cut between two deltas stays whole', async () => {
    const model = oddly(() =>
      saying(
        text,
        { type: 'delta', block: 0, text: 'a\ud83d' },
        { type: 'delta', block: 0, text: '\ude00b\ud800c' },
        { type: 'end', block: 0 },
        { type: 'block', block: 1, kind: 'thinking' },
        { type: 'end', block: 1, text: 'x\udc00' },
        { type: 'block', block: 2, kind: 'call', id: 'i\ud800', tool: 'lo\ud800ok' },
        { type: 'delta', block: 2, text: '{}' },
        { type: 'end', block: 2 },
        { type: 'finish', reason: 'calls', raw: 'tool\ud800' },
      ),
    );
    const rig = await startTestAgent({ model });
    expect(await rig.ask('go')).toMatchObject({ kind: 'done' });
    expect(rig.agent.history()[1]?.content).toEqual([
      { type: 'text', text: 'a\u{1f600}b\ufffdc' },
      { type: 'thinking', text: 'x\ufffd' },
      { type: 'call', id: 'i\ufffd', tool: 'lo\ufffdok', input: {} },
    ]);
    expect(await rig.stored()).toHaveLength(rig.seen.length);
  });

  test('a text of nothing but blanks beside a call is left out, since a provider would refuse the history for it', async () => {
    const rig = await startTestAgent({
      script: [['\n\n', { call: 'look' }, '  '], 'done'],
      tools: [testTool('look')],
    });
    expect(await rig.ask('go')).toMatchObject({ kind: 'done', text: 'done' });
    expect(rig.model.refused).toEqual([]);
    expect(outline(rig.agent.history())[1]).toBe('assistant: call look');
  });

  test('half characters in the arguments of a call never reach the tool', async () => {
    let runs = 0;
    const model = oddly(() =>
      saying(callBlock, { type: 'delta', block: 0, text: '{"a":"\\ud800"}' }, { type: 'end', block: 0 }, finish),
    );
    const rig = await startTestAgent({ model, tools: [testTool('look', () => (runs += 1))] });
    await rig.ask('go');
    expect(runs).toBe(0);
    await expectSurvived(rig);
  });

  test.each([
    ['half a character', 'a\ud800'],
    ['a list of nothing', []],
    ['a part of another type', [{ type: 'audio', data: '' }]],
    ['a number for a text', [{ type: 'text', text: 5 }]],
    ['a hole', [{ type: 'text', text: 'a', opaque: undefined }]],
    ['null', null],
  ])('%s in a prompt is refused at once, and nothing is queued', async (_, content) => {
    const rig = await startTestAgent();
    for (const verb of ['followup', 'steer', 'inject'] as const)
      expect(() => rig.agent[verb](content as string)).toThrow(expect.objectContaining({ code: 'agent/bad-content' }));
    expect(rig.agent.queued()).toEqual([]);
    expect(rig.data('message.accepted')).toEqual([]);
  });

  test('half characters from a function of the instructions are repaired; what is no text fails the turn by name', async () => {
    let instructions: unknown = 'quoted \ud800';
    const rig = await startTestAgent({ instructions: () => instructions as string });
    expect(await rig.ask('a')).toMatchObject({ kind: 'done' });
    expect(rig.model.requests[0]?.system).toBe('quoted \ufffd');
    instructions = undefined;
    expect(await rig.ask('b')).toMatchObject({ kind: 'failed', failure: { code: 'agent/bad-instructions' } });
  });

  test('content from a listener that is none drops the prompt, and no turn opens', async () => {
    const rig = await startTestAgent({
      on: { 'agent/prompt-admission': () => ({ kind: 'allow', content: [{ type: 'text', text: '\ud800' }] }) },
    });
    expect(await rig.ask('a')).toMatchObject({ kind: 'blocked' });
    expect(rig.data('turn.opened')).toEqual([]);
  });
});

describe('ids that are used twice', () => {
  test('one call said twice is run once; another one under its id is run under an id of its own', async () => {
    const inputs: unknown[] = [];
    const rig = await startTestAgent({
      script: [
        [
          { call: 'look', id: 'x', input: { a: 1 } },
          { call: 'look', id: 'x', input: { a: 1 } },
          { call: 'look', id: 'x', input: { a: 2 } },
          { call: 'look', id: 'x#2', input: { a: 3 } },
          { call: 'look', id: '', input: { a: 4 } },
        ],
        'done',
      ],
      tools: [testTool('look', (input) => inputs.push(input))],
    });
    expect(await rig.ask('go')).toMatchObject({ kind: 'done' });
    expect(inputs).toEqual([{ a: 1 }, { a: 2 }, { a: 3 }, { a: 4 }]);
    expect(rig.model.refused).toEqual([]);
    const ids = rig.data('call.finished').map(({ id }) => id);
    expect(new Set(ids).size).toBe(4);
  });
});

describe('a very large', () => {
  const big = 'ä'.repeat(5 * 1024 * 1024);

  test.each(['memory', 'sqlite'] as const)(
    'delta, result, prompt and argument (10 MB each) are stored and loaded as they were, in %s',
    async (kind) => {
      const clock = createFakeClock();
      const harness = quickHarness();
      const ports = { clock, random: createFixedRandom(), hash: testHash };
      const open = async () => await openSqliteJournal({ path: harness.path, ...ports });
      let journal = kind === 'memory' ? createMemoryJournal({ clock }) : await open();
      const rig = await startTestAgent({
        clock,
        journal,
        script: [[big, { call: 'look', input: { big } }], 'done'],
        tools: [testTool('look', () => ({ big }), { effect: 'untracked' })],
      });
      expect(await rig.ask(big)).toMatchObject({ kind: 'done', text: 'done' });
      await rig.agent[Symbol.asyncDispose]();
      if (kind === 'sqlite') {
        await journal.close();
        journal = await open();
      }
      const again = await startTestAgent({ clock, journal, reopen: true });
      expect(again.agent.history()).toEqual(rig.agent.history());
      expect(JSON.stringify(again.agent.history()).split(big)).toHaveLength(5);
      expect(await again.ask('on')).toMatchObject({ kind: 'done' });
      await again.agent[Symbol.asyncDispose]();
      await journal.close();
      harness.remove();
    },
    60_000,
  );

  test('argument of a call that a person must approve is asked about without it', async () => {
    const rig = await startTestAgent({
      script: [[{ call: 'write', input: { big } }], 'done'],
      tools: [testTool('write', undefined, { approval: { version: '1' } })],
    });
    const asked = rig.agent.followup('go');
    const settled = await asked.settled;
    expect(settled).toMatchObject({
      kind: 'waiting',
      question: { details: { tool: 'write', inputCharacters: big.length + 10 } },
    });
  });
});
