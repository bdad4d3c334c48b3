import { afterEach, describe, expect, test } from 'vitest';
import type { Failure } from '../../../src/kernel/failure.ts';
import type { PluginHost } from '../../../src/agent/plugin.ts';
import { createMemoryJournal } from '../../../src/stores/memory/index.ts';
import { createFakeClock, createGate, type ScriptedItem } from '../../../src/testing/index.ts';
import { faultyJournal, stores } from './faulty-journal.ts';
import { endTestAgents, outline, overloaded, rounds, startTestAgent, type TestAgent } from './start-test-agent.ts';

afterEach(endTestAgents);

const down: readonly ScriptedItem[] = [{ fail: overloaded }];
const retry = { kind: 'retry' } as const;

/** What became of the turns, and how many requests were made. */
function ends(rig: TestAgent): readonly unknown[] {
  return [rig.data('turn.closed').map(({ end }) => end.reason), rig.model.requests.length];
}

function fails(): never {
  throw new Error('broken');
}

/** Of any number of numbers. */
function largest(numbers: readonly number[]): number {
  return numbers.reduce((most, one) => Math.max(most, one), 0);
}

describe('the offer of a failed request', () => {
  test('A31 given a failure that is thrown and one in the stream, when each occurs, then each is offered once, with the same facts', async () => {
    const offered: Failure[] = [];
    const facts: Failure = { message: 'Overloaded', status: 529, code: 'overloaded', retryAfterMs: 7_000 };
    const headers = { 'retry-after': '7' };
    const thrown = Object.assign(new Error(facts.message), { statusCode: 529, code: 'overloaded', headers });
    for (const item of [{ throw: thrown }, { fail: facts }]) {
      const rig = await startTestAgent({
        script: [[item]],
        on: {
          'agent/request-error': async ({ failure, classification, interrupted, model, turn, step, chain }, next) => {
            offered.push(failure);
            expect([classification.class, interrupted, model]).toEqual(['transient', false, 'scripted/model']);
            expect([turn, step, chain]).toEqual([1, 1, 1]);
            return await next();
          },
        },
      });
      expect(await rig.ask('a')).toMatchObject({ kind: 'failed', failure: { status: 529 } });
    }
    expect(offered).toEqual([facts, facts]);
  });

  test('A31 given failures that are not of the request, when they occur, then nothing is offered', async () => {
    let offers = 0;
    const count = async (
      _: unknown,
      next: () => Promise<undefined | typeof retry>,
    ): Promise<undefined | typeof retry> => {
      offers += 1;
      return await next();
    };
    for (const name of ['agent/pre-step', 'agent/request', 'agent/turn-stopping'] as const) {
      const rig = await startTestAgent({ on: { [name]: fails, 'agent/request-error': count } });
      expect(await rig.ask('a')).toMatchObject({ kind: 'failed', failure: { message: 'broken' } });
    }
    const asking = await startTestAgent({ instructions: fails, on: { 'agent/request-error': count } });
    expect((await asking.ask('a')).kind).toBe('failed');
    expect(offers).toBe(0);
  });

  test('A33 given nobody who owns it, when a request fails, then the turn closes with the code, status and message of the failure', async () => {
    const failure: Failure = {
      message: 'Go away',
      status: 403,
      type: 'permission_error',
      code: 'nope',
      requestId: 'r1',
    };
    const rig = await startTestAgent({ script: [[{ fail: failure }]] });
    expect(await rig.ask('a')).toEqual({ kind: 'failed', turn: 1, failure, class: 'auth' });
    const last = (await rig.stored()).at(-1);
    expect(last).toMatchObject({ type: 'turn.closed', data: { end: { reason: 'failed', failure, class: 'auth' } } });
    expect(rig.data('step.closed')).toEqual([{ turn: 1, step: 1, outcome: 'failed', failure }]);
  });

  test('A33 given an owner that throws, when a request fails, then the failure of the provider is the reason, and the throw is on record', async () => {
    const rig = await startTestAgent({
      script: [down, 'two'],
      on: {
        'agent/request-error': () => {
          throw new Error('the repair is broken');
        },
      },
    });
    expect(await rig.ask('a')).toMatchObject({ kind: 'failed', failure: overloaded });
    expect(rig.data('plugin.recorded')).toMatchObject([
      { kind: 'recovery-failed', data: { message: 'the repair is broken' } },
    ]);
    expect(await rig.ask('b')).toMatchObject({ kind: 'done' });
  });

  test('A34 given an owner that returns nothing and does not call next, when it runs, then nobody downstream is asked and the turn stays failed', async () => {
    let asked = 0;
    const rig = await startTestAgent({
      script: [down],
      on: { 'agent/request-error': () => undefined },
      plugins: [{ name: 'later', setup: (host) => void host.on('agent/request-error', () => ((asked += 1), retry)) }],
    });
    expect((await rig.ask('a')).kind).toBe('failed');
    expect([asked, ...ends(rig)]).toEqual([0, ['failed'], 1]);
  });

  test('A35 given two listeners, when the first calls next, then the action of the second is what the loop gets', async () => {
    const rig = await startTestAgent({
      script: [down, 'two'],
      on: { 'agent/request-error': async (_, next) => await next() },
      plugins: [{ name: 'later', setup: (host) => void host.on('agent/request-error', () => retry) }],
    });
    expect(await rig.ask('a')).toMatchObject({ kind: 'done', turn: 2, text: 'two' });
  });

  test('A35 given a listener that calls next twice, when it runs, then the second call throws into it and whoever is downstream is asked once', async () => {
    let asked = 0;
    const rig = await startTestAgent({
      script: [down],
      on: {
        'agent/request-error': async (_, next) => {
          await next();
          return await next();
        },
      },
      plugins: [
        { name: 'later', setup: (host) => void host.on('agent/request-error', () => ((asked += 1), undefined)) },
      ],
    });
    expect(await rig.ask('a')).toMatchObject({ kind: 'failed', failure: overloaded });
    expect([asked, rig.model.requests.length]).toEqual([1, 1]);
  });

  test('A36 given a failure, when the listener runs, then the last record is the close of its step and the turn is open, all of it durable', async () => {
    let at: readonly string[] = [];
    const rig: TestAgent = await startTestAgent({
      script: [down],
      on: {
        'agent/request-error': async () => {
          at = (await rig.stored()).map(({ type }) => type);
          expect(rig.seen.at(-1)?.type).toBe('step.closed');
          return undefined;
        },
      },
    });
    await rig.ask('a');
    expect([at.at(-1), at.includes('turn.opened'), at.includes('turn.closed')]).toEqual(['step.closed', true, false]);
  });

  test.each([
    ['a kind nobody knows', { kind: 'again' }],
    ['true', true],
    ['a text', 'retry'],
    ['a list', [retry]],
    ['null', null],
    ['something whose kind is no text', { kind: { retry: true } }],
  ])('A38 given %s, when it is returned, then it counts as unhandled', async (_, action) => {
    const rig = await startTestAgent({ script: [down], on: { 'agent/request-error': () => action as never } });
    expect(await rig.ask('a')).toMatchObject({ kind: 'failed', failure: overloaded });
    expect(rig.model.requests).toHaveLength(1);
  });
});

