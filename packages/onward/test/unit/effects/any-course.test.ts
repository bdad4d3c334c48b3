import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { EffectCalls, Lookup } from '../../../src/effects/effect.ts';
import { answerQuestion, EffectRejected, listQuestions } from '../../../src/effects/index.ts';
import { effectRig, never, publish } from './support/effect-rig.ts';

/** What the service does to one request. */
type Treatment = 'accept' | 'lose-answer' | 'lose-request' | 'refuse' | 'hang' | 'hang-before';

/** What befalls one process. */
interface Life {
  /** The append at which its journal breaks, for good: what a kill looks like from outside. */
  readonly breaksAt: number;
  readonly breaks: 'before' | 'after' | 'never';
  readonly aborts: boolean;
}

interface Course {
  readonly treatments: readonly Treatment[];
  readonly lives: readonly Life[];
  readonly dedupes: boolean;
  readonly lookup: 'none' | 'true' | 'lagging' | 'fails';
}

const course: fc.Arbitrary<Course> = fc.record({
  treatments: fc.array(
    fc.constantFrom<Treatment>('accept', 'lose-answer', 'lose-request', 'refuse', 'hang', 'hang-before'),
    { maxLength: 4 },
  ),
  lives: fc.array(
    fc.record({
      breaksAt: fc.integer({ min: 1, max: 6 }),
      breaks: fc.constantFrom('before', 'after', 'never'),
      aborts: fc.boolean(),
    }),
    { maxLength: 4 },
  ),
  dedupes: fc.boolean(),
  lookup: fc.constantFrom('none', 'true', 'lagging', 'fails'),
});

/** A service that keeps the books, and declares what it really does. */
function service({ treatments, dedupes, lookup }: Course, now: () => number) {
  const accepted: { readonly at: number }[] = [];
  let nth = 0;
  let asked = 0;
  const accept = (): void => {
    if (!dedupes || accepted.length === 0) accepted.push({ at: now() });
  };
  const calls: EffectCalls = {
    call: async (_key, signal) => {
      const treatment = treatments[(nth += 1) - 1] ?? 'accept';
      if (treatment === 'refuse') throw new EffectRejected('no');
      if (treatment === 'lose-request') throw new Error('ECONNRESET');
      if (treatment === 'hang-before') await hang(signal);
      accept();
      if (treatment === 'lose-answer') throw new Error('ECONNRESET');
      if (treatment === 'hang') await hang(signal);
      return 'receipt';
    },
    ...(dedupes ? { keyLifetimeMs: 1e9 } : {}),
    ...(lookup === 'none'
      ? {}
      : {
          settleMs: lookup === 'lagging' ? 30_000 : 0,
          lookup: async (): Promise<Lookup> => {
            asked += 1;
            if (lookup === 'fails' && asked % 2 === 1) throw new Error('503');
            const lag = lookup === 'lagging' ? 30_000 : 0;
            const isKnown = accepted.some(({ at }) => now() >= at + lag);
            return isKnown ? { kind: 'accepted', receipt: 'receipt' } : { kind: 'absent' };
          },
        }),
  };
  return { calls, accepted };
}

async function hang(signal: { readonly aborted: boolean; addEventListener: AbortSignal['addEventListener'] }) {
  await new Promise<void>((_resolve, reject) => {
    const end = (): void => reject(new Error('aborted'));
    if (signal.aborted) end();
    signal.addEventListener('abort', end, { once: true });
  });
}

const RUNNING = Symbol('still running');

/** Plays a course and returns the outcome of the last process, the acceptances, and how often a person was asked. */
async function playOut(played: Course) {
  const rig = effectRig();
  const { calls, accepted } = service(played, () => rig.clock.now());
  for (const [index, life] of played.lives.entries()) {
    const name = `life-${index}`;
    const stop = new AbortController();
    let appends = 0;
    rig.breakAppends(() => {
      appends += 1;
      if (life.breaks === 'never' || appends < life.breaksAt) return undefined;
      return appends === life.breaksAt ? life.breaks : 'before';
    });
    const running = rig.ledger(name).run(publish, calls, { owner: '' }, stop.signal);
    running.catch(() => undefined);
    await rig.clock.advance(40_000);
    if (life.aborts) stop.abort();
    await rig.clock.advance(60_000);
    rig.kill(name);
    stop.abort();
    rig.breakAppends(() => 'before');
    await rig.clock.advance(60_000);
    expect(accepted.length).toBeLessThanOrEqual(1);
  }
  rig.breakAppends(undefined);
  let asked = 0;
  for (let round = 0; round < 20; round++) {
    const stop = new AbortController();
    const running = rig.ledger(`last-${round}`).run(publish, calls, { owner: '' }, stop.signal);
    await rig.clock.advance(200_000);
    stop.abort();
    await rig.clock.advance(60_000);
    const outcome = await Promise.race([running, Promise.resolve(RUNNING)]);
    rig.kill(`last-${round}`);
    if (outcome === RUNNING) throw new Error('a run does not end');
    if (outcome.kind === 'accepted') return { rig, calls, accepted, asked };
    if (outcome.kind !== 'waiting') continue;
    asked += 1;
    const choice = accepted.length > 0 ? 'happened' : 'did-not-happen';
    await answerQuestion(rig.journal, outcome.question.id, { choice, by: 'truth' }, rig.clock);
  }
  throw new Error('it was never done');
}

test('O58 O59 whatever service, process and store do, an effect is accepted once, and ends in a receipt or a question', async () => {
  let courses = 0;
  let asked = 0;
  await fc.assert(
    fc.asyncProperty(course, async (played) => {
      const done = await playOut(played);
      expect(done.accepted).toHaveLength(1);
      const open = await listQuestions(done.rig.journal, { state: 'open' });
      expect(open).toEqual([]);
      // From now on it is one receipt for everybody.
      const again = await done.rig.ledger('later').run(publish, done.calls, { owner: '' }, never);
      expect(again).toMatchObject({ kind: 'accepted', repeated: true });
      expect(done.accepted).toHaveLength(1);
      courses += 1;
      asked += done.asked;
    }),
    { numRuns: 300 },
  );
  // A run in which nothing happened would prove nothing.
  expect(courses).toBe(300);
  expect(asked).toBeGreaterThan(10);
});
