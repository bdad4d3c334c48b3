import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Advance, Engine, Work } from '../../../src/engines/engine.ts';
import { createInProcessEngine, type InProcessOptions } from '../../../src/engines/in-process/index.ts';
import { retryDelay } from '../../../src/engines/in-process/retry-delay.ts';
import { cancelMessage, inboxOf, keyOfInbox, messageTo } from '../../../src/engines/inbox.ts';
import type { Holder, Journal } from '../../../src/kernel/journal.ts';
import { createMemoryJournal } from '../../../src/stores/memory/index.ts';
import { createFakeClock, type FakeClock } from '../../../src/testing/fake-clock.ts';
import { createScriptedWork, type ScriptedWork } from '../../../src/testing/scripted-work.ts';

const HOLDER: Holder = { id: 'h', host: 'here', pid: 42, startedAt: '1' };
const QUESTION: Advance = { kind: 'waiting', on: 'question' };

interface Setup {
  readonly clock: FakeClock;
  readonly journal: Journal;
  readonly work: ScriptedWork;
  readonly engine: Engine;
  readonly errors: (readonly [string, string | undefined])[];
}

function setup(
  answer: (key: string, nth: number) => Advance | Promise<Advance>,
  more: Partial<InProcessOptions> & { readonly breaks?: (method: keyof Journal, stream: unknown) => void } = {},
): Setup {
  const clock = createFakeClock();
  const errors: (readonly [string, string | undefined])[] = [];
  const inner = createMemoryJournal({ clock });
  const journal = new Proxy(inner, {
    get: (target, method: keyof Journal) => {
      const value: unknown = Reflect.get(target, method, target);
      if (typeof value !== 'function') return value;
      return async (...args: unknown[]): Promise<unknown> => {
        more.breaks?.(method, args[0]);
        return Reflect.apply(value, target, args) as unknown;
      };
    },
  });
  const work = createScriptedWork('run:', clock, answer);
  const onError = (error: unknown, key?: string): void => void errors.push([(error as Error).message, key]);
  const engine = createInProcessEngine({ journal, work: [work], clock, onError, ...more });
  return { clock, journal, work, engine, errors };
}

async function accept(journal: Journal, stream: string, due: number | null): Promise<void> {
  await journal.append([{ stream, expected: 'any', events: [{ type: 'work.accepted', v: 1, data: {} }], due }]);
}

