import { afterEach, describe, expect, test } from 'vitest';
import { createMemoryJournal } from '../../../src/stores/memory/index.ts';
import { createFakeClock, createScriptedModel } from '../../../src/testing/index.ts';
import type { SessionEvent } from '../../../src/agent/session-events.ts';
import { stores, vetoing, faultyJournal } from './faulty-journal.ts';
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

const typesOf = (events: readonly SessionEvent[]): readonly string[] => events.map(({ type }) => type);

test('A18 given a text reply, when it is run, then the order is turn, input, step, header, blocks, completion, step close, turn close', async () => {
  const rig = await startTestAgent({ script: [[{ thinking: 'hm' }, 'done']] });
  await rig.ask('a');
  const wanted = [
    'session.created',
    'message.accepted',
    'turn.opened',
    'input.committed',
    'step.opened',
    'header.set',
    'block.closed',
    'block.closed',
    'answer.completed',
    'step.closed',
    'turn.closed',
  ];
  expect(typesOf(rig.seen)).toEqual(wanted);
  expect(typesOf(await rig.stored())).toEqual(wanted);
});

/** Two prompts, a tool, a failure that is retried; with an observer that throws on one type of event. */
async function runWatched(throwOn?: string): Promise<TestAgent> {
  const rig = await startTestAgent({
    script: [[{ call: 'look' }], [{ fail: overloaded }], 'one', 'two'],
    tools: [testTool('look')],
    on: { 'agent/request-error': () => ({ kind: 'retry' }) },
    observe(event) {
      if (throwOn === '*' || event.type === throwOn) throw new Error('an observer failed');
    },
  });
  await rig.ask('a');
  await rig.ask('b');
  return rig;
}

describe('A20 given an observer that throws on a boundary', () => {
  test.each([
    'message.accepted',
    'turn.opened',
    'input.committed',
    'step.opened',
    'header.set',
    'block.closed',
    'answer.completed',
    'call.finished',
    'step.closed',
    'turn.closed',
    '*',
  ])('(%s), when it is run, then the outcome and later turns are unchanged', async (type) => {
    const [plain, thrown] = [await runWatched(), await runWatched(type)];
    expect(thrown.seen).toEqual(plain.seen);
    expect(thrown.model.requests).toEqual(plain.model.requests);
    expect(outline(thrown.agent.history()).at(-1)).toBe('assistant: two');
  });
});

