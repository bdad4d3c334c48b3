import { afterEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { AnyTool } from '../../../src/agent/tool.ts';
import { listQuestions } from '../../../src/effects/index.ts';
import { createGate } from '../../../src/testing/index.ts';
import { endTestAgents, outline, rounds, startTestAgent, testTool, until } from './start-test-agent.ts';

afterEach(endTestAgents);

const trap = (): never => {
  throw new Error('touched');
};
const hostileProxy = new Proxy({}, { get: trap, getOwnPropertyDescriptor: trap, getPrototypeOf: trap, ownKeys: trap });
const hostileFunction = Object.assign(() => 1, { toString: trap, [Symbol.toPrimitive]: trap });
const hostileGetter = Object.defineProperty({}, 'message', { get: trap, enumerable: true });

const cycle: Record<string, unknown> = {};
cycle['self'] = cycle;

let depth: unknown = 1;
for (let level = 0; level < 10_000; level++) depth = [depth];

/** Says 1 when it is looked at first, and a function from then on. */
const fickle = (): object => {
  let asked = 0;
  return Object.defineProperty({}, 'n', { enumerable: true, get: () => (asked++ === 0 ? 1 : trap) });
};

/** Calls the tool once; returns what became of the call, after the session went on and was loaded again. */
async function outcomeOf(tool: AnyTool) {
  const rig = await startTestAgent({ script: [[{ call: 'odd' }], 'done', 'next'], tools: [tool] });
  expect(await rig.ask('go')).toMatchObject({ kind: 'done', text: 'done' });
  expect(await rig.ask('on')).toMatchObject({ kind: 'done', text: 'next' });
  expect(rig.model.refused).toEqual([]);
  const { journal, clock } = rig;
  const again = await startTestAgent({ journal, clock, reopen: true, series: 'c' });
  expect(again.agent.history()).toEqual(rig.agent.history());
  return rig.data('call.finished')[0]?.outcome;
}

const effects = ['none', 'untracked', {}] as const;

describe('a tool that throws', () => {
  test.each<{ readonly what: string; readonly thrown: unknown; readonly message?: string }>([
    { what: 'an error', thrown: new Error('no such file'), message: 'no such file' },
    { what: 'an error without a message', thrown: new Error('') },
    { what: 'a text', thrown: 'no such file', message: 'no such file' },
    { what: 'null', thrown: null },
    { what: 'nothing', thrown: undefined },
    { what: 'a number', thrown: Number.NaN },
    { what: 'a symbol', thrown: Symbol('odd') },
    { what: 'a BigInt', thrown: 5n },
    { what: 'a hostile function', thrown: hostileFunction },
    { what: 'an object with a hostile getter', thrown: hostileGetter },
    { what: 'a hostile proxy', thrown: hostileProxy },
    { what: 'an error cut in mid-character', thrown: new Error(`${'x'.repeat(499)}\u{1f600}`) },
    { what: 'a text of half a character', thrown: '\ud800' },
    { what: 'a promise', thrown: Promise.resolve(1) },
    { what: 'an abort of its own', thrown: new DOMException('stopped', 'AbortError'), message: 'stopped' },
  ])('$what has an error result, and the turn goes on', async ({ thrown, message = '' }) => {
    for (const effect of ['none', 'untracked'] as const) {
      const later = testTool('odd', async () => await Promise.reject(thrown), { effect });
      const atOnce = testTool(
        'odd',
        () => {
          throw thrown;
        },
        { effect },
      );
      for (const tool of [later, atOnce]) {
        // oxlint-disable-next-line no-await-in-loop -- one tool after the other
        const outcome = await outcomeOf(tool);
        expect(outcome).toMatchObject({ ok: false, code: 'tool-failed', message: expect.any(String) as string });
        expect(JSON.stringify(outcome)).toContain(message);
      }
    }
  });

  test.each([
    ['a hostile proxy', hostileProxy],
    ['null', null],
    ['a hostile function', hostileFunction],
  ])('%s with a declared effect leaves its outcome unknown: a person is asked', async (_, thrown) => {
    const tool = testTool('odd', async () => await Promise.reject(thrown), { effect: {} });
    const rig = await startTestAgent({ script: [[{ call: 'odd' }]], tools: [tool] });
    expect(await rig.agent.followup('go').settled).toMatchObject({ kind: 'waiting' });
    expect(await listQuestions(rig.journal, { state: 'open' })).toHaveLength(1);
  });
});

describe('a tool that returns', () => {
  test.each<{ readonly what: string; readonly value: () => unknown }>([
    { what: 'a function', value: () => trap },
    { what: 'a symbol', value: () => Symbol('odd') },
    { what: 'NaN', value: () => Number.NaN },
    { what: 'an infinity in a list', value: () => [1, Number.POSITIVE_INFINITY] },
    { what: 'a BigInt', value: () => 5n },
    { what: 'a cycle', value: () => cycle },
    { what: 'ten thousand lists in each other', value: () => depth },
    { what: 'a date', value: () => new Date() },
    { what: 'a map', value: () => new Map([[1, 2]]) },
    { what: 'bytes', value: () => new Uint8Array([0xff]) },
    { what: 'half a character', value: () => 'a\ud800' },
    { what: 'a name of half a character', value: () => ({ '\ud800': 1 }) },
    { what: 'a field that is undefined', value: () => ({ a: undefined }) },
    { what: 'a hostile proxy', value: () => new Proxy({}, { ownKeys: trap, getPrototypeOf: trap }) },
    { what: 'a getter that throws', value: () => ({ get n() { return trap(); } }) }, // prettier-ignore
  ])('$what has a result that says so, and the turn goes on', async ({ value }) => {
    for (const effect of ['none', 'untracked'] as const) {
      // oxlint-disable-next-line no-await-in-loop -- one tool after the other
      expect(await outcomeOf(testTool('odd', value as () => string, { effect }))).toMatchObject({
        ok: false,
        code: 'bad-output',
      });
    }
    // With a ledger it has happened, whatever it returned: nothing is gained by calling that unknown.
    expect(await outcomeOf(testTool('odd', value as () => string, { effect: {} }))).toMatchObject({ ok: true });
  });

  test.each(['none', 'untracked'] as const)(
    'something else at each look, with effect %s, has the result that was seen first, also in the log',
    async (effect) => {
      expect(await outcomeOf(testTool('odd', fickle as never, { effect }))).toEqual({ ok: true, output: { n: 1 } });
    },
  );

  test.each(effects)('nothing, with effect %j, has the result null', async (effect) => {
    expect(await outcomeOf(testTool('odd', (() => undefined) as never, { effect }))).toEqual({
      ok: true,
      output: null,
    });
  });

  test.each(effects)(
    'an object that it changes later, with effect %j, has the result that it returned',
    async (effect) => {
      const shared = { list: [1] };
      const rig = await startTestAgent({
        script: [[{ call: 'odd' }], 'done'],
        tools: [testTool('odd', () => shared, { effect })],
        on: {
          'agent/pre-step': async ({ step }, next) => {
            if (step === 2) shared.list.push(2);
            await next();
          },
        },
      });
      await rig.ask('go');
      expect(shared).toEqual({ list: [1, 2] });
      expect(rig.agent.history()[2]?.content).toMatchObject([{ output: { list: [1] } }]);
      const { journal, clock } = rig;
      const again = await startTestAgent({ journal, clock, reopen: true });
      expect(again.agent.history()).toEqual(rig.agent.history());
    },
  );
});

describe('a tool that never returns', () => {
  test('and ignores the abort is left behind at its deadline; what it does afterwards changes nothing', async () => {
    const gate = createGate();
    const tool = testTool(
      'odd',
      async () => {
        await gate.wait();
        return 'late';
      },
      { deadlineMs: 100 },
    );
    const rig = await startTestAgent({ script: [[{ call: 'odd' }], 'done'], tools: [tool] });
    const asked = rig.agent.followup('go');
    await gate.entered;
    await rig.clock.advance(2_100);
    expect(await asked.ended).toMatchObject({ kind: 'done' });
    expect(rig.data('call.finished')).toMatchObject([{ outcome: { ok: false, code: 'timeout' } }]);
    const before = rig.seen.length;
    gate.open();
    await rounds();
    expect(rig.seen).toHaveLength(before);
  });

  test('without a deadline is waited for', async () => {
    const gate = createGate();
    const tool = testTool('odd', async () => (await gate.wait(), 'late'), { deadlineMs: 0 });
    const rig = await startTestAgent({ script: [[{ call: 'odd' }], 'done'], tools: [tool] });
    const asked = rig.agent.followup('go');
    await gate.entered;
    await rig.clock.advance(3_600_000);
    expect(rig.data('call.finished')).toEqual([]);
    gate.open();
    expect(await asked.ended).toMatchObject({ kind: 'done' });
  });
});

const withSchema = (validate: (value: unknown) => unknown): AnyTool => ({
  ...testTool('odd'),
  input: { '~standard': { version: 1, vendor: 'test', validate: validate as never } },
  inputSchema: { type: 'object' },
});

describe('a schema', () => {
  test.each<{ readonly what: string; readonly validate: () => unknown }>([
    { what: 'throws', validate: trap },
    { what: 'throws a hostile proxy', validate: () => { throw hostileProxy; } }, // prettier-ignore
    { what: 'rejects', validate: async () => await Promise.reject(new Error('no')) },
    { what: 'returns nothing', validate: () => undefined },
    { what: 'returns a text', validate: () => 'fine' },
    { what: 'has issues that are none', validate: () => ({ issues: 5 }) },
    { what: 'has hostile issues', validate: () => ({ issues: [hostileProxy] }) },
  ])('that $what refuses the call, and the body does not run', async ({ validate }) => {
    let runs = 0;
    expect(await outcomeOf({ ...withSchema(validate), run: () => (runs += 1) })).toMatchObject({
      ok: false,
      code: 'invalid-input',
    });
    expect(runs).toBe(0);
  });

  test('that never answers ends with the cancel', async () => {
    const rig = await startTestAgent({
      script: [[{ call: 'odd' }], 'next'],
      tools: [withSchema(async () => await new Promise(() => undefined))],
    });
    const asked = rig.agent.followup('go');
    await until(() => rig.data('answer.completed').length === 1);
    await rounds();
    rig.agent.cancel();
    expect(await asked.ended).toMatchObject({ kind: 'cancelled' });
  });

  test('names at most ten issues, with their paths', async () => {
    const tool = testTool('odd', undefined, { input: z.object({ a: z.string(), b: z.object({ c: z.number() }) }) });
    const rig = await startTestAgent({ script: [[{ call: 'odd', input: { b: {} } }], 'done'], tools: [tool] });
    await rig.ask('go');
    expect(outline(rig.agent.history())[2]).toMatch(/^tool: result odd: \[invalid-input\].*a: .*; b\.c: /);
  });

  test('that returns something else gives the body that; the history keeps what the model said', async () => {
    const inputs: unknown[] = [];
    const tool = testTool('odd', (input) => inputs.push(input), {
      input: z.object({ n: z.coerce.number().default(5) }),
    });
    const rig = await startTestAgent({ script: [[{ call: 'odd', input: { n: '7' } }], 'done'], tools: [tool] });
    await rig.ask('go');
    expect(inputs).toEqual([{ n: 7 }]);
    expect(rig.agent.history()[1]?.content).toMatchObject([{ input: { n: '7' } }]);
  });
});

describe('an approval', () => {
  test.each<{ readonly what: string; readonly approval: AnyTool['approval'] }>([
    { what: 'rule that throws', approval: { version: '1', when: trap } },
    { what: 'text that throws', approval: { version: '1', text: trap } },
    { what: 'text that is none', approval: { version: '1', text: () => 5 as never } },
  ])('with a $what refuses the call, and the turn goes on', async ({ approval }) => {
    let runs = 0;
    const tool = testTool('odd', () => (runs += 1), approval === undefined ? {} : { approval });
    expect(await outcomeOf(tool)).toMatchObject({ ok: false, code: 'denied' });
    expect(runs).toBe(0);
  });

  test('whose text is cut in mid-character can be asked for', async () => {
    const tool = testTool('odd', undefined, { approval: { version: '1' } });
    const input = `${'x'.repeat(198)}\u{1f600}${'x'.repeat(50)}`;
    const rig = await startTestAgent({ script: [[{ call: 'odd', input }]], tools: [tool] });
    expect(await rig.agent.followup('go').settled).toMatchObject({ kind: 'waiting', question: { details: { input } } });
  });
});
