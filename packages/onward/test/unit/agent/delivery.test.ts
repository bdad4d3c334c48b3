import { afterEach, expect, test } from 'vitest';
import type { UserContent } from '../../../src/agent/session-events.ts';
import { createGate } from '../../../src/testing/index.ts';
import {
  endTestAgents,
  outline,
  overloaded,
  startTestAgent,
  type TestAgent,
  testTool,
  until,
} from './start-test-agent.ts';

afterEach(endTestAgents);

/** Types of the events that say where a turn begins and ends, with its number. */
function turns(rig: TestAgent): readonly string[] {
  return rig.seen.flatMap((event) => {
    if (event.type === 'turn.opened') return [`open ${event.data.turn}`];
    return event.type === 'turn.closed' ? [`close ${event.data.turn} ${event.data.end.reason}`] : [];
  });
}

test('A1 given an idle agent, when two followups are sent in one tick, then two turns run in order and are not merged', async () => {
  const rig = await startTestAgent({ script: ['one', 'two'] });
  const [first, second] = [rig.agent.followup('a'), rig.agent.followup('b')];
  expect([await first.orThrow(), await second.orThrow()]).toEqual(['one', 'two']);
  expect(rig.data('turn.opened').map(({ turn, trigger }) => [turn, trigger])).toEqual([
    [1, { kind: 'prompt', id: first.id }],
    [2, { kind: 'prompt', id: second.id }],
  ]);
  expect(outline(rig.agent.history())).toEqual(['user: a', 'assistant: one', 'user: b', 'assistant: two']);
  expect(rig.model.refused).toEqual([]);
});

test('A2 given an open turn, when a followup arrives, then that turn never sees it and the next one starts after its close', async () => {
  const gate = createGate();
  const hold = testTool('hold', async () => (await gate.wait(), 'held'));
  const rig = await startTestAgent({ script: [[{ call: 'hold' }], 'one', 'two'], tools: [hold] });
  const first = rig.agent.followup('a');
  await gate.entered;
  const second = rig.agent.followup('b');
  gate.open();
  await Promise.all([first.ended, second.ended]);
  expect(rig.model.requests.map(({ messages }) => outline(messages).filter((line) => line.startsWith('user')))).toEqual(
    [['user: a'], ['user: a'], ['user: a', 'user: b']],
  );
  expect(turns(rig)).toEqual(['open 1', 'close 1 completed', 'open 2', 'close 2 completed']);
});

test('A3 given a followup, when the caller mutates the object afterwards, then what is logged and sent is unchanged', async () => {
  const rig = await startTestAgent();
  const part = { type: 'text' as const, text: 'as it was' };
  const content: UserContent & { length: number } = [part];
  const handle = rig.agent.followup(content);
  part.text = 'changed';
  (content as { type: string; text: string }[]).push({ type: 'text', text: 'more' });
  await handle.ended;
  expect(outline(rig.model.requests[0]?.messages ?? [])).toEqual(['user: as it was']);
  const [accepted] = (await rig.stored()).filter(({ type }) => type === 'message.accepted');
  expect(accepted?.data).toMatchObject({ content: [{ type: 'text', text: 'as it was' }] });
});

test('A4 given an idle agent, when inject is called, then nothing runs and no turn is used; the next request contains it', async () => {
  const rig = await startTestAgent();
  rig.agent.inject('by the way');
  await rig.agent.whenIdle();
  expect([rig.agent.status, rig.statuses, rig.model.requests.length, turns(rig)]).toEqual(['idle', [], 0, []]);
  expect(await rig.ask('a')).toMatchObject({ kind: 'done', turn: 1 });
  expect(outline(rig.model.requests[0]?.messages ?? [])).toEqual(['user: by the way', 'user: a']);
});

test('A5 given a running batch of tools, when inject is called twice, then both land in order after all results and before the next request', async () => {
  const gate = createGate();
  const hold = testTool('hold', async () => (await gate.wait(), 'held'), { parallel: true });
  const rig = await startTestAgent({ script: [[{ call: 'hold' }, { call: 'hold' }], 'one'], tools: [hold] });
  const handle = rig.agent.followup('a');
  await until(() => gate.waiting === 2);
  rig.agent.inject('first');
  rig.agent.inject('second');
  gate.open();
  await handle.ended;
  expect(outline(rig.model.requests[1]?.messages ?? [])).toEqual([
    'user: a',
    'assistant: call hold | call hold',
    'tool: result hold: held | result hold: held',
    'user: first',
    'user: second',
  ]);
  expect(rig.model.refused).toEqual([]);
  expect(turns(rig)).toHaveLength(2);
});

