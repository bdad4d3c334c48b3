import { afterEach, describe, expect, test } from 'vitest';
import { llmRetry } from '../../../src/agent/plugins/llm-retry/index.ts';
import { createGate, type ScriptedItem } from '../../../src/testing/index.ts';
import { endStores, sessionStore, storeNames } from './session-stores.ts';
import {
  endTestAgents,
  outline,
  overloaded,
  rounds,
  settle,
  startTestAgent,
  testTool,
  until,
} from './start-test-agent.ts';

afterEach(async () => {
  await endTestAgents();
  await endStores();
});

const down: readonly ScriptedItem[] = [{ fail: overloaded }];
const retry = { kind: 'retry' } as const;

describe.each(storeNames)('a session in %s that is opened again', (name) => {
  test('A57 given a log with turns, when the first turn after opening fails and is retried, then the numbers go on from the log', async () => {
    const store = sessionStore(name);
    const first = await startTestAgent({ clock: store.clock, journal: await store.open(), script: ['one', 'two'] });
    await first.ask('a');
    await first.ask('b');
    await first.agent[Symbol.asyncDispose]();
    const again = await startTestAgent({
      clock: store.clock,
      journal: await store.open(),
      reopen: true,
      script: [down, 'three'],
      on: { 'agent/request-error': () => retry },
    });
    expect(await again.ask('c')).toMatchObject({ kind: 'done', turn: 4, text: 'three' });
    expect(again.data('turn.opened').map(({ turn, chain, trigger }) => [turn, chain, trigger.kind])).toEqual([
      [3, 3, 'prompt'],
      [4, 3, 'retry'],
    ]);
    expect(outline(again.model.requests[1]?.messages ?? [])).toEqual([
      'user: a',
      'assistant: one',
      'user: b',
      'assistant: two',
      'user: c',
    ]);
    expect(again.model.refused).toEqual([]);
  });

  test('A59 given a crash while a retry waits, when it is opened, then the turn is closed as interrupted and nothing starts by itself', async () => {
    const store = sessionStore(name);
    const journal = await store.open();
    const first = await startTestAgent({ clock: store.clock, journal, script: [down], plugins: [llmRetry()] });
    const lost = first.agent.followup('a');
    await until(() => first.data('plugin.recorded').length > 0 && store.clock.pending().includes(500));
    journal.kill();
    const again = await startTestAgent({
      clock: store.clock,
      journal: await store.open(),
      reopen: true,
      script: ['done'],
      plugins: [llmRetry()],
    });
    await store.clock.advance(3_600_000);
    expect([again.model.requests.length, again.agent.status, again.statuses]).toEqual([0, 'idle', []]);
    const stored = await again.stored();
    expect(stored.at(-1)).toMatchObject({ type: 'turn.closed', data: { turn: 1, end: { reason: 'interrupted' } } });
    expect(await again.agent.handle(lost.id)?.ended).toEqual({ kind: 'interrupted', turn: 1 });
    expect(await again.ask('b')).toMatchObject({ kind: 'done', turn: 2 });
    expect(again.model.refused).toEqual([]);
  });

  test('A59 given a crash while a retry waits, when it is opened to recover, then the owner of the request goes on with what is left of its budget', async () => {
    const store = sessionStore(name);
    const journal = await store.open();
    const options = { clock: store.clock, plugins: [llmRetry({ retries: 2 })] };
    const first = await startTestAgent({ ...options, journal, script: [down] });
    const lost = first.agent.followup('a');
    await until(() => first.data('plugin.recorded').length > 0 && store.clock.pending().includes(500));
    journal.kill();
    const again = await startTestAgent({
      ...options,
      journal: await store.open(),
      reopen: true,
      recover: true,
      script: () => down,
    });
    const handle = again.agent.handle(lost.id);
    expect(await settle(store.clock, handle?.ended ?? Promise.reject(new Error('no handle')))).toMatchObject({
      kind: 'failed',
      failure: overloaded,
    });
    // The retry that waited, and the second one: with the first request of the dead process as many as without any crash.
    expect(first.model.requests.length + again.model.requests.length).toBe(3);
  });

  test('given a crash inside a request, when it is opened, then nothing is requested, the turn is interrupted, and the history loads', async () => {
    const store = sessionStore(name);
    const journal = await store.open();
    const gate = createGate();
    const first = await startTestAgent({ clock: store.clock, journal, script: [['half a thou', { gate }]] });
    const lost = first.agent.followup('a');
    await gate.entered;
    await until(() => journal.batches.length > 0);
    journal.kill();
    const again = await startTestAgent({ clock: store.clock, journal: await store.open(), reopen: true });
    await rounds();
    expect([again.model.requests.length, await again.agent.handle(lost.id)?.settled]).toEqual([
      0,
      { kind: 'interrupted', turn: 1 },
    ]);
    expect(again.data('step.closed')).toMatchObject([{ outcome: 'interrupted' }]);
    await again.ask('b');
    expect(outline(again.agent.history())).toEqual(['user: a', 'user: b', 'assistant: done']);
  });

  test('given a crash inside a request, when it is opened to recover and somebody owns it, then one retry turn answers the prompt of the dead process', async () => {
    const store = sessionStore(name);
    const journal = await store.open();
    const gate = createGate();
    const first = await startTestAgent({ clock: store.clock, journal, script: [['half a thou', { gate }]] });
    const lost = first.agent.followup('a');
    await gate.entered;
    journal.kill();
    const offers: unknown[] = [];
    const again = await startTestAgent({
      clock: store.clock,
      journal: await store.open(),
      reopen: true,
      recover: true,
      on: {
        'agent/request-error': ({ interrupted, classification, turn, chain, model }) => {
          offers.push([interrupted, classification.class, turn, chain, model]);
          return retry;
        },
      },
    });
    const handle = again.agent.handle(lost.id);
    expect(await handle?.ended).toMatchObject({ kind: 'done', turn: 2, text: 'done' });
    expect(offers).toEqual([[true, 'crash', 1, 1, 'scripted/model']]);
    expect(again.data('turn.opened')).toEqual([{ turn: 2, chain: 1, trigger: { kind: 'retry', of: 1 } }]);
    expect(again.model.requests).toEqual(first.model.requests);
  });

  test('given a crash inside a request, when it is opened to recover and nobody owns it, then it stays interrupted', async () => {
    const store = sessionStore(name);
    const journal = await store.open();
    const gate = createGate();
    const first = await startTestAgent({ clock: store.clock, journal, script: [[{ gate }]] });
    const lost = first.agent.followup('a');
    await gate.entered;
    journal.kill();
    const again = await startTestAgent({
      clock: store.clock,
      journal: await store.open(),
      reopen: true,
      recover: true,
    });
    expect(await again.agent.handle(lost.id)?.ended).toEqual({ kind: 'interrupted', turn: 1 });
    await again.agent.whenIdle();
    expect([again.model.requests.length, again.agent.status]).toEqual([0, 'idle']);
    expect((await again.stored()).at(-1)).toMatchObject({
      type: 'turn.closed',
      data: { end: { reason: 'interrupted' } },
    });
  });

  test('given a crash inside a tool with an effect, when it is opened to recover, then nothing is offered, the call is said to be unknown, and only the next prompt goes on', async () => {
    const store = sessionStore(name);
    const journal = await store.open();
    const gate = createGate();
    const hold = testTool('hold', async () => (await gate.wait(), 'held'), { effect: 'untracked' });
    const first = await startTestAgent({ clock: store.clock, journal, script: [[{ call: 'hold' }]], tools: [hold] });
    const lost = first.agent.followup('a');
    await gate.entered;
    journal.kill();
    let offers = 0;
    const again = await startTestAgent({
      clock: store.clock,
      journal: await store.open(),
      reopen: true,
      recover: true,
      tools: [hold],
      on: { 'agent/request-error': () => ((offers += 1), retry) },
    });
    await again.agent.whenIdle();
    expect(await again.agent.handle(lost.id)?.ended).toEqual({ kind: 'interrupted', turn: 1 });
    expect([offers, again.model.requests.length]).toEqual([0, 0]);
    await again.ask('b');
    expect(outline(again.model.requests[0]?.messages ?? [])[2]).toContain('[outcome-unknown]');
    expect(again.model.refused).toEqual([]);
  });

  test('given handles of an earlier process, when they are asked for by their ids, then each says how its prompt ended', async () => {
    const store = sessionStore(name);
    const gate = createGate();
    const journal = await store.open();
    const first = await startTestAgent({
      clock: store.clock,
      journal,
      script: ['one', [{ fail: { message: 'Forbidden', status: 403 } }], [{ gate }]],
      on: {
        'agent/prompt-admission': async ({ content }, next) =>
          JSON.stringify(content).includes('secret') ? { kind: 'block', because: 'a secret' } : await next(),
      },
    });
    const done = first.agent.followup('a');
    const blocked = first.agent.followup('secret');
    const failed = first.agent.followup('b');
    await failed.ended;
    const dropped = first.agent.followup('c');
    first.agent.cancel();
    await dropped.ended;
    const running = first.agent.followup('d');
    await gate.entered;
    const queued = first.agent.followup('e');
    await until(() => journal.batches.some((batch) => JSON.stringify(batch).includes(queued.id)));
    await rounds();
    journal.kill();

    const again = await startTestAgent({ clock: store.clock, journal: await store.open(), reopen: true });
    const { agent } = again;
    expect(agent.handle('nobody')).toBeUndefined();
    expect(await agent.handle(done.id)?.settled).toEqual(await done.ended);
    expect(await agent.handle(done.id)?.orThrow()).toBe('one');
    expect(await agent.handle(blocked.id)?.ended).toEqual({ kind: 'blocked', because: 'a secret' });
    expect(await agent.handle(failed.id)?.ended).toEqual(await failed.ended);
    expect(await agent.handle(dropped.id)?.ended).toEqual({ kind: 'cancelled', cause: 'user' });
    expect(await agent.handle(running.id)?.ended).toMatchObject({ kind: 'interrupted' });
    const parked = agent.handle(queued.id);
    expect([agent.status, agent.queued().map(({ id }) => id)]).toEqual(['parked', [queued.id]]);
    expect(agent.handle(queued.id)).toBe(parked);
    const next = agent.followup('f');
    expect(await parked?.ended).toMatchObject({ kind: 'done', text: 'done' });
    expect(await next.ended).toMatchObject({ kind: 'done' });
    expect(outline(agent.history()).filter((line) => line.startsWith('user'))).toEqual([
      'user: a',
      'user: b',
      'user: d',
      'user: e',
      'user: f',
    ]);
  });

  test('given the handle of a prompt that ended in an earlier process, when its events are read, then they are those of its own turns, and then it ends', async () => {
    const store = sessionStore(name);
    const first = await startTestAgent({
      clock: store.clock,
      journal: await store.open(),
      script: ['one', down, 'two', 'three'],
      on: { 'agent/request-error': () => retry },
    });
    await first.ask('a');
    const middle = first.agent.followup('b');
    await middle.ended;
    await first.ask('c');
    await first.agent[Symbol.asyncDispose]();
    const again = await startTestAgent({ clock: store.clock, journal: await store.open(), reopen: true });
    const seen: string[] = [];
    for await (const event of again.agent.handle(middle.id)?.events() ?? [])
      seen.push('data' in event && 'turn' in event.data ? `${event.type} ${Number(event.data.turn)}` : event.type);
    expect(seen[0]).toBe('message.accepted');
    expect(seen.filter((line) => line.startsWith('turn'))).toEqual([
      'turn.opened 2',
      'turn.closed 2',
      'turn.opened 3',
      'turn.closed 3',
    ]);
    expect(seen.some((line) => /[14]$/.test(line))).toBe(false);
  });

  test('R65 given a session that went through several processes, when all is read, then no message, step or call has the id of another, and each request would be taken', async () => {
    const store = sessionStore(name);
    const refused: unknown[] = [];
    for (let life = 0; life < 4; life++) {
      const journal = await store.open();
      const rig = await startTestAgent({
        clock: store.clock,
        journal,
        reopen: life > 0,
        series: `${life}`,
        tools: [testTool('look')],
        // The same id for two different calls of one answer, and for one call said twice.
        script: [
          [
            { call: 'look', id: 'c1', input: 1 },
            { call: 'look', id: 'c1', input: 2 },
            { call: 'look', id: 'c1', input: 1 },
          ],
          'one',
          [{ call: 'look', id: 'c1' }],
          'two',
        ],
      });
      await rig.ask('a');
      await rig.ask('b');
      refused.push(...rig.model.refused);
      if (life % 2 === 0) journal.kill();
      else await rig.agent[Symbol.asyncDispose]();
    }
    const last = await startTestAgent({ clock: store.clock, journal: await store.open(), reopen: true, series: 'f' });
    const stored = await last.stored();
    const ids = stored.flatMap(({ type, data }) => (type === 'message.accepted' ? [data.id] : []));
    const steps = stored.flatMap(({ type, data }) => (type === 'step.opened' ? [`${data.turn}/${data.step}`] : []));
    const calls = stored.flatMap(({ type, data }) =>
      type === 'block.closed' && data.part.type === 'call' ? [`${data.turn}/${data.step}/${data.part.id}`] : [],
    );
    for (const list of [ids, steps, calls]) expect(new Set(list).size).toBe(list.length);
    expect([ids.length, steps.length, calls.length, refused]).toEqual([8, 16, 12, []]);
  });
});

test('R63 given a tool that throws, when the turn goes on and another prompt comes, then the error is its result and every request would be taken', async () => {
  const rig = await startTestAgent({
    script: [[{ call: 'bad' }, { call: 'look' }], [{ call: 'bad' }], 'one', 'two'],
    tools: [
      testTool('bad', () => {
        throw new Error('the disk is full');
      }),
      testTool('look'),
    ],
  });
  expect(await rig.ask('a')).toMatchObject({ kind: 'done', text: 'one' });
  expect(await rig.ask('b')).toMatchObject({ kind: 'done', text: 'two' });
  expect(outline(rig.agent.history())[2]).toBe(
    'tool: result bad: [tool-failed] the disk is full | result look: look ran',
  );
  expect([rig.model.refused, rig.model.requests.length]).toEqual([[], 4]);
});
