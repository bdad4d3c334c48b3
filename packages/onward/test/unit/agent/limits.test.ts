import { afterEach, describe, expect, test } from 'vitest';
import { llmRetry } from '../../../src/agent/plugins/llm-retry/index.ts';
import type { Allowance, AnyTool } from '../../../src/agent/tool.ts';
import { createGate, type ScriptedItem } from '../../../src/testing/index.ts';
import { endTestAgents, outline, rounds, settle, startTestAgent, testTool, until } from './start-test-agent.ts';

afterEach(endTestAgents);

const broken: readonly ScriptedItem[] = [{ fail: { message: 'Service Unavailable', status: 503 } }];

describe('R137 given a limit of 150 tool calls', () => {
  const loops: readonly (readonly [string, string, Partial<AnyTool>])[] = [
    ['a tool that always throws', 'bad', {}],
    ['a tool that does not exist', 'nowhere', {}],
    ['arguments that never fit', 'strict', {}],
    ['a tool that is denied each time', 'denied', {}],
  ];
  test.each(loops)(
    'and a model that loops over %s, when it goes on, then call 151 is refused and the turn ends',
    async (_, name) => {
      let ran = 0;
      const bad = testTool('bad', () => {
        ran += 1;
        throw new Error('no');
      });
      const strict = testTool('strict', () => 'x', {
        input: { '~standard': { version: 1, vendor: 'test', validate: () => ({ issues: [{ message: 'never' }] }) } },
        inputSchema: { type: 'object' },
      });
      const rig = await startTestAgent({
        script: () => [{ call: name }],
        tools: [bad, strict, testTool('denied')],
        limits: { turn: { toolCalls: 150, attempts: 400 } },
        on: {
          'agent/tool-call': async ({ call }, next) =>
            call.tool === 'denied' ? { kind: 'deny', because: 'no' } : await next(),
        },
      });
      expect(await rig.ask('a')).toEqual({ kind: 'limit', turn: 1, unit: 'toolCalls', limit: 150 });
      const codes = rig.data('call.finished').map(({ outcome }) => (outcome.ok ? 'ok' : outcome.code));
      expect([codes.length, codes[149] === codes[0], codes[150]]).toEqual([151, true, 'limit']);
      expect(ran).toBe(name === 'bad' ? 150 : 0);
      expect(rig.model.refused).toEqual([]);
    },
  );

  test('and answers with many calls side by side, when the limit falls inside a batch, then no call beyond it runs and all have results', async () => {
    let ran = 0;
    const body = async (): Promise<number> => {
      const nth = (ran += 1);
      await rounds(1);
      return nth;
    };
    const look = testTool('look', body, { parallel: true });
    const rig = await startTestAgent({
      script: () => Array.from({ length: 7 }, () => ({ call: 'look' })),
      tools: [look],
      limits: { session: { toolCalls: 150 } },
    });
    expect((await rig.ask('a')).kind).toBe('limit');
    expect([ran, rig.data('call.finished').length]).toEqual([150, 154]);
  });
});

test('R12 given a 429 at request 8, when it is retried, then the seven calls before are made exactly once and the rest follows', async () => {
  const inputs: unknown[] = [];
  let failed = false;
  const rig = await startTestAgent({
    script: ({ messages }) => {
      const done = messages.filter(({ role }) => role === 'tool').length;
      if (done === 7 && !failed) {
        failed = true;
        return [{ fail: { message: 'Too many requests', status: 429, retryAfterMs: 3_000 } }];
      }
      return done < 10 ? [{ call: 'work', input: { nth: done + 1 } }] : 'all ten';
    },
    tools: [testTool('work', (input) => inputs.push(input))],
    plugins: [llmRetry()],
  });
  const handle = rig.agent.followup('ten steps');
  await until(() => failed);
  await rig.clock.advance(60_000);
  expect(await handle.ended).toMatchObject({ kind: 'done', turn: 2, text: 'all ten' });
  expect(inputs).toEqual(Array.from({ length: 10 }, (_, index) => ({ nth: index + 1 })));
  expect(rig.model.requests).toHaveLength(12);
  expect(rig.model.refused).toEqual([]);
});

describe('R13 given a deadline of 10 s for a prompt with all its retries', () => {
  const limits = { turn: { wallMs: 10_000 } };
  const ended = { kind: 'limit', turn: expect.any(Number), unit: 'wallMs', limit: 10_000 };

  test('and three quick 503, when they are retried within it, then the prompt is done', async () => {
    const rig = await startTestAgent({ script: [broken, broken, broken, 'done'], plugins: [llmRetry()], limits });
    const handle = rig.agent.followup('a');
    await rig.clock.advance(9_999);
    expect(await handle.ended).toMatchObject({ kind: 'done', turn: 4 });
    await rig.clock.advance(60_000);
    expect(rig.data('turn.closed').at(-1)?.end).toEqual({ reason: 'completed' });
  });

  test.each([
    ['a provider that fails quickly for ever', () => broken],
    ['a provider that says nothing', () => [{ stall: true as const }]],
    ['a provider that stalls after a word', () => ['a word', { stall: true as const }]],
  ])('and %s, when 10 s have passed, then it ends at once, whatever the number of attempts', async (_, script) => {
    const rig = await startTestAgent({
      script,
      plugins: [llmRetry({ retries: 50, initialMs: 700, maxMs: 700 })],
      watchdogs: { headersMs: 4_000, idleMs: 4_000 },
      limits,
    });
    const handle = rig.agent.followup('a');
    let end: unknown;
    void handle.ended.then((settlement) => (end = settlement));
    await rig.clock.advance(9_999);
    expect(end).toBeUndefined();
    await rig.clock.advance(1);
    await until(() => end !== undefined);
    expect(end).toEqual(ended);
    await rig.agent.whenIdle();
    const made = rig.model.requests.length;
    await rig.clock.advance(600_000);
    expect([rig.model.requests.length, rig.model.open]).toEqual([made, 0]);
  });

  test('and a tool that takes its time but listens, when 10 s have passed, then it is told and the prompt ends', async () => {
    const slow = testTool(
      'slow',
      async (_, { signal }) =>
        await new Promise((resolve) => signal.addEventListener('abort', () => resolve('told'), { once: true })),
    );
    const rig = await startTestAgent({ script: [[{ call: 'slow' }]], tools: [slow], limits });
    const handle = rig.agent.followup('a');
    await rig.clock.advance(10_000);
    expect(await handle.ended).toEqual({ ...ended, turn: 1 });
  });
});