describe('appends that the journal does not take', () => {
  test('A21 given no opening of a turn can be stored, when prompted, then there is no turn and no request, and the agent is idle and usable', async () => {
    const clock = createFakeClock();
    let veto = true;
    const journal = faultyJournal(createMemoryJournal({ clock }), (batch) => {
      if (veto && stores(batch, 'turn.opened')) throw new Error('No space left');
    });
    const rig = await startTestAgent({ clock, journal });
    expect(await rig.ask('a')).toMatchObject({ kind: 'failed', failure: { message: 'No space left' } });
    await rig.agent.whenIdle();
    expect(typesOf(await rig.stored()).filter((type) => /^(turn|step)\./.test(type))).toEqual([]);
    expect([rig.model.requests.length, rig.agent.status]).toEqual([0, 'idle']);
    veto = false;
    expect(await rig.ask('b')).toMatchObject({ kind: 'done', turn: 1 });
    expect(outline(rig.agent.history())).toEqual(['user: b', 'assistant: done']);
  });

  test('A21 given the first storing of an opening fails, when prompted, then no request is made and the turn is on record as failed', async () => {
    const clock = createFakeClock();
    const rig = await startTestAgent({ clock, journal: vetoing(createMemoryJournal({ clock }), 'turn.opened', 1) });
    expect(await rig.ask('a')).toMatchObject({ kind: 'failed', turn: 1 });
    expect(rig.model.requests).toHaveLength(0);
    expect(await rig.ask('b')).toMatchObject({ kind: 'done', turn: 2 });
    expect(rig.model.requests).toHaveLength(1);
  });

  // Opening a turn and its first request are one append: the turn is stored anew, with its failed end and no step.
  test('A22 given no opening of a step can be stored, when prompted, then there is no step, and the turn closes with the error', async () => {
    const clock = createFakeClock();
    const rig = await startTestAgent({ clock, journal: vetoing(createMemoryJournal({ clock }), 'step.opened') });
    const ended = await rig.ask('a');
    expect(ended).toMatchObject({ kind: 'failed', turn: 1, failure: { message: 'No space left for step.opened' } });
    const stored = await rig.stored();
    expect(typesOf(stored).filter((type) => /^(turn|step)\./.test(type))).toEqual(['turn.opened', 'turn.closed']);
    expect(stored.at(-1)?.data).toMatchObject({ end: { reason: 'failed' } });
    await rig.agent.whenIdle();
    expect([rig.model.requests.length, rig.agent.status]).toEqual([0, 'idle']);
    const again = await startTestAgent({ journal: rig.journal, clock, reopen: true });
    expect(outline(again.agent.history())).toEqual(['user: a']);
  });

  test('A22 given a later step cannot be stored, when its turn goes on, then the turn closes with the error behind the steps that were', async () => {
    const clock = createFakeClock();
    let steps = 0;
    const journal = faultyJournal(createMemoryJournal({ clock }), (batch) => {
      if (stores(batch, 'step.opened') && ++steps > 1) throw new Error('No space left');
    });
    const rig = await startTestAgent({
      clock,
      journal,
      script: [[{ call: 'look' }], 'one'],
      tools: [testTool('look')],
    });
    expect(await rig.ask('a')).toMatchObject({ kind: 'failed', turn: 1 });
    const stored = await rig.stored();
    expect(typesOf(stored).filter((type) => /^(turn|step)\./.test(type))).toEqual([
      'turn.opened',
      'step.opened',
      'step.closed',
      'turn.closed',
    ]);
    expect(rig.model.requests).toHaveLength(1);
  });

  test.each(['step.closed', 'turn.closed'])(
    'A23 given %s can never be stored, when prompted, then the status still reaches idle and the prompt hears of it',
    async (type) => {
      const clock = createFakeClock();
      const rig = await startTestAgent({ clock, journal: vetoing(createMemoryJournal({ clock }), type) });
      expect(await rig.ask('a')).toMatchObject({ kind: 'failed', failure: { message: `No space left for ${type}` } });
      await rig.agent.whenIdle();
      expect(rig.statuses).toEqual(['running', 'idle']);
      expect(await rig.ask('b')).toMatchObject({ kind: 'failed' });
      await rig.agent.whenIdle();
      expect([rig.agent.status, rig.agent.queued()]).toEqual(['idle', []]);
    },
  );

  test('A23 given the close of a step could not be stored, when the journal works again, then the next prompt runs and the log loads', async () => {
    const clock = createFakeClock();
    const rig = await startTestAgent({ clock, journal: vetoing(createMemoryJournal({ clock }), 'step.closed', 2) });
    expect((await rig.ask('a')).kind).toBe('failed');
    expect(await rig.ask('b')).toMatchObject({ kind: 'done', turn: 2 });
    expect(rig.model.refused).toEqual([]);
    const again = await startTestAgent({ journal: rig.journal, clock, reopen: true });
    expect(outline(again.agent.history())).toEqual(outline(rig.agent.history()));
  });
});