describe('the in-process engine', () => {
  test('a stream whose lease cannot be read, as a damaged one, neither stops the start nor hides the other streams', async () => {
    const { clock, journal, work, engine, errors } = setup(() => QUESTION, {
      breaks: (method, stream) => {
        if ((method === 'lease' && stream === 'run:bad') || (method === 'read' && stream === 'inbox:run:bad'))
          throw new Error('run:bad is damaged');
      },
    });
    for (const stream of ['run:bad', 'run:orphan', 'run:due']) await accept(journal, stream, null);
    await journal.claim('run:orphan', HOLDER, 1000);
    clock.jump(1000);
    await journal.append([{ stream: 'run:due', expected: 'any', events: [], due: clock.now() }]);
    await engine.start();
    await clock.advance(0);
    expect(work.calls.map(({ key }) => key).toSorted()).toEqual(['run:due', 'run:orphan']);
    expect(errors).toEqual([['run:bad is damaged', 'run:bad']]);
    await engine[Symbol.asyncDispose]();
  });

  test('a worker that is known to be dead is an orphan before its lease has run out', async () => {
    const { clock, journal, work, engine } = setup(() => QUESTION, { isDead: (held) => held.pid === 42 });
    await accept(journal, 'run:a', null);
    await accept(journal, 'run:b', null);
    await journal.claim('run:a', HOLDER, 60_000);
    await journal.claim('run:b', { ...HOLDER, pid: 43 }, 60_000);
    await engine.start();
    await clock.advance(0);
    expect(work.calls.map(({ key }) => key)).toEqual(['run:a']);
    await engine[Symbol.asyncDispose]();
  });

  test('a journal that fails while polling is reported and asked again, ever more slowly, until it works', async () => {
    let broken = false;
    let polls = 0;
    const { clock, journal, work, engine, errors } = setup(() => QUESTION, {
      breaks: (method) => {
        if (method !== 'due') return;
        polls += 1;
        if (broken) throw new Error('disk gone');
      },
    });
    await engine.start();
    broken = true;
    polls = 0;
    await clock.advance(10 * 60_000);
    expect(polls).toBeGreaterThan(8);
    expect(polls).toBeLessThan(25);
    expect(errors[0]).toEqual(['disk gone', undefined]);
    broken = false;
    await accept(journal, 'run:a', clock.now());
    await clock.advance(61_000);
    expect(work.times('run:a')).toBe(1);
    await engine[Symbol.asyncDispose]();
  });

  test('a journal that fails at the start fails the start, and a second start can work', async () => {
    let broken = true;
    const { clock, journal, work, engine } = setup(() => QUESTION, {
      breaks: (method) => {
        if (broken && method === 'due') throw new Error('disk gone');
      },
    });
    await accept(journal, 'run:a', clock.now());
    await expect(engine.start()).rejects.toThrow('disk gone');
    broken = false;
    await Promise.all([engine.start(), engine.start()]);
    await clock.advance(0);
    expect(work.times('run:a')).toBe(1);
    expect(clock.pending()).toHaveLength(1);
    await engine[Symbol.asyncDispose]();
  });

  test('an inbox that cannot be read hurts its own key only', async () => {
    const { clock, journal, work, engine, errors } = setup(() => QUESTION, {
      breaks: (method, stream) => {
        if (method === 'read' && stream === 'inbox:run:bad') throw new Error('damaged at 3');
      },
    });
    await engine.start();
    engine.wake('run:bad');
    engine.wake('run:good');
    await clock.advance(2_000);
    await journal.append([messageTo('run:good', { type: 'wake.requested', v: 1, data: {}, id: '1' }, clock.now())]);
    await clock.advance(120_000);
    expect(work.times('run:good')).toBe(2);
    expect(work.times('run:bad')).toBe(0);
    expect(new Set(errors.map((error) => error.join(' ')))).toEqual(new Set(['damaged at 3 run:bad']));
    expect(errors.length).toBeLessThan(12);
    await engine[Symbol.asyncDispose]();
  });

  test('an inbox that breaks later is reported under its key, and not at every look', async () => {
    let broken = false;
    const { clock, engine, errors } = setup(() => QUESTION, {
      breaks: (method, stream) => {
        if (broken && method === 'read' && stream === 'inbox:run:a') throw new Error('damaged at 3');
      },
    });
    await engine.start();
    engine.wake('run:a');
    await clock.advance(2_000);
    broken = true;
    await clock.advance(120_000);
    expect(new Set(errors.map((error) => error.join(' ')))).toEqual(new Set(['damaged at 3 run:a']));
    expect(errors.length).toBeLessThan(12);
    await engine[Symbol.asyncDispose]();
  });

  test('a second start does nothing', async () => {
    const { clock, journal, work, engine } = setup(() => QUESTION, { isDead: () => true });
    await accept(journal, 'run:a', null);
    await journal.claim('run:a', HOLDER, 60_000);
    await engine.start();
    await clock.advance(0);
    await engine.start();
    await clock.advance(0);
    expect(work.times('run:a')).toBe(1);
    await engine[Symbol.asyncDispose]();
  });

  test('a reporter that throws does not stop the engine', async () => {
    const { clock, work, engine } = setup(
      (_key, nth) => {
        if (nth === 1) throw new Error('once');
        return QUESTION;
      },
      {
        onError: () => {
          throw new Error('reporter');
        },
      },
    );
    engine.wake('run:a');
    await clock.advance(5000);
    expect(work.times('run:a')).toBe(2);
    await engine[Symbol.asyncDispose]();
  });

  test('work that always asks for another call at once leaves room for other keys', async () => {
    const clock = createFakeClock();
    const slept: number[] = [];
    const journal = createMemoryJournal({ clock });
    let engine: Engine | undefined;
    const restless: Work = {
      prefix: 'run:',
      advance: async (key) => {
        if (key === 'run:other') return QUESTION;
        return slept.length < 50 ? { kind: 'again', at: 0 } : { kind: 'done' };
      },
    };
    const turning = {
      ...clock,
      sleep: (ms: number, signal?: AbortSignal) => (slept.push(ms), clock.sleep(ms, signal)),
    };
    engine = createInProcessEngine({ journal, work: [restless], clock: turning });
    await engine.settled('run:restless', new AbortController().signal);
    expect(slept).toEqual(Array.from({ length: 50 }, () => 0));
    await engine[Symbol.asyncDispose]();
  });

  test('a time that is no number is a defect of the work, not a call at once', async () => {
    const { clock, work, engine, errors } = setup(() => ({ kind: 'again', at: Number.NaN }));
    engine.wake('run:a');
    await clock.advance(500);
    expect(work.times('run:a')).toBe(1);
    expect(errors).toEqual([['The work of run:a asked to be called at no time.', 'run:a']]);
    await engine[Symbol.asyncDispose]();
  });

  test('settled does not take an answer for the latest one while a later call is failing', async () => {
    const { clock, engine } = setup((_key, nth) => {
      if (nth === 2) throw new Error('second');
      return QUESTION;
    });
    engine.wake('run:a');
    await clock.advance(0);
    engine.wake('run:a');
    await clock.advance(0);
    let settled = false;
    const settling = engine.settled('run:a', new AbortController().signal).then(() => (settled = true));
    await clock.advance(500);
    expect(settled).toBe(false);
    await clock.advance(1000);
    await settling;
    await engine[Symbol.asyncDispose]();
  });

  test('whoever waits while calls fail is not given an older answer at the disposal', async () => {
    const { clock, engine } = setup((_key, nth) => {
      if (nth > 1) throw new Error('later');
      return QUESTION;
    });
    engine.wake('run:a');
    await clock.advance(0);
    engine.wake('run:a');
    const settled = engine.settled('run:a', new AbortController().signal);
    await clock.advance(0);
    const [refused] = await Promise.allSettled([settled, engine[Symbol.asyncDispose]()]);
    expect(refused).toMatchObject({ status: 'rejected', reason: { code: 'engine/disposed' } });
  });

  test('whoever waits is told when the engine is disposed of', async () => {
    const { clock, engine } = setup(() => ({ kind: 'waiting', on: 'runner' }));
    const settled = engine.settled('run:a', new AbortController().signal);
    await clock.advance(0);
    const [refused] = await Promise.allSettled([settled, engine[Symbol.asyncDispose]()]);
    expect(refused).toMatchObject({ status: 'rejected', reason: { code: 'engine/disposed' } });
    await expect(engine.cancel('run:a', { id: '1', cause: 'x' })).rejects.toMatchObject({ code: 'engine/disposed' });
    await expect(engine.start()).rejects.toMatchObject({ code: 'engine/disposed' });
  });

  test('for all orders of wakes, messages, errors and time: one call at a time, none before its time, none lost', async () => {
    const step = fc.oneof(
      fc.record({ do: fc.constant('wake' as const) }),
      fc.record({ do: fc.constant('send' as const) }),
      fc.record({ do: fc.constant('pass' as const), ms: fc.integer({ min: 0, max: 4000 }) }),
      fc.record({ do: fc.constant('jump' as const), ms: fc.integer({ min: -3000, max: 3000 }) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 20 }), fc.array(fc.integer({ min: 0, max: 4 })), checkOrders),
      { numRuns: 100 },
    );
  });
});

