import { afterEach, describe, expect, test } from 'vitest';
import type { AgentEvent } from '../../../src/agent/agent-api.ts';
import type { Append, Journal } from '../../../src/kernel/journal.ts';
import { llmRetry } from '../../../src/agent/plugins/llm-retry/index.ts';
import { createMemoryJournal } from '../../../src/stores/memory/index.ts';
import { createFakeClock, type FakeClock } from '../../../src/testing/index.ts';
import { faultyJournal } from './faulty-journal.ts';
import {
  endTestAgents,
  overloaded,
  rounds,
  settle,
  startTestAgent,
  type TestAgent,
  testTool,
} from './start-test-agent.ts';

afterEach(endTestAgents);

type Fault = (inner: Journal, batch: readonly Append[]) => Promise<Awaited<ReturnType<Journal['append']>>>;

/** A journal of which the appends to the session from the nth on, that many, are met by a fault. `hit` says how many were. */
function breaking(inner: Journal, fault: Fault, from: number, times: number): { journal: Journal; hit: () => number } {
  const outer = faultyJournal(inner);
  let [nth, hit] = [0, 0];
  const append: Journal['append'] = async (batch) => {
    if (batch[0]?.stream.startsWith('session:') !== true) return await outer.append(batch);
    nth += 1;
    if (nth < from || hit >= times) return await outer.append(batch);
    hit += 1;
    return await fault(inner, batch);
  };
  return { journal: { ...outer, append }, hit: () => hit };
}

const lostAnswer: Fault = async (inner, batch) => {
  await inner.append(batch);
  throw new Error('The connection broke after the commit.');
};

const taken: Fault = async (_, batch) =>
  await Promise.resolve({
    ok: false as const,
    refusal: { kind: 'stale-epoch' as const, stream: batch[0]?.stream ?? '', epoch: 1, current: 2 },
  });

/** Two prompts with tools, an effect and a retry. */
async function start(journal: Journal, clock: FakeClock, count: { effects: number }): Promise<TestAgent> {
  return await startTestAgent({
    journal,
    clock,
    script: (_, nth) =>
      nth === 1
        ? [{ call: 'look' }, { call: 'act' }]
        : nth === 2
          ? [{ fail: overloaded }]
          : nth === 3
            ? [{ call: 'act', input: 2 }]
            : `answer ${nth}`,
    tools: [testTool('look'), testTool('act', () => (count.effects += 1), { effect: {} })],
    plugins: [llmRetry()],
  });
}

async function read(events: AsyncIterable<AgentEvent>, into: number[]): Promise<void> {
  for await (const event of events) if ('position' in event) into.push(event.position);
}

describe('given an append that was stored although its answer was lost', () => {
  test.each([1, 2, 5])(
    'wherever it happens, %i at a time: prompts are done once, and a reader gets each event once',
    async (times) => {
      for (let from = 2; ; from++) {
        const clock = createFakeClock();
        const { journal, hit } = breaking(createMemoryJournal({ clock }), lostAnswer, from, times);
        const count = { effects: 0 };
        // oxlint-disable-next-line no-await-in-loop -- one place after the other
        const rig = await start(journal, clock, count);
        const positions: number[] = [];
        void read(rig.agent.events(), positions);
        const handles = [rig.agent.followup('first'), rig.agent.followup('second')];
        // oxlint-disable-next-line no-await-in-loop
        const ends = await settle(clock, Promise.all(handles.map(async ({ ended }) => (await ended).kind)));
        // oxlint-disable-next-line no-await-in-loop
        await rounds();
        expect([from, ends, count.effects]).toEqual([from, ['done', 'done'], 2]);
        // oxlint-disable-next-line no-await-in-loop
        expect([from, positions]).toEqual([from, (await rig.stored()).map(({ position }) => position)]);
        if (hit() === 0) break;
      }
    },
  );
});

describe('given a turn that cannot be closed on record', () => {
  test('the prompt behind it fails with the fault of the journal, and does not run in the turn that is still open', async () => {
    const clock = createFakeClock();
    let broken = false;
    const full: Fault = async (inner, batch) => {
      if (broken) throw new Error('No space left');
      return await inner.append(batch);
    };
    const { journal } = breaking(createMemoryJournal({ clock }), full, 1, Number.POSITIVE_INFINITY);
    const rig = await startTestAgent({
      journal,
      clock,
      script: (_, nth) => {
        broken = nth === 1;
        return `answer ${nth}`;
      },
    });
    const first = await rig.ask('first');
    const second = await rig.ask('second');
    expect([first, second]).toMatchObject([
      { kind: 'failed', failure: { message: 'No space left' } },
      { kind: 'failed', failure: { message: 'No space left' } },
    ]);
    broken = false;
    expect(await rig.ask('third')).toMatchObject({ kind: 'done', text: 'answer 2' });
    const ends = (await rig.stored()).flatMap(({ type, data }) => (type === 'turn.closed' ? [data.end.reason] : []));
    expect(ends).toEqual(['interrupted', 'completed']);
  });
});

describe('given a session that another process has taken over', () => {
  test('wherever this one hears of it, nobody waits for ever for what is queued', async () => {
    for (let from = 1; ; from++) {
      const clock = createFakeClock();
      const { journal, hit } = breaking(createMemoryJournal({ clock }), taken, from, Number.POSITIVE_INFINITY);
      const count = { effects: 0 };
      // oxlint-disable-next-line no-await-in-loop
      const rig = await start(journal, clock, count);
      const handles = [rig.agent.followup('first'), rig.agent.followup('second')];
      // oxlint-disable-next-line no-await-in-loop
      const ends = await settle(clock, Promise.all(handles.map(async ({ ended }) => await ended)));
      if (hit() === 0) break;
      expect([from, ends.at(-1)]).toMatchObject([from, { kind: 'failed', failure: { code: 'session/lost-lease' } }]);
      // oxlint-disable-next-line no-await-in-loop
      await settle(clock, rig.agent.whenIdle());
    }
  });

  test('also when it hears of it while it rests, or waits for an answer', async () => {
    for (const waits of [true, false]) {
      const clock = createFakeClock();
      const journal = {
        ...faultyJournal(createMemoryJournal({ clock })),
        renew: async () => await Promise.resolve(false),
      };
      // oxlint-disable-next-line no-await-in-loop
      const rig = await startTestAgent({
        journal,
        clock,
        script: () => (waits ? [{ call: 'act' }] : [{ fail: { message: 'no', status: 401 } }]),
        tools: [testTool('act', () => 1, { approval: { version: '1' } })],
      });
      const first = rig.agent.followup('first');
      const second = rig.agent.followup('second');
      // oxlint-disable-next-line no-await-in-loop
      await first.settled;
      // oxlint-disable-next-line no-await-in-loop
      await clock.advance(5_000);
      // oxlint-disable-next-line no-await-in-loop
      expect([waits, await second.ended]).toMatchObject([
        waits,
        { kind: 'failed', failure: { code: 'session/lost-lease' } },
      ]);
    }
  });
});
