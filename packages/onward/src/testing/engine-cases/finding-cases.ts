import assert from 'node:assert/strict';
import {
  accept,
  leasedWork,
  rest,
  scripted,
  send,
  DONE,
  QUESTION,
  RUNNER,
  STRANGER,
  type EngineCase,
} from './engine-rig.ts';

/** What leads to a call: due rows, messages, and workers that died. */
export const findingCases: readonly EngineCase[] = [
  {
    name: 'a stream that another process makes due later is found by looking',
    run: async (rig) => {
      const work = scripted(rig, (key) => rest(rig, key));
      await rig.engine([work]).start();
      await rig.clock.advance(rig.pollMs);
      await accept(rig, 'run:later', rig.clock.now() + 5 * rig.pollMs);
      await rig.clock.advance(4 * rig.pollMs);
      assert.equal(work.times('run:later'), 0);
      await rig.clock.advance(2 * rig.pollMs);
      assert.equal(work.times('run:later'), 1);
    },
  },
  {
    name: 'a due row that an advance leaves as it was leads to no second call',
    run: async (rig) => {
      await accept(rig, 'run:a');
      const work = scripted(rig, () => RUNNER);
      await rig.engine([work]).start();
      await rig.clock.advance(20 * rig.pollMs);
      assert.ok(work.times('run:a') <= 2, `called ${work.times('run:a')} times`);
    },
  },
  {
    name: 'a row that is due while the advance that will clear it is under way leads to no other call',
    run: async (rig) => {
      const gate = Promise.withResolvers<void>();
      const work = scripted(rig, async (key) => {
        await gate.promise;
        return rest(rig, key);
      });
      const engine = rig.engine([work]);
      await engine.start();
      await accept(rig, 'run:a');
      engine.wake('run:a');
      await rig.clock.advance(3 * rig.pollMs);
      gate.resolve();
      await rig.clock.advance(10 * rig.pollMs);
      assert.equal(work.times('run:a'), 1);
    },
  },
  {
    name: 'due streams of work that it does not know, however many, do not hide its own',
    run: async (rig) => {
      for (let n = 0; n < 250; n++) await accept(rig, `strange:${n}`, rig.clock.now() - 1000);
      await accept(rig, 'run:a');
      const work = scripted(rig, (key) => rest(rig, key));
      await rig.engine([work]).start();
      await rig.clock.advance(rig.pollMs);
      assert.deepEqual(
        work.calls.map(({ key }) => key),
        ['run:a'],
      );
    },
  },
  {
    name: 'a message that another process puts into the inbox wakes what waits for a person',
    run: async (rig) => {
      const work = scripted(rig, () => QUESTION);
      const engine = rig.engine([work]);
      await engine.start();
      engine.wake('run:a');
      await rig.clock.advance(rig.pollMs);
      assert.equal(work.times('run:a'), 1);
      await send(rig, 'run:a', 'answer-1');
      await rig.clock.advance(10 * rig.pollMs);
      assert.equal(work.times('run:a'), 2);
    },
  },
  {
    name: 'a message does not wait for the time of again(at)',
    run: async (rig) => {
      const work = scripted(rig, () => ({ kind: 'again', at: rig.clock.now() + 3_600_000 }));
      const engine = rig.engine([work]);
      await engine.start();
      engine.wake('run:a');
      await rig.clock.advance(rig.pollMs);
      await send(rig, 'run:a', 'followup-1');
      await rig.clock.advance(10 * rig.pollMs);
      assert.equal(work.times('run:a'), 2);
    },
  },
  {
    name: 'a message that makes the inbox due wakes also what is done',
    run: async (rig) => {
      const work = scripted(rig, () => DONE);
      const engine = rig.engine([work]);
      await engine.start();
      engine.wake('run:a');
      await rig.clock.advance(rig.pollMs);
      await send(rig, 'run:a', 'followup-1', rig.clock.now());
      await rig.clock.advance(10 * rig.pollMs);
      assert.equal(work.times('run:a'), 2);
    },
  },
  {
    name: 'messages to work that was erased and accepted anew are news, however many the old work got',
    run: async (rig) => {
      const work = scripted(rig, () => QUESTION);
      const engine = rig.engine([work]);
      await engine.start();
      for (const id of ['old-1', 'old-2', 'old-3']) await send(rig, 'run:a', id, rig.clock.now());
      await rig.clock.advance(10 * rig.pollMs);
      assert.equal(work.times('run:a'), 1);
      await rig.journal.erase('inbox:run:a');
      await rig.clock.advance(10 * rig.pollMs);
      for (const [index, id] of ['new-1', 'new-2'].entries()) {
        const called = work.times('run:a');
        await send(rig, 'run:a', id, rig.clock.now());
        await rig.clock.advance(10 * rig.pollMs);
        assert.equal(work.times('run:a'), called + 1, `message ${index + 1}`);
      }
    },
  },
  {
    name: 'a message that came while no engine ran is found at the start',
    run: async (rig) => {
      await send(rig, 'run:a', 'answer-1', rig.clock.now());
      const work = scripted(rig, () => QUESTION);
      await rig.engine([work]).start();
      await rig.clock.advance(10 * rig.pollMs);
      assert.equal(work.times('run:a'), 1);
    },
  },
  {
    name: 'cancel puts one message per id into the inbox before it returns, and wakes at once',
    run: async (rig) => {
      const work = scripted(rig, () => QUESTION);
      const engine = rig.engine([work]);
      await engine.start();
      engine.wake('run:a');
      await rig.clock.advance(0);
      await engine.cancel('run:a', { id: 'cancel-1', cause: 'enough' });
      await engine.cancel('run:a', { id: 'cancel-1', cause: 'enough' });
      const messages = await rig.journal.read('inbox:run:a');
      assert.deepEqual(
        messages.map(({ type, id, data }) => ({ type, id, data })),
        [{ type: 'cancel.requested', id: 'cancel-1', data: { cause: 'enough' } }],
      );
      await rig.clock.advance(0);
      const called = work.times('run:a');
      assert.ok(called === 2 || called === 3, `called ${called} times`);
      await rig.clock.advance(10 * rig.pollMs);
      assert.equal(work.times('run:a'), called, 'its own message is no news');
    },
  },
  {
    name: 'work whose worker died without a due row is found at the start by its dead lease; a live one is left alone',
    run: async (rig) => {
      await accept(rig, 'run:orphan', null);
      await accept(rig, 'run:alive', null);
      await accept(rig, 'run:released', null);
      await rig.journal.claim('run:orphan', STRANGER, 1000);
      const released = await rig.journal.claim('run:released', STRANGER, 1000);
      if (released.ok) await rig.journal.release(released.lease);
      await rig.clock.advance(2000);
      await rig.journal.claim('run:alive', STRANGER, 3_600_000);
      const work = scripted(rig, () => DONE);
      await rig.engine([work]).start();
      await rig.clock.advance(10 * rig.pollMs);
      assert.deepEqual(
        work.calls.map(({ key }) => key),
        ['run:orphan'],
      );
    },
  },
  {
    name: 'work that waits for a runner is called once when the lease of the runner ends without a word',
    run: async (rig) => {
      await accept(rig, 'run:a', null);
      const work = scripted(rig, () => RUNNER);
      const engine = rig.engine([work]);
      await engine.start();
      engine.wake('run:a');
      await rig.journal.claim('run:a', STRANGER, 15_000);
      await rig.clock.advance(14_000);
      assert.equal(work.times('run:a'), 1);
      await rig.clock.advance(1_000 + 10 * rig.pollMs);
      assert.equal(work.times('run:a'), 2);
    },
  },
  {
    name: 'two engines on one journal: the second one goes on when the worker of the first has died',
    run: async (rig) => {
      await accept(rig, 'run:a');
      const first = leasedWork(rig, 'first', () => new Promise<never>(() => undefined));
      const second = leasedWork(rig, 'second', () => Promise.resolve());
      await rig.engine([first]).start();
      await rig.clock.advance(0);
      await rig.engine([second]).start();
      await rig.clock.advance(14_000);
      assert.equal((await rig.journal.read('run:a')).length, 1, 'the lease of the first holds');
      await rig.clock.advance(2_000 + rig.pollMs);
      const events = await rig.journal.read('run:a');
      assert.deepEqual(
        events.slice(1).map(({ type, epoch }) => ({ type, epoch })),
        [{ type: 'work.ended', epoch: 2 }],
      );
    },
  },
];