describe('a cancel beside a recovery', () => {
  test('A39 given a listener that cancels and then returns retry, when that is consumed, then there is one request, one turn, and it is aborted', async () => {
    const rig: TestAgent = await startTestAgent({
      script: [down],
      on: { 'agent/request-error': () => (rig.agent.cancel(), retry) },
    });
    expect(await rig.ask('a')).toEqual({ kind: 'cancelled', cause: 'user' });
    expect(ends(rig)).toEqual([['aborted'], 1]);
  });

  test('A40 given a listener that awaits next, cancels and then returns retry, when that is consumed, then there is no retry', async () => {
    const rig: TestAgent = await startTestAgent({
      script: [down],
      on: {
        'agent/request-error': async (_, next) => {
          await next();
          rig.agent.cancel();
          return retry;
        },
      },
      plugins: [{ name: 'later', setup: (host) => void host.on('agent/request-error', () => retry) }],
    });
    expect(await rig.ask('a')).toEqual({ kind: 'cancelled', cause: 'user' });
    expect(ends(rig)).toEqual([['aborted'], 1]);
  });

  test('A40 given a retry that was accepted, when an observer of the close of the failed turn cancels, then there is no retry, and the reason that was written stands', async () => {
    const rig: TestAgent = await startTestAgent({
      script: [down],
      on: { 'agent/request-error': () => retry },
      observe(event) {
        if (event.type === 'turn.closed') rig.agent.cancel();
      },
    });
    expect((await rig.ask('a')).kind).toMatch(/failed|cancelled/);
    await rig.agent.whenIdle();
    expect([...ends(rig), rig.agent.status]).toEqual([['failed'], 1, 'idle']);
  });

  test('A42 given a retry that was accepted, when an observer of the opening of its turn cancels, then that turn closes aborted, without step or request', async () => {
    const rig: TestAgent = await startTestAgent({
      script: [down],
      on: { 'agent/request-error': () => retry },
      observe(event) {
        if (event.type === 'turn.opened' && event.data.turn === 2) rig.agent.cancel();
      },
    });
    expect(await rig.ask('a')).toEqual({ kind: 'cancelled', cause: 'user' });
    expect(ends(rig)).toEqual([['failed', 'aborted'], 1]);
    expect(rig.data('step.opened').map(({ turn }) => turn)).toEqual([1]);
  });

  test('A44 given a signal that is aborted already, when a failure surfaces, then it is not offered', async () => {
    let offers = 0;
    const gate = createGate();
    const rig = await startTestAgent({
      script: [[{ gate }, { fail: overloaded }]],
      on: { 'agent/request-error': () => ((offers += 1), retry) },
    });
    const handle = rig.agent.followup('a');
    await gate.entered;
    rig.agent.cancel();
    gate.open();
    expect(await handle.ended).toEqual({ kind: 'cancelled', cause: 'user' });
    expect([offers, ...ends(rig)]).toEqual([0, ['aborted'], 1]);
  });

  test('A44 given a cancel from an observer of the close of the failed step, when that is stored, then nothing is offered', async () => {
    let offers = 0;
    const rig: TestAgent = await startTestAgent({
      script: [down],
      on: { 'agent/request-error': () => ((offers += 1), retry) },
      observe(event) {
        if (event.type === 'step.closed') rig.agent.cancel();
      },
    });
    expect(await rig.ask('a')).toEqual({ kind: 'cancelled', cause: 'user' });
    expect([offers, ...ends(rig)]).toEqual([0, ['aborted'], 1]);
  });

  test('A45 given a disposal during recovery, when the listener later returns retry, then no request follows, and disposal has waited for the listener', async () => {
    const gate = createGate();
    let over = false;
    const rig = await startTestAgent({
      script: [down],
      on: {
        'agent/request-error': async () => {
          await gate.wait();
          over = true;
          return retry;
        },
      },
    });
    const handle = rig.agent.followup('a');
    await gate.entered;
    let disposed = false;
    const disposing = Promise.resolve(rig.agent[Symbol.asyncDispose]()).then(() => (disposed = true));
    await rounds();
    expect([over, disposed]).toEqual([false, false]);
    gate.open();
    await disposing;
    expect([over, await handle.ended]).toEqual([true, { kind: 'cancelled', cause: 'disposed' }]);
    expect(ends(rig)).toEqual([['disposed'], 1]);
  });

  test('A45 given a retry whose failed turn cannot be closed, when that fails, then the retry is dropped', async () => {
    const clock = createFakeClock();
    const journal = faultyJournal(createMemoryJournal({ clock }), (batch) => {
      if (stores(batch, 'turn.closed')) throw new Error('No space left');
    });
    const rig = await startTestAgent({ clock, journal, script: [down], on: { 'agent/request-error': () => retry } });
    expect((await rig.ask('a')).kind).toBe('failed');
    await rig.agent.whenIdle();
    expect(rig.model.requests).toHaveLength(1);
  });
});