describe('appends of others that fail while a turn is under way', () => {
  test('given an answer that is not yet stored, when the append of other input takes it back, then the prompt has failed, and is never done without its answer', async () => {
    const clock = createFakeClock();
    const journal = faultyJournal(createMemoryJournal({ clock }), (batch) => {
      if (JSON.stringify(batch).includes('by the way')) throw new Error('No space left');
    });
    const rig: TestAgent = await startTestAgent({
      clock,
      journal,
      on: {
        'agent/turn-stopping': async (_, next) => {
          const before = journal.batches.length;
          rig.agent.inject('by the way');
          await until(() => journal.batches.length > before);
          await rounds();
          await next();
        },
      },
    });
    expect(await rig.ask('a')).toMatchObject({ kind: 'failed', failure: { message: 'No space left' } });
  });

  test('given calls that are not yet stored, when the append of other input takes them back, then the turn has failed, and they are not asked for again', async () => {
    const clock = createFakeClock();
    let failed = false;
    const journal = faultyJournal(createMemoryJournal({ clock }), (batch) => {
      if (failed || !JSON.stringify(batch).includes('by the way')) return;
      failed = true;
      throw new Error('No space left');
    });
    let ran = 0;
    const look = testTool('look', async () => {
      ran += 1;
      rig.agent.inject('by the way');
      await until(() => failed);
      await rounds();
      return 'seen';
    });
    const rig: TestAgent = await startTestAgent({ clock, journal, script: [[{ call: 'look' }], 'two'], tools: [look] });
    expect(await rig.ask('a')).toMatchObject({ kind: 'failed', failure: { message: 'No space left' } });
    expect([ran, rig.model.requests.length]).toEqual([1, 1]);
    expect(await rig.ask('b')).toMatchObject({ kind: 'done', text: 'two' });
    expect(outline(rig.agent.history())).toEqual(['user: a', 'user: by the way', 'user: b', 'assistant: two']);
    expect(rig.model.refused).toEqual([]);
  });

  test('given a prompt that was cancelled, when the record of that cannot be stored, then the prompt still never runs', async () => {
    const clock = createFakeClock();
    const journal = vetoing(createMemoryJournal({ clock }), 'message.dropped', 1);
    const rig = await startTestAgent({ clock, journal });
    const first = rig.agent.followup('a');
    rig.agent.cancel();
    expect(await first.ended).toEqual({ kind: 'cancelled', cause: 'user' });
    await rig.agent.whenIdle();
    await rig.ask('b');
    expect(outline(rig.agent.history())).toEqual(['user: b', 'assistant: done']);
    expect((await rig.stored())[0]?.type).toBe('session.created');
  });
});

test('A24 given an answer cut by the token limit and then a normal one, when the turn closes, then its reason is max-tokens; the next turn is unaffected', async () => {
  let stops = 0;
  const rig = await startTestAgent({
    script: [['half an ans', { finish: 'length' }], 'the rest', 'two'],
    on: {
      'agent/turn-stopping': async (_, next) => {
        stops += 1;
        if (stops === 1) rig.host.steer('go on');
        await next();
      },
    },
  });
  expect(await rig.ask('a')).toEqual({ kind: 'incomplete', turn: 1, partial: 'the rest', reason: 'max-tokens' });
  expect(await rig.ask('b')).toMatchObject({ kind: 'done', turn: 2, text: 'two' });
  expect(rig.data('turn.closed').map(({ end }) => end.reason)).toEqual(['max-tokens', 'completed']);
});

test('A24 given calls in an answer that the token limit cut, when it ends, then none of them runs', async () => {
  let ran = 0;
  const rig = await startTestAgent({
    script: [[{ call: 'look', input: { path: 'a' } }, { finish: 'length' }]],
    tools: [testTool('look', () => ((ran += 1), 'x'))],
  });
  expect((await rig.ask('a')).kind).not.toBe('done');
  expect([ran, outline(rig.agent.history())]).toEqual([0, ['user: a']]);
});

test('A26 given a tool that concludes the turn, when it returns, then no request follows and its result is on record', async () => {
  const finish = testTool('finish', (_, context) => (context.conclude(), 'that was it'));
  const rig = await startTestAgent({ script: [['bye', { call: 'finish' }], 'two'], tools: [finish] });
  expect(await rig.ask('a')).toMatchObject({ kind: 'done', turn: 1, text: 'bye' });
  expect(rig.model.requests).toHaveLength(1);
  expect(outline(rig.agent.history()).at(-1)).toBe('tool: result finish: that was it');
  expect(await rig.ask('b')).toMatchObject({ kind: 'done', turn: 2 });
  expect(rig.model.refused).toEqual([]);
});

test('A26 given steering that raced a concluding tool, when the turn ends, then the text waits for the next turn', async () => {
  const finish = testTool('finish', (_, context) => {
    context.conclude();
    rig.agent.steer('one more thing');
    return 'that was it';
  });
  const rig: TestAgent = await startTestAgent({ script: [[{ call: 'finish' }], 'two'], tools: [finish] });
  expect(await rig.ask('a')).toMatchObject({ kind: 'done', turn: 1 });
  expect(rig.model.requests).toHaveLength(1);
  await rig.ask('b');
  expect(outline(rig.model.requests[1]?.messages ?? []).slice(-2)).toEqual(['user: one more thing', 'user: b']);
});

