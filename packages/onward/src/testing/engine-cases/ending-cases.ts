import assert from 'node:assert/strict';
import type { Advance } from '../../engines/engine.ts';
import { scripted, send, track, DONE, QUESTION, RUNNER, type EngineCase } from './engine-rig.ts';

/** How work, waiting for it, and the engine end. */
export const endingCases: readonly EngineCase[] = [
  {
    name: 'settled waits over again and runners, and resolves when the work is done',
    run: async (rig) => {
      const answers: readonly Advance[] = [{ kind: 'again', at: rig.clock.now() + 5000 }, RUNNER, DONE];
      const work = scripted(rig, (_key, nth) => answers[nth - 1] ?? DONE);
      const engine = rig.engine([work]);
      await engine.start();
      const settled = track(engine.settled('run:a', new AbortController().signal));
      await rig.clock.advance(5000);
      assert.equal(work.times('run:a'), 2);
      assert.equal(settled.result(), undefined);
      engine.wake('run:a');
      await rig.clock.advance(0);
      assert.deepEqual(settled.result(), DONE);
    },
  },
  {
    name: 'settled resolves with what the engine cannot bring about, and rejects with the reason of its signal',
    run: async (rig) => {
      const work = scripted(rig, (key) => (key === 'run:asks' ? QUESTION : RUNNER));
      const engine = rig.engine([work]);
      await engine.start();
      assert.deepEqual(await engine.settled('run:asks', new AbortController().signal), QUESTION);
      const abort = new AbortController();
      const settled = engine.settled('run:runs', abort.signal);
      await rig.clock.advance(0);
      abort.abort(new Error('no more'));
      await assert.rejects(settled, { message: 'no more' });
    },
  },
  {
    name: 'settled does not take an older answer for that of a call which is wanted or under way',
    run: async (rig) => {
      const work = scripted(rig, (_key, nth) => (nth === 1 ? QUESTION : DONE));
      const engine = rig.engine([work]);
      await engine.start();
      engine.wake('run:a');
      await rig.clock.advance(0);
      engine.wake('run:a');
      assert.deepEqual(await engine.settled('run:a', new AbortController().signal), DONE);
    },
  },
  {
    name: 'a call that was asked for right before the disposal does not come',
    run: async (rig) => {
      const work = scripted(rig, () => DONE);
      const engine = rig.engine([work]);
      await engine.start();
      engine.wake('run:a');
      await engine[Symbol.asyncDispose]();
      await rig.clock.advance(10 * rig.pollMs);
      assert.deepEqual(work.calls, []);
    },
  },
  {
    name: 'disposal waits for the call under way, then no call and no timer is left',
    run: async (rig) => {
      const gate = Promise.withResolvers<void>();
      const work = scripted(rig, async (key, _nth, signal) => {
        if (key === 'run:waits') return { kind: 'again', at: rig.clock.now() + 5000 };
        await gate.promise;
        assert.ok(signal.aborted);
        return { kind: 'again', at: rig.clock.now() };
      });
      const engine = rig.engine([work]);
      await engine.start();
      engine.wake('run:waits');
      engine.wake('run:busy');
      await rig.clock.advance(rig.pollMs);
      const disposed = track(engine[Symbol.asyncDispose]().then(() => DONE));
      await rig.clock.advance(0);
      assert.equal(disposed.result(), undefined, 'it waits for the call under way');
      gate.resolve();
      await rig.clock.advance(0);
      assert.deepEqual(disposed.result(), DONE);
      assert.deepEqual(rig.clock.pending(), []);
      engine.wake('run:waits');
      await send(rig, 'run:busy', 'late');
      await rig.clock.advance(3_600_000);
      assert.deepEqual(work.calls.map(({ key }) => key).toSorted(), ['run:busy', 'run:waits']);
      await assert.rejects(engine.settled('run:waits', new AbortController().signal), { code: 'engine/disposed' });
    },
  },
  {
    name: 'a key that fits no work is refused',
    run: async (rig) => {
      const engine = rig.engine([scripted(rig, () => DONE)]);
      await engine.start();
      assert.throws(() => engine.wake('flow:a'), { code: 'engine/unknown-work' });
      await assert.rejects(engine.cancel('flow:a', { id: '1', cause: 'x' }), { code: 'engine/unknown-work' });
      assert.deepEqual(await rig.journal.read('inbox:flow:a'), []);
    },
  },
];