describe('a chain of retries', () => {
  test('A46 given three attempts, when the third succeeds, then turns 1 to 3 were begun by message, retry, retry, the status ran once, and the prompt settled once', async () => {
    const settled: unknown[] = [];
    const rig = await startTestAgent({ script: [down, down, 'three'], on: { 'agent/request-error': () => retry } });
    const handle = rig.agent.followup('a');
    void handle.settled.then((settlement) => settled.push(settlement));
    expect(await handle.ended).toMatchObject({ kind: 'done', turn: 3, text: 'three' });
    await rig.agent.whenIdle();
    expect(rig.data('turn.opened')).toEqual([
      { turn: 1, chain: 1, trigger: { kind: 'prompt', id: handle.id } },
      { turn: 2, chain: 1, trigger: { kind: 'retry', of: 1 } },
      { turn: 3, chain: 1, trigger: { kind: 'retry', of: 2 } },
    ]);
    expect([rig.statuses, settled]).toEqual([['running', 'idle'], [await handle.ended]]);
  });

  test('A46 given a chain under way, when steering, context and a followup arrive, then the retry sees the first two at its opening, in order, and the followup waits for the whole chain', async () => {
    const gate = createGate();
    const opening: string[] = [];
    const rig: TestAgent = await startTestAgent({
      script: [[{ gate }, { fail: overloaded }], down, 'three', 'four'],
      on: {
        'agent/request-error': () => retry,
        'agent/pre-step': async ({ turn }, next) => {
          if (turn === 2) opening.push(...outline(rig.host.history().messages));
          await next();
        },
      },
    });
    const first = rig.agent.followup('a');
    await gate.entered;
    const later = rig.agent.followup('b');
    rig.agent.inject('context');
    rig.agent.steer('steering');
    gate.open();
    expect(await first.ended).toMatchObject({ kind: 'done', turn: 3 });
    expect(await later.ended).toMatchObject({ kind: 'done', turn: 4 });
    const seen = rig.model.requests.map(({ messages }) => outline(messages));
    expect(seen[0]).toEqual(['user: a']);
    expect(seen[1]).toEqual(['user: a', 'user: context', 'user: steering']);
    // Committed at the opening, before anybody is asked about its first step.
    expect(opening).toEqual(seen[1]);
    expect(seen[2]).toEqual(seen[1]);
    expect(seen[3]?.at(-1)).toBe('user: b');
  });

  test('A48 given a retry turn whose listener before the step throws, when it fails, then recovery is not asked again', async () => {
    let offers = 0;
    const triggers: unknown[] = [];
    const rig = await startTestAgent({
      script: [down],
      on: {
        'agent/request-error': () => ((offers += 1), retry),
        'agent/pre-step': async ({ turn, trigger }, next) => {
          triggers.push(trigger.kind);
          if (turn === 2) throw new Error('not again');
          await next();
        },
      },
    });
    expect(await rig.ask('a')).toMatchObject({ kind: 'failed', turn: 2, failure: { message: 'not again' } });
    expect([offers, ...ends(rig)]).toEqual([1, ['failed', 'failed'], 1]);
    expect(triggers).toEqual(['prompt', 'retry']);
  });

  test.each([1_000, 10_000])(
    'A58 given %i recovered failures in a row, when they are run, then the agent ends idle, with the same few appends and nothing kept for each',
    async (failures) => {
      const clock = createFakeClock();
      const journal = faultyJournal(createMemoryJournal({ clock }));
      const depths: number[] = [];
      const timers: number[] = [];
      const { stackTraceLimit } = Error;
      Error.stackTraceLimit = Number.POSITIVE_INFINITY;
      let host: PluginHost | undefined;
      const rig = await startTestAgent({
        clock,
        journal,
        script: (_, nth) => (nth > failures ? 'done' : down),
        on: { 'agent/request-error': () => retry },
        observe(event, given) {
          host = given;
          if (event.type !== 'turn.opened') return;
          depths.push(new Error('depth').stack?.split('\n').length ?? 0);
          timers.push(clock.pending().length);
        },
      });
      expect(await rig.ask('a')).toMatchObject({ kind: 'done', turn: failures + 1 });
      await rig.agent.whenIdle();
      Error.stackTraceLimit = stackTraceLimit;
      expect([rig.agent.status, rig.model.requests.length]).toEqual(['idle', failures + 1]);
      // Each failure: its step stored before the offer, its end, and the barrier of the next request.
      expect(journal.batches.length).toBeLessThanOrEqual(3 * failures + 5);
      expect(host?.history().messages).toHaveLength(2);
      // No frame and no timer is left behind by an attempt: the chain is a loop.
      expect([largest(depths.slice(1)), largest(timers.slice(1))]).toEqual([depths[1], timers[1]]);
      // What is written for each failure does not grow with their number.
      const sizes = journal.batches.map((batch) => JSON.stringify(batch).length);
      expect(largest(sizes.slice(3))).toBeLessThan(2_000);
    },
    60_000,
  );
});
