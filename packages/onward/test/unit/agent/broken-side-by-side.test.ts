import { afterEach, describe, expect, test } from 'vitest';
import { answerQuestion, listQuestions } from '../../../src/effects/index.ts';
import { messageTo } from '../../../src/kernel/inbox.ts';
import { createMemoryJournal } from '../../../src/stores/memory/index.ts';
import { createFakeClock, createGate } from '../../../src/testing/index.ts';
import { faultyJournal } from './faulty-journal.ts';
import { endTestAgents, rounds, startTestAgent, testTool } from './start-test-agent.ts';

afterEach(endTestAgents);

test('given two calls side by side that wait for a person, when one has its answer, then the agent still says that it waits, and for what', async () => {
  const rig = await startTestAgent({
    script: (_, nth) =>
      nth === 1
        ? [
            { call: 'send', input: 1 },
            { call: 'send', input: 2 },
          ]
        : 'done',
    tools: [
      testTool(
        'send',
        () => {
          throw new Error('The connection broke.');
        },
        { effect: {}, parallel: true },
      ),
    ],
  });
  const prompt = rig.agent.followup('go');
  expect(await prompt.settled).toMatchObject({ kind: 'waiting' });
  await rounds();
  const open = async () => (await listQuestions(rig.journal, { state: 'open' })).map(({ question }) => question);
  const [first, second] = await open();
  if (first === undefined || second === undefined) throw new Error('There are not two questions.');
  await answerQuestion(rig.journal, first.id, { choice: 'give-up', by: 'me' }, rig.clock);
  await rounds();
  expect(rig.agent.status).toBe('waiting');
  await rig.agent.whenIdle();
  const still = await rig.agent.handle(prompt.id)?.settled;
  expect(still).toMatchObject({ kind: 'waiting' });
  await answerQuestion(rig.journal, second.id, { choice: 'give-up', by: 'me' }, rig.clock);
  expect(await prompt.ended).toMatchObject({ kind: 'done' });
  await rig.agent.whenIdle();
  expect(rig.statuses).toEqual(['running', 'waiting', 'running', 'idle']);
});

test('given a prompt that waits behind another, when its events are read, then no piece of the other’s answer is among them', async () => {
  const gate = createGate();
  const rig = await startTestAgent({
    script: (_, nth) => (nth === 1 ? ['of the first', { gate }, 'and more'] : [{ text: 'of the second', pieces: 2 }]),
  });
  rig.agent.followup('first');
  const second = rig.agent.followup('second');
  const texts: string[] = [];
  const reading = (async () => {
    for await (const event of second.events()) if (event.type === 'live.delta') texts.push(event.text);
  })();
  await gate.entered;
  await rounds();
  gate.open();
  await reading;
  expect(texts.join('')).toBe('of the second');
});

test('given a store that failed once while the inbox was read, when another process cancels later, then the turn hears it', async () => {
  const clock = createFakeClock();
  const inner = createMemoryJournal({ clock });
  let failed = false;
  const journal = faultyJournal(inner, (batch) => {
    if (failed || batch[0]?.stream.startsWith('inbox:') !== true) return;
    failed = true;
    throw new Error('busy');
  });
  const cancel = async (id: string): Promise<void> => {
    await inner.append([messageTo('session:s', { type: 'cancel.requested', v: 1, id, data: {} }, 0)]);
  };
  const rig = await startTestAgent({ journal, clock, script: () => [{ stall: true }] });
  await rounds();
  await cancel('one');
  await rounds();
  const prompt = rig.agent.followup('go');
  await rounds();
  await cancel('two');
  await clock.advance(1_000);
  expect([failed, await prompt.ended]).toMatchObject([true, { kind: 'cancelled' }]);
});

test('given an effect under way whose outcome is unknown after a cancel, when the prompt settles, then it is cancelled, and does not wait for a question that is given up', async () => {
  const rig = await startTestAgent({
    script: () => [{ call: 'send' }],
    tools: [
      testTool(
        'send',
        async (_, { signal }) => {
          await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
          throw new Error('The connection broke.');
        },
        { effect: {} },
      ),
    ],
  });
  const prompt = rig.agent.followup('go');
  await rounds();
  rig.agent.cancel();
  expect(await prompt.settled).toEqual({ kind: 'cancelled', cause: 'user' });
  expect(rig.statuses).not.toContain('waiting');
  expect(await listQuestions(rig.journal, { state: 'open' })).toEqual([]);
});

describe('given a plugin that cannot be set up', () => {
  test('those set up before it are ended, last first, and the session is free', async () => {
    const clock = createFakeClock();
    const journal = createMemoryJournal({ clock });
    const ended: string[] = [];
    const plugin = (name: string) => ({
      name,
      setup: (host: { readonly lifetime: { readonly aborted: boolean } }) => () =>
        void ended.push(`${name} ${host.lifetime.aborted}`),
    });
    const broken = {
      name: 'broken',
      setup: () => {
        throw new Error('It is not configured.');
      },
    };
    await expect(startTestAgent({ journal, clock, plugins: [plugin('a'), plugin('b'), broken] })).rejects.toThrow(
      'not configured',
    );
    expect([ended, clock.pending()]).toEqual([['b true', 'a true'], []]);
    expect((await (await startTestAgent({ journal, clock })).ask('go')).kind).toBe('done');
  });
});