test('A27 given a listener that switches the model, when it is run, then a whole header is on record; with no change, none is', async () => {
  const other = createScriptedModel(['two', 'three'], { id: 'scripted/other' });
  const rig = await startTestAgent({
    instructions: 'Be brief.',
    script: ['one'],
    tools: [testTool('look')],
    on: {
      'agent/request': async ({ turn }, next) => {
        const draft = await next();
        return turn === 1 ? draft : { ...draft, model: other };
      },
    },
  });
  for (const text of ['a', 'b', 'c']) await rig.ask(text);
  const headers = rig.data('header.set');
  expect(headers.map(({ model }) => model)).toEqual(['scripted/model', 'scripted/other']);
  expect(headers[1]).toEqual({ ...headers[0], model: 'scripted/other' });
  expect(headers[0]).toMatchObject({ system: 'Be brief.', tools: [{ name: 'look' }] });
  expect([rig.model.requests.length, other.requests.length]).toEqual([1, 2]);
  expect(rig.data('step.opened').map(({ model }) => model)).toEqual([
    'scripted/model',
    'scripted/other',
    'scripted/other',
  ]);
});

test('A29 given a history that is replaced while the barrier of a request is stored, when the request is made, then it is the one that is on record', async () => {
  const clock = createFakeClock();
  let replaced: Promise<boolean> | undefined;
  const journal = faultyJournal(createMemoryJournal({ clock }), async (batch) => {
    if (!stores(batch, 'step.opened') || !JSON.stringify(batch).includes('"turn":2')) return;
    const { messages, generation } = rig.host.history();
    const summary = { role: 'user' as const, content: [{ type: 'text' as const, text: 'in short' }] };
    const change = { generation, from: 0, to: messages.length - 1, messages: [summary], because: 'a test' };
    replaced ??= rig.host.replaceHistory(change);
    await rounds();
  });
  const rig: TestAgent = await startTestAgent({ clock, journal });
  await rig.ask('a');
  await rig.ask('b');
  expect(await replaced).toBe(true);
  expect(outline(rig.model.requests[1]?.messages ?? [])).toEqual(['user: a', 'assistant: done', 'user: b']);
  expect(rig.data('step.opened')[1]).toMatchObject({ messages: 3, generation: 0 });
  expect(outline(rig.agent.history())).toEqual(['user: in short', 'user: b', 'assistant: done']);
});

test.each(['system', 'tools', 'settings'] as const)(
  'A28 given the draft of a request, when a listener changes its %s in place, then that throws and the turn fails',
  async (field) => {
    const rig = await startTestAgent({
      tools: [testTool('look')],
      settings: { temperature: 0 },
      on: {
        'agent/request': async (payload, next) => {
          const draft = await next();
          if (field === 'tools') (draft.tools as unknown[]).push({ name: 'sneaky', description: '', input: {} });
          else if (field === 'settings') (draft.settings as { temperature?: number }).temperature = 1;
          else (payload.draft as { system: string }).system = 'other';
          return draft;
        },
      },
    });
    expect(await rig.ask('a')).toMatchObject({ kind: 'failed', turn: 1 });
    expect(rig.model.requests).toHaveLength(0);
  },
);

test('A28 given a built request, when what receives it changes it, then that throws and the log is as it was', async () => {
  const model = createScriptedModel(() => 'done');
  const greedy = {
    ...model,
    stream: (request: Parameters<typeof model.stream>[0], signal: AbortSignal) => {
      (request.messages as unknown[]).push({ role: 'user', content: [] });
      return model.stream(request, signal);
    },
  };
  const rig = await startTestAgent({ model: greedy });
  expect((await rig.ask('a')).kind).toBe('failed');
  const deep = {
    ...model,
    stream: (request: Parameters<typeof model.stream>[0], signal: AbortSignal) => {
      Object.assign(request.messages[0]?.content ?? [], [{ type: 'text', text: 'something else' }]);
      return model.stream(request, signal);
    },
  };
  const second = await startTestAgent({ model: deep });
  expect((await second.ask('a')).kind).toBe('failed');
  expect(outline(second.agent.history())).toEqual(['user: a']);
});