test('R44 given a provider that is down for good and 1,000 prompts, when they are run, then it stops after the retries of one', async () => {
  const rig = await startTestAgent({ script: () => broken, plugins: [llmRetry()] });
  const handles = Array.from({ length: 1_000 }, (_, nth) => rig.agent.followup(`step ${nth}`));
  await rig.clock.advance(3_600_000);
  expect((await handles[0]?.ended)?.kind).toBe('failed');
  expect([rig.model.requests.length, rig.agent.status, rig.agent.queued().length]).toEqual([6, 'parked', 999]);
});

test('R44 given a provider that fails every other request, when 1,000 steps are made, then the limit on requests ends it', async () => {
  const rig = await startTestAgent({
    script: (_, nth) => (nth % 2 === 1 ? broken : [{ call: 'look' }]),
    tools: [testTool('look')],
    plugins: [llmRetry({ initialMs: 1, maxMs: 1 })],
    limits: { turn: { attempts: 1_000 } },
  });
  const end = await settle(rig.clock, rig.ask('a'));
  expect(end).toMatchObject({ kind: 'limit', unit: 'attempts', limit: 1_000 });
  expect(rig.model.requests).toHaveLength(1_000);
});

/** A child that would go on for ever at 30 cents a request. */
async function startParent(parallel: boolean): Promise<{ readonly usd: number; readonly children: unknown[] }> {
  let usd = 0;
  const children: unknown[] = [];
  const child = testTool(
    'child',
    async (_, { allowance }) => {
      const own = await startTestAgent({
        id: `child-${children.length}`,
        script: () => ((usd += 0.3), [{ call: 'look' }, { usage: { usd: 0.3 } }]),
        tools: [testTool('look')],
        limits: { within: allowance },
      });
      const ended = await own.ask('go');
      children.push(ended);
      return ended.kind;
    },
    { parallel },
  );
  const rig = await startTestAgent({
    script: [[{ call: 'child' }, { call: 'child' }, { call: 'child' }], 'done'],
    tools: [child],
    limits: { session: { usd: 1 } },
  });
  expect(await rig.ask('a')).toMatchObject({ kind: 'limit', unit: 'usd', limit: 1 });
  expect(outline(rig.agent.history()).at(-1)).toContain('result child: limit');
  return { usd, children };
}

describe('R136 given a parent with one dollar', () => {
  test('and three children, when each would spend for ever, then all of them together spend one dollar and at most one request more', async () => {
    const { usd, children } = await startParent(false);
    expect(usd).toBeLessThanOrEqual(1.3);
    expect(children).toEqual([{ kind: 'limit', turn: 1, unit: 'usd', limit: 1 }]);
  });

  // What a request costs is known only afterwards: side by side each child may have one under way when the dollar is spent.
  test('and three children side by side, when each would spend for ever, then each makes at most one request more', async () => {
    const { usd, children } = await startParent(true);
    expect(usd).toBeLessThanOrEqual(1 + 3 * 0.3 + 1e-9);
    expect(children).toHaveLength(3);
  });

  test('and a child that fails and retries, when it is counted, then failed attempts count, too', async () => {
    let usd = 0;
    const child = testTool('child', async (_, { allowance }) => {
      const own = await startTestAgent({
        id: 'child',
        script: () => ((usd += 0.3), [{ usage: { usd: 0.3 } }, ...broken]),
        on: { 'agent/request-error': () => ({ kind: 'retry' }) },
        limits: { within: allowance },
      });
      return (await own.ask('go')).kind;
    });
    const rig = await startTestAgent({
      script: [[{ call: 'child' }], 'done'],
      tools: [child],
      limits: { session: { usd: 1 } },
    });
    expect((await rig.ask('a')).kind).toBe('limit');
    expect(usd).toBeLessThanOrEqual(1.3);
  });

  test('and a child that is cancelled while it answers, when it is counted, then what it had used by then counts, too', async () => {
    const spent: unknown[] = [];
    const allowance: Allowance = {
      exhausted: () => undefined,
      spend: (who, model, usage) => spent.push([who, model, usage]),
    };
    const gate = createGate();
    const child = await startTestAgent({
      id: 'child',
      script: [[{ usage: { usd: 0.3 } }, 'a word', { gate }]],
      limits: { within: allowance },
    });
    const handle = child.agent.followup('go');
    await gate.entered;
    child.agent.cancel('parent');
    expect(await handle.ended).toEqual({ kind: 'cancelled', cause: 'parent' });
    expect(spent).toEqual([['child', 'scripted/model', { usd: 0.3 }]]);
  });
});