test('A6 given the listener before the end of a turn, when it steers, then the same turn runs another step', async () => {
  let asked = 0;
  const rig = await startTestAgent({
    script: ['one', 'two'],
    on: {
      'agent/turn-stopping': async (_, next) => {
        asked += 1;
        if (asked === 1) rig.host.steer('not yet');
        await next();
      },
    },
  });
  expect(await rig.ask('a')).toMatchObject({ kind: 'done', turn: 1, text: 'two' });
  expect(outline(rig.model.requests[1]?.messages ?? [])).toEqual(['user: a', 'assistant: one', 'user: not yet']);
  expect([turns(rig), rig.data('step.opened').map(({ step }) => step), asked]).toEqual([
    ['open 1', 'close 1 completed'],
    [1, 2],
    2,
  ]);
});

test('A6 given the listener before the end of a turn, when it only injects, then the turn ends and the next request has it', async () => {
  const rig = await startTestAgent({
    on: {
      'agent/turn-stopping': async ({ turn }, next) => {
        if (turn === 1) rig.host.inject('for later');
        await next();
      },
    },
  });
  await rig.ask('a');
  expect(rig.model.requests).toHaveLength(1);
  await rig.ask('b');
  expect(outline(rig.model.requests[1]?.messages ?? [])).toContain('user: for later');
});

test('A7 given an observer of the close of a turn, when it steers, then the text is the prompt of the next turn', async () => {
  const rig = await startTestAgent({
    observe(event, host) {
      if (event.type === 'turn.closed' && event.data.turn === 1) host.steer('and now this');
    },
  });
  await rig.ask('a');
  await rig.agent.whenIdle();
  expect(turns(rig)).toEqual(['open 1', 'close 1 completed', 'open 2', 'close 2 completed']);
  expect(rig.data('input.committed')).toHaveLength(2);
  expect(outline(rig.agent.history())).toEqual(['user: a', 'assistant: done', 'user: and now this', 'assistant: done']);
});

test('A7 given a turn that failed for good, when an observer of its close steers, then the text is not parked with what was queued before', async () => {
  const gate = createGate();
  const rig = await startTestAgent({
    script: [[{ gate }, { fail: overloaded }], 'one', 'two'],
    observe(event, host) {
      if (event.type === 'turn.closed' && event.data.turn === 1) host.steer('what went wrong?');
    },
  });
  const first = rig.agent.followup('a');
  await gate.entered;
  const waiting = rig.agent.followup('b');
  gate.open();
  expect((await first.ended).kind).toBe('failed');
  expect(await waiting.ended).toMatchObject({ kind: 'done', turn: 2, text: 'one' });
  await rig.agent.whenIdle();
  expect(outline(rig.agent.history()).at(-2)).toBe('user: what went wrong?');
});

test('A8 given an idle agent, when two steers are sent in one tick, then two turns run, one each', async () => {
  const rig = await startTestAgent();
  const [first, second] = [rig.agent.steer('a'), rig.agent.steer('b')];
  await rig.agent.whenIdle();
  expect(rig.data('turn.opened').map(({ trigger }) => trigger)).toEqual([
    { kind: 'prompt', id: first.id },
    { kind: 'prompt', id: second.id },
  ]);
});

test('A9 given steering that is staged, when a listener before the step throws, then no request is made and the next turn delivers the steering first', async () => {
  const rig = await startTestAgent({
    on: {
      'agent/pre-step': async ({ turn }, next) => {
        if (turn === 1) {
          rig.host.steer('mind the gap');
          throw new Error('not today');
        }
        await next();
      },
    },
  });
  expect(await rig.ask('a')).toMatchObject({ kind: 'failed', failure: { message: 'not today' } });
  await rig.agent.whenIdle();
  expect([rig.model.requests.length, rig.agent.status]).toEqual([0, 'idle']);
  await rig.ask('b');
  expect(outline(rig.model.requests[0]?.messages ?? [])).toEqual(['user: a', 'user: mind the gap', 'user: b']);
});

test('A10 given a blocked prompt and an allowed one, when both are queued, then there is one turn, numbered as if the blocked one never was', async () => {
  const rig = await startTestAgent({
    on: {
      'agent/prompt-admission': async ({ content }, next) =>
        JSON.stringify(content).includes('secret') ? { kind: 'block', because: 'a secret' } : await next(),
    },
  });
  const [blocked, allowed] = [rig.agent.followup('the secret'), rig.agent.followup('b')];
  expect(await blocked.ended).toEqual({ kind: 'blocked', because: 'a secret' });
  expect(await allowed.ended).toMatchObject({ kind: 'done', turn: 1 });
  expect(turns(rig)).toEqual(['open 1', 'close 1 completed']);
  expect(outline(rig.agent.history())).toEqual(['user: b', 'assistant: done']);
});

