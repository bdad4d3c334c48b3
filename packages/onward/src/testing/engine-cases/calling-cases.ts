import assert from 'node:assert/strict';
import { accept, rest, scripted, DONE, QUESTION, type EngineCase } from './engine-rig.ts';

/** When and how often a key is called. */
export const callingCases: readonly EngineCase[] = [
  {
    name: 'a stream that is due at the start is advanced until it is done',
    run: async (rig) => {
      await accept(rig, 'run:a');
      const work = scripted(rig, async (key, nth) =>
        nth < 3 ? { kind: 'again', at: rig.clock.now() } : rest(rig, key),
      );
      const engine = rig.engine([work]);
      await engine.start();
      await rig.clock.advance(10);
      assert.equal(work.times('run:a'), 3);
      assert.deepEqual(engine.list(), [{ key: 'run:a', last: DONE, advancing: false }]);
      await rig.clock.advance(100 * rig.pollMs);
      assert.equal(work.times('run:a'), 3, 'what is done is not called again');
    },
  },
  {
    name: 'a key has one advance at a time, and keys do not wait for each other',
    run: async (rig) => {
      const gate = Promise.withResolvers<void>();
      const work = scripted(rig, async (key) => {
        if (key === 'run:slow') await gate.promise;
        return DONE;
      });
      const engine = rig.engine([work]);
      await engine.start();
      engine.wake('run:slow');
      await rig.clock.advance(0);
      for (let n = 0; n < 5; n++) engine.wake('run:slow');
      engine.wake('run:quick');
      await rig.clock.advance(3 * rig.pollMs);
      assert.equal(work.times('run:quick'), 1);
      assert.equal(work.times('run:slow'), 1);
      assert.equal(engine.list().find(({ key }) => key === 'run:slow')?.advancing, true);
      gate.resolve();
      await rig.clock.advance(rig.pollMs);
      assert.equal(work.mostAtOnce(), 1);
    },
  },
  {
    name: 'wakes during an advance lead to exactly one more advance after it',
    run: async (rig) => {
      const gate = Promise.withResolvers<void>();
      const work = scripted(rig, async (_key, nth) => {
        if (nth === 1) await gate.promise;
        return QUESTION;
      });
      const engine = rig.engine([work]);
      await engine.start();
      engine.wake('run:a');
      await rig.clock.advance(0);
      engine.wake('run:a');
      engine.wake('run:a');
      gate.resolve();
      await rig.clock.advance(5 * rig.pollMs);
      assert.equal(work.times('run:a'), 2);
    },
  },
  {
    name: 'again(at) is called at that time and not before',
    run: async (rig) => {
      const at = rig.clock.now() + 7.5 * rig.pollMs;
      const work = scripted(rig, (_key, nth) => (nth === 1 ? { kind: 'again', at } : DONE));
      const engine = rig.engine([work]);
      await engine.start();
      engine.wake('run:a');
      await rig.clock.advance(7.5 * rig.pollMs - 1);
      assert.equal(work.times('run:a'), 1);
      await rig.clock.advance(1);
      assert.deepEqual(work.calls[1], { key: 'run:a', at });
    },
  },
  {
    name: 'when the wall clock jumps over a time, the call follows at the next look, not after the rest of the wait',
    run: async (rig) => {
      const at = rig.clock.now() + 3_600_000;
      const work = scripted(rig, (_key, nth) => (nth === 1 ? { kind: 'again', at } : DONE));
      const engine = rig.engine([work]);
      await engine.start();
      engine.wake('run:a');
      await rig.clock.advance(0);
      rig.clock.jump(3_600_000);
      await rig.clock.advance(rig.pollMs);
      assert.equal(work.times('run:a'), 2);
    },
  },
  {
    name: 'when the wall clock jumps back, a call still does not come before its time on that clock',
    run: async (rig) => {
      const at = rig.clock.now() + 10 * rig.pollMs;
      const work = scripted(rig, (_key, nth) => (nth === 1 ? { kind: 'again', at } : DONE));
      const engine = rig.engine([work]);
      await engine.start();
      engine.wake('run:a');
      await rig.clock.advance(0);
      rig.clock.jump(-5 * rig.pollMs);
      await rig.clock.advance(15 * rig.pollMs - 1);
      assert.equal(work.times('run:a'), 1);
      await rig.clock.advance(1);
      assert.equal(work.times('run:a'), 2);
    },
  },
  {
    name: 'an advance that throws is reported and called again after growing, bounded delays; others go on',
    run: async (rig) => {
      const reports: (string | undefined)[] = [];
      const work = scripted(rig, (key) => {
        if (key === 'run:bad') throw new Error('not today');
        return DONE;
      });
      const engine = rig.engine([work], (_error, key) => reports.push(key));
      await engine.start();
      engine.wake('run:bad');
      await rig.clock.advance(15 * 60_000);
      const times = work.calls.map(({ at }) => at);
      const waits = times.slice(1).map((at, index) => at - (times[index] ?? 0));
      assert.ok(waits.length >= 10, `called ${times.length} times`);
      for (const [index, wait] of waits.entries()) {
        assert.ok(wait >= 0.85 * (waits[index - 1] ?? 1), `wait ${index} shrank to ${wait} ms`);
        assert.ok(wait <= 120_000, `wait ${index} is ${wait} ms`);
      }
      assert.ok((waits[4] ?? 0) > 2 * (waits[0] ?? 0), 'the delay grows');
      assert.deepEqual(new Set(reports), new Set(['run:bad']));
      assert.equal(engine.list()[0]?.error, 'not today');
      engine.wake('run:good');
      await rig.clock.advance(0);
      assert.equal(work.times('run:good'), 1);
    },
  },
  {
    name: 'work may throw anything, also what cannot be put into words: it is called again all the same',
    run: async (rig) => {
      const silent = new Error('x');
      Object.defineProperty(silent, 'message', {
        get: () => {
          throw new Error('no message');
        },
      });
      const revoked = Proxy.revocable({}, {});
      revoked.revoke();
      const things: readonly unknown[] = [undefined, null, 0, Symbol('s'), Object.create(null), silent, revoked.proxy];
      const work = scripted(rig, (key, nth) => {
        if (nth === 1) throw things[Number(key.slice(4))];
        return DONE;
      });
      const engine = rig.engine([work], () => undefined);
      await engine.start();
      for (const index of things.keys()) engine.wake(`run:${index}`);
      await rig.clock.advance(0);
      for (const { key, error } of engine.list()) assert.equal(typeof error, 'string', key);
      await rig.clock.advance(10_000);
      for (const index of things.keys()) assert.equal(work.times(`run:${index}`), 2, `thing ${index}`);
    },
  },
  {
    name: 'a throw is forgotten after an advance that works',
    run: async (rig) => {
      const work = scripted(rig, (_key, nth) => {
        if (nth === 1) throw new Error('once');
        return DONE;
      });
      const engine = rig.engine([work], () => undefined);
      await engine.start();
      engine.wake('run:a');
      await rig.clock.advance(10_000);
      assert.deepEqual(engine.list(), [{ key: 'run:a', last: DONE, advancing: false }]);
    },
  },
];