type Step = { readonly do: 'wake' | 'send' } | { readonly do: 'pass' | 'jump'; readonly ms: number };

/** The work sees the number of asks so far, so an ask that no later call has seen is lost. */
async function checkOrders(steps: readonly Step[], answers: readonly number[]): Promise<void> {
  let asked = 0;
  let seen = 0;
  let soonest = -Infinity;
  let asksAtAnswer = 0;
  const { clock, journal, work, engine } = setup(async (_key, nth) => {
    const isEarly = clock.now() < soonest && asked === asksAtAnswer;
    const before = asked;
    await clock.sleep(300);
    seen = before;
    asksAtAnswer = before;
    soonest = -Infinity;
    if (isEarly) throw new Error('too early');
    const answer = answers[nth - 1] ?? 0;
    if (answer === 1) throw new Error('defect');
    if (answer < 3) return answer === 0 ? QUESTION : { kind: 'waiting', on: 'runner' };
    soonest = clock.now() + answer * 1000;
    return { kind: 'again', at: soonest };
  });
  await engine.start();
  for (const step of steps) {
    if (step.do === 'pass') await clock.advance(step.ms);
    else if (step.do === 'jump') clock.jump(step.ms);
    else {
      asked += 1;
      if (step.do === 'wake') engine.wake('run:a');
      else {
        const message = { type: 'wake.requested', v: 1, data: {}, id: `m${asked}` };
        await journal.append([messageTo('run:a', message, clock.now() - 10_000)]);
      }
    }
  }
  await clock.advance(200_000);
  expect(seen).toBe(asked);
  expect(work.mostAtOnce()).toBeLessThanOrEqual(1);
  expect(engine.list().filter(({ error }) => error === 'too early')).toEqual([]);
  const disposed = engine[Symbol.asyncDispose]();
  await clock.advance(1000);
  await disposed;
  expect(clock.pending()).toEqual([]);
}

describe('the delay after a throw', () => {
  test('starts at a second, doubles, and never passes 66 seconds', () => {
    expect([1, 2, 3, 7, 8, 1000].map((failures) => retryDelay(failures, 0))).toEqual([
      1000, 2000, 4000, 60_000, 60_000, 60_000,
    ]);
    expect(retryDelay(1000, 1)).toBe(66_000);
  });
});

describe('the inbox of a key', () => {
  test('has a name that leads back to the key', () => {
    expect(keyOfInbox(inboxOf('run:a'))).toBe('run:a');
    expect(keyOfInbox('run:a')).toBeUndefined();
  });

  test('takes a cancel request as one message, due at once', () => {
    expect(messageTo('run:a', cancelMessage({ id: 'c1', cause: 'enough' }), 7)).toEqual({
      stream: 'inbox:run:a',
      expected: 'any',
      events: [{ type: 'cancel.requested', v: 1, id: 'c1', data: { cause: 'enough' } }],
      due: 7,
    });
  });
});