test('A10 given a prompt that admission rewrites and adds contexts to, when it is admitted, then the history has just that, also when it is read again', async () => {
  const rig = await startTestAgent({
    on: {
      'agent/prompt-admission': () => ({
        kind: 'allow',
        content: [{ type: 'text', text: 'a, politely' }],
        contexts: [[{ type: 'text', text: 'it is Tuesday' }]],
      }),
    },
  });
  await rig.ask('a');
  const wanted = ['user: a, politely', 'user: it is Tuesday', 'assistant: done'];
  expect(outline(rig.agent.history())).toEqual(wanted);
  const again = await startTestAgent({ journal: rig.journal, clock: rig.clock, reopen: true });
  expect(outline(again.agent.history())).toEqual(wanted);
});

test('A11 given an admission that throws once, when two prompts are queued, then only the second runs and the status goes to running and idle once', async () => {
  let asked = 0;
  const rig = await startTestAgent({
    on: {
      'agent/prompt-admission': async (_, next) => {
        asked += 1;
        if (asked === 1) throw new Error('out of order');
        return await next();
      },
    },
  });
  const [first, second] = [rig.agent.followup('a'), rig.agent.followup('b')];
  expect(await first.ended).toEqual({ kind: 'blocked', because: 'admission failed: out of order' });
  expect(await second.ended).toMatchObject({ kind: 'done', turn: 1 });
  await rig.agent.whenIdle();
  expect([rig.statuses, rig.model.requests.length]).toEqual([['running', 'idle'], 1]);
});

test.each([
  ['undefined', undefined],
  ['a function', () => 'x'],
  ['NaN inside', [{ type: 'text', text: 'x', weight: Number.NaN }]],
  ['a date', [{ type: 'text', text: new Date() }]],
  ['half a character', '\uD800'],
  ['an unknown part', [{ type: 'video', data: 'x' }]],
  ['no part', []],
])(
  'A12 given content that is no message (%s), when it is sent, then it throws at once and nothing is stored',
  async (_, content) => {
    const rig = await startTestAgent();
    for (const verb of ['followup', 'steer', 'inject'] as const)
      expect(() => rig.agent[verb](content as never)).toThrow(expect.objectContaining({ code: 'agent/bad-content' }));
    await rig.agent.whenIdle();
    expect([rig.data('message.accepted'), rig.agent.status]).toEqual([[], 'idle']);
  },
);

test.each([
  ['an empty text', ''],
  ['a text of blanks', ' \n\t'],
  ['only blank parts', [{ type: 'text' as const, text: '' }]],
])('%s is refused at once: a provider would refuse it, and each later request with it', async (_, content) => {
  const rig = await startTestAgent();
  for (const verb of ['followup', 'steer', 'inject'] as const)
    expect(() => rig.agent[verb](content)).toThrow(expect.objectContaining({ code: 'agent/bad-content' }));
  await rig.agent.whenIdle();
  expect([rig.data('message.accepted'), rig.agent.status]).toEqual([[], 'idle']);
});

test('blank parts beside others are left out of the message', async () => {
  const rig = await startTestAgent();
  await rig.agent.followup([
    { type: 'text', text: ' ' },
    { type: 'text', text: 'a' },
  ]).ended;
  expect(rig.data('message.accepted').map(({ content }) => content)).toEqual([[{ type: 'text', text: 'a' }]]);
});

test('A13 given a listener of the status that throws, when a turn runs, then both transitions happen and who waits goes on', async () => {
  const rig = await startTestAgent({
    onStatus: () => {
      throw new Error('no thanks');
    },
  });
  const waiting = rig.agent.whenIdle();
  expect((await rig.ask('a')).kind).toBe('done');
  await Promise.all([waiting, rig.agent.whenIdle()]);
  expect(rig.statuses).toEqual(['running', 'idle']);
});

test('A14 given nothing active, when whenIdle is called, then it resolves at once', async () => {
  const rig = await startTestAgent();
  let idle = false;
  void rig.agent.whenIdle().then(() => (idle = true));
  for (let tick = 0; tick < 5; tick++) await Promise.resolve();
  expect(idle).toBe(true);
});

test('A15 given a waiter taken before a cancel that drops the only prompt, when it is cancelled, then the waiter resolves', async () => {
  const rig = await startTestAgent();
  const handle = rig.agent.followup('a');
  const idle = rig.agent.whenIdle();
  rig.agent.cancel();
  await idle;
  expect(await handle.ended).toEqual({ kind: 'cancelled', cause: 'user' });
  expect([rig.model.requests.length, rig.agent.queued()]).toEqual([0, []]);
});

test('A15 given an observer that cancels a prompt as it is accepted, when its handle is returned, then it has settled', async () => {
  const rig: TestAgent = await startTestAgent({
    observe(event) {
      if (event.type === 'message.accepted') rig.agent.cancel();
    },
  });
  expect(await rig.ask('a')).toEqual({ kind: 'cancelled', cause: 'user' });
  await rig.agent.whenIdle();
  expect(rig.model.requests).toHaveLength(0);
});
