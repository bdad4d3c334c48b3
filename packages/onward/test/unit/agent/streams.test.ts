import fc from 'fast-check';
import { afterEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { llmRetry } from '../../../src/agent/plugins/llm-retry/index.ts';
import type { SessionEventData } from '../../../src/agent/session-events.ts';
import type { Signal } from '../../../src/kernel/signal.ts';
import type { FinishReason, ModelPart } from '../../../src/models/model.ts';
import {
  createGate,
  createScriptedModel,
  type ScriptedItem,
  type ScriptedModel,
  type ScriptedStep,
} from '../../../src/testing/index.ts';
import {
  endTestAgents,
  outline,
  overloaded,
  rounds,
  startTestAgent,
  type TestAgent,
  testTool,
  until,
} from './start-test-agent.ts';

afterEach(endTestAgents);

/** A model whose stream is written by the test, part by part. */
function rawModel(stream: (signal: Signal, nth: number) => AsyncIterable<ModelPart>): ScriptedModel {
  let nth = 0;
  return { ...createScriptedModel([]), stream: (_, signal) => stream(signal, (nth += 1)) };
}

const retried = (rig: TestAgent): readonly SessionEventData['step.closed'][] =>
  rig.data('step.closed').filter(({ outcome }) => outcome === 'failed');

/** Lets time pass, timer by timer, until the promise is settled. */
async function settle<Value>(rig: TestAgent, promise: Promise<Value>): Promise<Value> {
  const seen = { over: false };
  void promise.finally(() => {
    seen.over = true;
  });
  for (let round = 0; round < 1_000 && !seen.over; round++) {
    // oxlint-disable-next-line no-await-in-loop -- time passes piece by piece
    await rounds(2);
    // oxlint-disable-next-line no-await-in-loop
    if (!seen.over) await rig.clock.advance(rig.clock.pending()[0] ?? 0);
  }
  return await promise;
}

describe('the watchdogs', () => {
  test('A122 given silence within the limit (comments are no parts), when the answer comes, then there was no time-out and no record of it', async () => {
    const gate = createGate();
    const rig = await startTestAgent({
      script: [['a', { gate }, 'b']],
      watchdogs: { headersMs: 1_000, idleMs: 5_000 },
    });
    const asked = rig.agent.followup('go');
    await gate.entered;
    await rig.clock.advance(4_999);
    const before = rig.seen.length;
    gate.open();
    expect(await asked.ended).toMatchObject({ kind: 'done', text: 'ab' });
    expect(rig.seen.slice(before).map(({ type }) => type)).toEqual([
      'block.closed',
      'block.closed',
      'answer.completed',
      'step.closed',
      'turn.closed',
    ]);
  });

  test.each([
    { what: 'until the first part', limits: { headersMs: 1_000, idleMs: 0 }, parts: [] },
    { what: 'between parts', limits: { headersMs: 0, idleMs: 1_000 }, parts: ['a'] },
  ])(
    'A124 given silence $what over the limit, when the watchdog fires, then the transport is aborted',
    async (cell) => {
      let aborted = 0;
      const rig = await startTestAgent({
        watchdogs: cell.limits,
        model: rawModel(async function* (signal) {
          signal.addEventListener('abort', () => (aborted += 1));
          for (const text of cell.parts) {
            yield { type: 'block', block: 0, kind: 'text' };
            yield { type: 'delta', block: 0, text };
          }
          await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
        }),
      });
      const asked = rig.agent.followup('go');
      await until(() => rig.clock.pending().includes(1_000));
      await rounds();
      await rig.clock.advance(999);
      expect(aborted).toBe(0);
      await rig.clock.advance(1);
      expect(await asked.ended).toMatchObject({
        kind: 'failed',
        class: 'transient',
        failure: { type: 'timeout_error' },
      });
      expect(aborted).toBe(1);
      expect(outline(rig.agent.history())).toEqual(['user: go']);
    },
  );

  test('A123 given a cancel before the watchdog, when the turn ends, then it was aborted and did not time out', async () => {
    const rig = await startTestAgent({ script: [[{ stall: true }]], watchdogs: { idleMs: 1_000 } });
    const asked = rig.agent.followup('go');
    await until(() => rig.model.open === 1);
    await rig.clock.advance(999);
    rig.agent.cancel();
    await rig.clock.advance(10);
    expect(await asked.ended).toEqual({ kind: 'cancelled', cause: 'user' });
    expect([rig.model.aborted, rig.model.open]).toEqual([1, 0]);
  });

  test('a model that ignores the abort is left behind, and its late parts change nothing', async () => {
    const gate = createGate();
    const rig = await startTestAgent({
      watchdogs: { idleMs: 1_000 },
      model: rawModel(async function* () {
        yield { type: 'started' };
        await gate.wait();
        yield { type: 'block', block: 0, kind: 'text' };
        yield { type: 'delta', block: 0, text: 'late' };
        yield { type: 'finish', reason: 'stop' };
      }),
    });
    const asked = rig.agent.followup('go');
    await until(() => rig.model.requests.length === 0 && rig.data('step.opened').length === 1);
    await rounds();
    await rig.clock.advance(1_000);
    expect(await asked.ended).toMatchObject({ kind: 'failed' });
    const before = rig.seen.length;
    gate.open();
    await rounds();
    expect(rig.seen).toHaveLength(before);
  });
});

const cause = (code: string): Error => Object.assign(new Error(code), { code });

describe('a stream that fails', () => {
  test.each<{ readonly what: string; readonly step: ScriptedStep }>([
    {
      what: 'was refused',
      step: [{ throw: new TypeError('fetch failed', { cause: cause('ECONNREFUSED') }) }],
    },
    {
      what: 'was reset',
      step: ['half of ', { throw: new TypeError('terminated', { cause: cause('ECONNRESET') }) }],
    },
    {
      what: 'was half sent',
      step: ['half of ', { throw: new TypeError('terminated', { cause: cause('UND_ERR_SOCKET') }) }],
    },
    { what: 'ended without a finish', step: ['half of ', { cut: true }] },
    { what: 'failed in the stream', step: ['half of ', { fail: overloaded }] },
    { what: 'finished without content', step: [] },
    { what: 'went on after its finish', step: ['half', { finish: 'stop' }, 'more'] },
  ])('A125 and $what is retried, and nothing of it is committed', async ({ step }) => {
    const rig = await startTestAgent({ script: [step, 'whole'], plugins: [llmRetry()] });
    expect(await settle(rig, rig.ask('go'))).toMatchObject({ kind: 'done', turn: 2, text: 'whole' });
    expect(retried(rig)).toHaveLength(1);
    expect(outline(rig.agent.history())).toEqual(['user: go', 'assistant: whole']);
    expect(outline(rig.model.requests[1]?.messages ?? [])).toEqual(['user: go']);
  });

  test.each([
    { status: 429, type: 'insufficient_quota' },
    { status: 429, code: 'credit_exhausted', type: 'credit_exhausted' },
  ])('A127 with status 429 and the words of a quota (%j) is not retried', async (facts) => {
    const rig = await startTestAgent({
      script: [[{ fail: { message: 'You exceeded your current quota', ...facts } }]],
      plugins: [llmRetry()],
    });
    expect(await rig.ask('go')).toMatchObject({ kind: 'failed', class: 'billing', failure: facts });
    expect(rig.model.requests).toHaveLength(1);
  });

  test.each<{ readonly what: string; readonly thrown: (touch: () => void) => unknown }>([
    {
      what: 'getters that throw',
      thrown: (touch) =>
        Object.defineProperties(
          {},
          Object.fromEntries(
            ['message', 'code', 'status', 'cause', 'name', 'stack', 'headers'].map((key) => [
              key,
              {
                enumerable: true,
                get() {
                  touch();
                  throw new Error('touched');
                },
              },
            ]),
          ),
        ),
    },
    {
      what: 'traps that throw',
      thrown: (touch) =>
        new Proxy(
          {},
          {
            get() {
              touch();
              throw new Error('touched');
            },
            getOwnPropertyDescriptor() {
              touch();
              throw new Error('touched');
            },
            getPrototypeOf() {
              touch();
              throw new Error('touched');
            },
          },
        ),
    },
  ])(
    'A128 by throwing a value with $what ends the turn with plain facts, and no code of it runs',
    async ({ thrown }) => {
      let touched = 0;
      const rig = await startTestAgent({ script: [[{ throw: thrown(() => (touched += 1)) }]] });
      expect(await rig.ask('go')).toMatchObject({ kind: 'failed', failure: { message: expect.any(String) as string } });
      expect(touched).toBe(0);
      expect((await rig.stored()).at(-1)).toMatchObject({ type: 'turn.closed', data: { end: { reason: 'failed' } } });
    },
  );

  test.each([
    ['null', null],
    ['undefined', undefined],
    ['a text', 'that went wrong'],
    ['a number', Number.NaN],
    ['a symbol', Symbol('odd')],
    ['a function', () => 1],
    ['an error with half a character', new Error(`${'x'.repeat(499)}\u{1f600}`)],
    [
      'an error of errors without end',
      ((): unknown => {
        const error = new Error('round');
        error.cause = error;
        return error;
      })(),
    ],
  ])('A128 by throwing %s ends the turn with plain facts', async (_, thrown) => {
    const rig = await startTestAgent({ script: [[{ throw: thrown }], 'on'] });
    expect(await rig.ask('go')).toMatchObject({ kind: 'failed' });
    expect((await rig.stored()).at(-1)).toMatchObject({ type: 'turn.closed' });
    expect(await rig.ask('on')).toMatchObject({ kind: 'done' });
  });

  test('A129 in its reader, or in a listener before it, is not taken for a failure of the model: it stays thrown, and is never offered to recovery', async () => {
    const offered: unknown[] = [];
    const rig = await startTestAgent({
      script: [[{ text: 'abc', pieces: 3 }], 'second'],
      on: {
        'agent/request': async ({ turn }, next) => {
          if (turn === 2) throw new Error('a listener broke');
          return await next();
        },
        'agent/request-error': ({ failure }) => {
          offered.push(failure);
          return { kind: 'retry' };
        },
      },
    });
    const asked = rig.agent.followup('go');
    const reading = async (): Promise<void> => {
      for await (const event of asked.events()) if (event.type === 'live.delta') throw new Error('the reader broke');
    };
    await expect(reading()).rejects.toThrow('the reader broke');
    expect(await asked.ended).toMatchObject({ kind: 'done', text: 'abc' });
    expect(await rig.ask('again')).toMatchObject({ kind: 'failed', failure: { message: 'a listener broke' } });
    expect([offered, rig.model.requests.length]).toEqual([[], 1]);
  });

  test('R80 after tool results were in is retried alone: the tools are not run again', async () => {
    let runs = 0;
    const rig = await startTestAgent({
      script: [[{ call: 'look' }, { call: 'look', id: 'again', input: 2 }], ['part ', { fail: overloaded }], 'done'],
      tools: [testTool('look', () => (runs += 1))],
      plugins: [llmRetry()],
    });
    expect(await settle(rig, rig.ask('go'))).toMatchObject({ kind: 'done', text: 'done' });
    expect([runs, rig.model.requests.length]).toEqual([2, 3]);
    expect(outline(rig.model.requests[2]?.messages ?? [])).toEqual(outline(rig.model.requests[1]?.messages ?? []));
  });

  test('R81 in mid-stream is on record as a failed attempt, and its text is no answer', async () => {
    const rig = await startTestAgent({ script: [['looks like an answer.', { fail: overloaded }]] });
    expect(await rig.ask('go')).toMatchObject({ kind: 'failed', class: 'transient', failure: overloaded });
    expect(retried(rig)).toMatchObject([{ outcome: 'failed', failure: overloaded }]);
    expect(rig.data('answer.completed')).toEqual([]);
    expect(outline(rig.agent.history())).toEqual(['user: go']);
  });
});

const whole = JSON.stringify({ path: '/a "b" \u{1f600}', force: true, deep: [{ n: 1.5e3 }, null] });

describe('arguments of a call', () => {
  test('R86 cut at any byte, however the stream ends, never reach the tool; whole ones do, once', async () => {
    const finishes: readonly (readonly ScriptedItem[])[] = [
      ...(['calls', 'stop', 'length', 'content-filter', 'other'] as const).map((finish: FinishReason) => [{ finish }]),
      [{ cut: true }],
      [{ fail: overloaded }],
    ];
    const bytes = Buffer.from(whole);
    await fc.assert(
      fc.asyncProperty(
        fc.nat(bytes.length),
        fc.constantFrom(...finishes),
        fc.boolean(),
        fc.integer({ min: 1, max: 9 }),
        async (at, ending, isOpen, pieces) => {
          const raw = bytes.subarray(0, at).toString('utf8');
          const inputs: unknown[] = [];
          const item: ScriptedItem = { call: 'write', raw, pieces, ...(isOpen ? { open: true } : {}) };
          const rig = await startTestAgent({
            script: [[item, ...ending], 'done'],
            tools: [
              testTool('write', (input) => inputs.push(input), {
                input: z.object({ path: z.string(), force: z.boolean(), deep: z.array(z.json()) }),
              }),
            ],
          });
          await rig.ask('go');
          const [end] = ending;
          const isFine = typeof end === 'object' && 'finish' in end && ['calls', 'stop', 'other'].includes(end.finish);
          expect(inputs).toEqual(raw === whole && !isOpen && isFine ? [JSON.parse(whole)] : []);
          expect(rig.model.refused).toEqual([]);
        },
      ),
      { numRuns: 400 },
    );
  });

  test('R86 cut at every byte in turn never reach the tool', async () => {
    const bytes = Buffer.from(whole);
    for (let at = 0; at < bytes.length; at++) {
      const inputs: unknown[] = [];
      const raw = bytes.subarray(0, at).toString('utf8');
      // oxlint-disable-next-line no-await-in-loop -- one cut after the other
      const rig = await startTestAgent({
        script: [[{ call: 'write', raw }], 'done'],
        tools: [testTool('write', (input) => inputs.push(input), { input: z.object({ path: z.string() }) })],
      });
      // oxlint-disable-next-line no-await-in-loop
      await rig.ask('go');
      expect(inputs, `cut at ${at}`).toEqual([]);
    }
  });
});
