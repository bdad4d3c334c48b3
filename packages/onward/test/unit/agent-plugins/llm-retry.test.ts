import { getEventListeners } from 'node:events';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { llmRetry, type LlmRetryOptions, type RetryRecord } from '../../../src/agent/plugins/llm-retry/index.ts';
import type { SessionEvent } from '../../../src/agent/session-events.ts';
import type { Failure } from '../../../src/kernel/failure.ts';
import { createGate } from '../../../src/testing/index.ts';
import { createFailingSession, type FailingSession, overloaded } from './failing-session.ts';

const steady = { jitter: 0 } as const;
const limited: Failure = { message: 'Slow down', status: 429 };

function start(options: LlmRetryOptions = {}, samples?: readonly number[]): FailingSession {
  const session = createFailingSession([llmRetry(options)], samples === undefined ? {} : { samples });
  session.open();
  return session;
}

function records(session: FailingSession): readonly RetryRecord[] {
  return session.records('llm-retry') as readonly RetryRecord[];
}

const delays = (session: FailingSession): readonly number[] => records(session).map(({ delayMs }) => delayMs);

describe('a failed model request', () => {
  test('A61 is retried after its wait and not before, and the retry is on record before the wait begins', async () => {
    const session = start(steady);
    let answer: unknown = 'waiting';
    void session.fail().then((action) => (answer = action));
    await session.clock.advance(499);
    expect(answer).toBe('waiting');
    expect(records(session)).toEqual([
      {
        turn: 1,
        step: 1,
        model: 'test/one',
        retry: 1,
        max: 5,
        delayMs: 500,
        class: 'transient',
        rule: 'kernel/1:overloaded',
        failure: overloaded,
      },
    ]);
    await session.clock.advance(1);
    expect(answer).toEqual({ kind: 'retry' });
  });

  test('is not waited for when its retry cannot be recorded', async () => {
    const session = start(steady);
    session.recordFault = new Error('disk full');
    await expect(session.fail()).rejects.toThrow('disk full');
    expect(session.clock.pending()).toEqual([]);
  });

  test.each<Failure>([
    { message: 'who are you', status: 401 },
    { message: 'forbidden', status: 403, type: 'permission_error' },
    { message: 'no credit', type: 'insufficient_quota', status: 429 },
    { message: 'five hours', type: 'usage_limit_reached', resetsAt: Date.UTC(2030, 0, 2), status: 429 },
    { message: 'bad', status: 400 },
    { message: 'too long', type: 'context_length_exceeded', status: 400 },
    { message: 'no', stop: 'refusal' },
    { message: 'what is this' },
    { message: 'ended', process: 'ended-without-result' },
    { message: 'paused', stop: 'pause_turn' },
  ])('A60 leaves what does not pass by itself to others, without record or timer: %j', async (failure) => {
    const session = start();
    let asked = 0;
    const next = (): undefined => void (asked += 1);
    expect(await session.fail({ failure, next })).toBeUndefined();
    expect([asked, records(session), session.clock.pending()]).toEqual([1, [], []]);
  });

  test('passes on what another owner behind it answers', async () => {
    const session = start();
    const failure = { message: 'too long', type: 'context_length_exceeded' };
    expect(await session.fail({ failure, next: () => ({ kind: 'retry' }) })).toEqual({ kind: 'retry' });
  });

  test.each<Failure>([
    { message: 'empty', type: 'empty_answer' },
    { message: 'cut', type: 'cut_answer' },
    { message: 'garbage', type: 'malformed_chunk' },
    { message: 'reset', code: 'ECONNRESET' },
    { message: 'silent', type: 'timeout_error' },
    { message: 'slow down', status: 429 },
    { message: 'oops', status: 500 },
    { message: 'wrapped', cause: { message: 'oops', status: 502 } },
  ])('is retried by default when nothing has run yet: %j', async (failure) => {
    const session = start();
    expect(await session.settle(session.fail({ failure }))).toEqual({ kind: 'retry' });
  });
});

describe('the wait', () => {
  test('A62 doubles, and is spread by the jitter', async () => {
    const session = start({}, [0, 1]);
    await session.settle(session.fail());
    await session.retryAndFail();
    expect(delays(session)).toEqual([450, 1_100]);
  });

  test('A63 is never longer than the cap, jitter included', async () => {
    const session = start({ initialMs: 10_000 }, [1]);
    await session.settle(session.fail());
    expect(delays(session)).toEqual([10_000]);
  });

  test('A64 may be nothing at all, and the retry happens', async () => {
    const session = start({ jitter: 1 }, [0]);
    expect(await session.fail()).toEqual({ kind: 'retry' });
    expect(delays(session)).toEqual([0]);
  });

  test('is never shorter than the server’s hint, nor much longer, though the cap for our own waits is lower', async () => {
    for (const sample of [0, 0.5, 1]) {
      const session = start({}, [sample]);
      // oxlint-disable-next-line no-await-in-loop -- one session after the other
      await session.settle(session.fail({ failure: { ...limited, retryAfterMs: 30_000 } }));
      expect(delays(session)[0]).toBeGreaterThanOrEqual(30_000);
      expect(delays(session)[0]).toBeLessThanOrEqual(33_000);
    }
  });

  test('a hint over the cap surfaces at once as data: no record, no timer, no attempt spent', async () => {
    const session = start({ hintCapMs: 60_000 });
    let asked = 0;
    const failure = { ...limited, retryAfterMs: 11_180_000 };
    expect(await session.fail({ failure, next: () => void (asked += 1) })).toBeUndefined();
    expect([asked, records(session), session.clock.pending()]).toEqual([1, [], []]);
  });

  test.each([0, Number.NaN, -5])('A66 a hint of %d is none: the own wait applies', async (retryAfterMs) => {
    const session = start(steady);
    expect(await session.settle(session.fail({ failure: { ...limited, retryAfterMs } }))).toEqual({ kind: 'retry' });
    expect(delays(session)).toEqual([500]);
  });

  test('is within the cap or the hint, and never below the hint, for all options', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          initialMs: fc.nat(20_000),
          more: fc.nat(20_000),
          jitter: fc.double({ min: 0, max: 1, noNaN: true }),
          sample: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
          hint: fc.option(fc.nat(60_000), { nil: undefined }),
        }),
        async ({ initialMs, more, jitter, sample, hint }) => {
          const maxMs = initialMs + more;
          const session = start({ initialMs, maxMs, jitter, hintCapMs: 60_000 }, [sample]);
          const failure = hint === undefined ? limited : { ...limited, retryAfterMs: hint };
          expect(await session.settle(session.fail({ failure }))).toEqual({ kind: 'retry' });
          const delay = delays(session)[0] ?? -1;
          expect(delay).toBeGreaterThanOrEqual(hint ?? 0);
          expect(delay).toBeLessThanOrEqual(
            Math.max(maxMs, Math.ceil((hint ?? 0) + Math.min((hint ?? 0) * 0.1, 5_000))),
          );
        },
      ),
      { numRuns: 60 },
    );
  });
});

describe('the budget', () => {
  test('A67 ends: with two retries the third failure goes on to others, with two records', async () => {
    const session = start({ retries: 2 });
    await session.settle(session.fail());
    await session.retryAndFail();
    expect(await session.retryAndFail()).toBeUndefined();
    expect(records(session).map(({ retry, max }) => [retry, max])).toEqual([
      [1, 2],
      [2, 2],
    ]);
  });

  test('of none retries nothing', async () => {
    const session = start({ retries: 0 });
    expect(await session.fail()).toBeUndefined();
    expect(records(session)).toEqual([]);
  });

  test('R44 is bounded under an outage without an end: a thousand failures make five retries', async () => {
    const session = start();
    const answers: unknown[] = [await session.settle(session.fail())];
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    for (let nth = 1; nth < 1_000; nth++) answers.push(await session.retryAndFail());
    expect(answers.filter((action) => action !== undefined)).toHaveLength(5);
    expect(records(session)).toHaveLength(5);
  });

  test('A68 begins anew with the next prompt', async () => {
    const session = start({ retries: 1 });
    await session.settle(session.fail());
    session.open();
    expect(await session.settle(session.fail())).toEqual({ kind: 'retry' });
    expect(records(session).map(({ retry }) => retry)).toEqual([1, 1]);
  });

  test('begins anew with an answer that was committed, and not with a retry turn', async () => {
    const session = start({ retries: 1 });
    await session.settle(session.fail());
    session.open('retry');
    session.commitAnswer();
    expect(await session.settle(session.fail())).toEqual({ kind: 'retry' });
    expect(await session.retryAndFail()).toBeUndefined();
  });

  test('A81 is of each model: two that fail once with a budget of one are both retried', async () => {
    const session = start({ retries: 1 });
    expect(await session.settle(session.fail({ model: 'a/1' }))).toEqual({ kind: 'retry' });
    expect(await session.retryAndFail({ model: 'b/2' })).toEqual({ kind: 'retry' });
    expect(await session.retryAndFail({ model: 'a/1' })).toBeUndefined();
    expect(await session.retryAndFail({ model: 'b/2' })).toBeUndefined();
  });

  test('A80 follows the model that failed, also when the next attempt goes to another', async () => {
    const session = start({ ...steady, retries: 1, perModel: { 'b/2': { retries: 3, initialMs: 100 } } });
    await session.settle(session.fail({ model: 'a/1' }));
    await session.retryAndFail({ model: 'b/2' });
    await session.retryAndFail({ model: 'b/2' });
    expect(records(session).map(({ model, retry, max, delayMs }) => [model, retry, max, delayMs])).toEqual([
      ['a/1', 1, 1, 500],
      ['b/2', 1, 3, 100],
      ['b/2', 2, 3, 200],
    ]);
  });

  test('can differ for each provider: one whose limits are brief, one that waits as long as it is told', async () => {
    const session = start({ ...steady, perModel: { 'slow/1': { hintCapMs: 3_600_000 } } });
    const failure = { ...limited, retryAfterMs: 1_800_000 };
    expect(await session.fail({ failure, model: 'other/1' })).toBeUndefined();
    expect(await session.retryAndFail({ failure, model: 'slow/1' })).toEqual({ kind: 'retry' });
    expect(delays(session)[0]).toBeGreaterThanOrEqual(1_800_000);
  });

  test('of an answer that the token limit cut is one, and its own', async () => {
    const cut = { message: 'cut', type: 'max_output_tokens', stop: 'length' };
    const session = start({ retries: 2 });
    expect(await session.settle(session.fail())).toEqual({ kind: 'retry' });
    expect(await session.retryAndFail({ failure: cut })).toEqual({ kind: 'retry' });
    expect(await session.retryAndFail({ failure: cut })).toBeUndefined();
    expect(await session.retryAndFail()).toEqual({ kind: 'retry' });
    expect(await session.retryAndFail()).toBeUndefined();
    expect(records(session).map(({ class: kind, retry, max }) => [kind, retry, max])).toEqual([
      ['transient', 1, 2],
      ['incomplete', 1, 1],
      ['transient', 2, 2],
    ]);
  });

  test('of failures that nobody knows is none, unless it is asked for', async () => {
    const session = start({ unclassified: 1 });
    const failure = { message: 'what is this' };
    expect(await session.settle(session.fail({ failure }))).toEqual({ kind: 'retry' });
    expect(await session.retryAndFail({ failure })).toBeUndefined();
  });

  test('of classes that are left out is none', async () => {
    const session = start({ classes: ['throttled'] });
    expect(await session.fail()).toBeUndefined();
    session.open('retry');
    expect(await session.settle(session.fail({ failure: limited }))).toEqual({ kind: 'retry' });
  });

  test('survives a restart: it is folded from the log', async () => {
    const first = start({ retries: 2 });
    await first.settle(first.fail());
    await first.retryAndFail();
    const second = createFailingSession([llmRetry({ retries: 2 })], { events: first.events });
    const last = { turn: 2, step: 1, chain: 1, signal: new AbortController().signal, model: 'test/one' };
    second.emit('turn.closed', { turn: 2, chain: 1, end: { reason: 'interrupted' } });
    second.emit('turn.opened', { turn: 3, chain: 1, trigger: { kind: 'retry', of: 2 } });
    second.emit('step.opened', { turn: 3, step: 1, model: 'test/one', messages: 1, generation: 0 });
    second.emit('step.closed', { turn: 3, step: 1, outcome: 'failed', failure: overloaded });
    const classification = { class: 'transient', rule: 'r', evidence: 'e' } as const;
    const payload = { ...last, turn: 3, failure: overloaded, classification, interrupted: false };
    expect(await second.run('agent/request-error', payload, () => undefined)).toBeUndefined();
    expect(records(second)).toHaveLength(2);
  });
});

describe('a crash', () => {
  const died: Failure = { message: 'died', process: 'host-crashed' };

  test('of the request’s process is retried where it is offered, and counted', async () => {
    const session = start({ retries: 1 });
    expect(await session.settle(session.fail({ failure: died, interrupted: true }))).toEqual({ kind: 'retry' });
    expect(await session.retryAndFail({ failure: died, interrupted: true })).toBeUndefined();
    expect(records(session)).toMatchObject([{ class: 'crash', retry: 1, max: 1 }]);
  });

  test('during the wait of a retry goes on with the rest of that wait, without a second record', async () => {
    const first = start(steady);
    void first.fail();
    await first.clock.advance(200);
    const second = createFailingSession([llmRetry(steady)], { events: first.events, clock: first.clock });
    const signal = new AbortController().signal;
    const classification = { class: 'crash', rule: 'r', evidence: 'e' } as const;
    const payload = { turn: 1, step: 1, chain: 1, signal, model: 'test/one', failure: died, classification };
    let answer: unknown = 'waiting';
    void second
      .run('agent/request-error', { ...payload, interrupted: true }, () => undefined)
      .then((action) => (answer = action));
    await second.clock.advance(299);
    expect(answer).toBe('waiting');
    await second.clock.advance(1);
    expect(answer).toEqual({ kind: 'retry' });
    expect(records(second)).toHaveLength(1);
  });
});

describe('cancelling and unloading', () => {
  test('A73 a turn that is cancelled already gets no record', async () => {
    const abort = new AbortController();
    const session = createFailingSession([
      {
        name: 'outer',
        setup: (host) =>
          void host.on('agent/request-error', async (_, next) => {
            abort.abort();
            return await next();
          }),
      },
      llmRetry(),
    ]);
    session.open();
    expect(await session.fail({ signal: abort.signal })).toBeUndefined();
    expect([session.records('llm-retry'), session.clock.pending()]).toEqual([[], []]);
  });

  test('A74 a cancel during the wait ends it at once and leaves no timer', async () => {
    const session = start();
    const abort = new AbortController();
    const answer = session.fail({ signal: abort.signal });
    await session.clock.advance(100);
    expect(session.clock.pending()).toHaveLength(1);
    abort.abort();
    expect(await answer).toBeUndefined();
    expect(session.clock.pending()).toEqual([]);
  });

  test('a wait leaves no listener behind on the signal of its turn', async () => {
    const session = start();
    const { signal } = new AbortController();
    await session.settle(session.fail({ signal }));
    expect(getEventListeners(signal as EventTarget, 'abort')).toEqual([]);
  });

  test('unloading during the wait ends it at once, retries nothing and leaves no timer', async () => {
    const session = start();
    const answer = session.fail();
    await session.clock.advance(100);
    await session.unload('llm-retry');
    expect(await answer).toBeUndefined();
    expect(session.clock.pending()).toEqual([]);
  });

  test('a callback that was captured before unloading does nothing, and asks nobody else', async () => {
    const session = createFailingSession([]);
    let captured: ((payload: never, next: never) => unknown) | undefined;
    const plugin = llmRetry();
    session.load({
      name: plugin.name,
      setup: (host) =>
        plugin.setup({ ...host, on: (name, listener) => ((captured = listener as never), host.on(name, listener)) }),
    });
    await session.unload('llm-retry');
    let asked = 0;
    const payload = { model: 'test/one', signal: new AbortController().signal };
    expect(await captured?.(payload as never, (() => (asked += 1)) as never)).toBeUndefined();
    expect(asked).toBe(0);
  });

  test('A83 unloading waits for a recovery that was passed on and is still under way', async () => {
    const session = start();
    const gate = createGate();
    const failure = { message: 'too long', type: 'context_length_exceeded' };
    const answer = session.fail({
      failure,
      next: async () => {
        await gate.wait();
        return undefined;
      },
    });
    await gate.entered;
    let unloaded = false;
    const unloading = session.unload('llm-retry').then(() => (unloaded = true));
    await session.clock.advance(1_000);
    expect(unloaded).toBe(false);
    gate.open();
    await Promise.all([unloading, answer]);
    expect(unloaded).toBe(true);
  });
});

describe('bad options', () => {
  test.each<[string, object]>([
    ['llmRetry.retries', { retries: -1 }],
    ['llmRetry.retries', { retries: 1.5 }],
    ['llmRetry.retries', { retries: Number.NaN }],
    ['llmRetry.retries', { retries: '5' }],
    ['llmRetry.retries', { retries: 1_001 }],
    ['llmRetry.unclassified', { unclassified: -1 }],
    ['llmRetry.initialMs', { initialMs: -1 }],
    ['llmRetry.initialMs', { initialMs: 0.5 }],
    ['llmRetry.initialMs', { initialMs: 10_001 }],
    ['llmRetry.maxMs', { maxMs: 2_147_483_648 }],
    ['llmRetry.hintCapMs', { hintCapMs: 2_147_483_648 }],
    ['llmRetry.hintCapMs', { hintCapMs: Infinity }],
    ['llmRetry.jitter', { jitter: 1.1 }],
    ['llmRetry.jitter', { jitter: Number.NaN }],
    ['llmRetry.classes', { classes: [] }],
    ['llmRetry.classes', { classes: 'transient' }],
    ['llmRetry.classes[1]', { classes: ['transient', 'transient'] }],
    ['llmRetry.classes[0]', { classes: [' '] }],
    ['llmRetry.classes[0]', { classes: ['flaky'] }],
    ['llmRetry.classes[0]', { classes: ['auth'] }],
    ['llmRetry.perModel["a/1"].retries', { perModel: { 'a/1': { retries: -1 } } }],
    ['llmRetry.perModel["a/1"]', { perModel: { 'a/1': null } }],
    ['llmRetry.perModel', { perModel: 3 }],
  ])('A71 are refused when the plugin is made, with their place: %s in %j', (place, options) => {
    expect(() => llmRetry(options as LlmRetryOptions)).toThrow(
      expect.objectContaining({ code: 'config/bad-value', place }),
    );
  });

  test('are refused by name when nobody knows them', () => {
    expect(() => llmRetry({ retrys: 3 } as LlmRetryOptions)).toThrow(
      expect.objectContaining({ code: 'config/unknown-setting', place: 'llmRetry.retrys' }),
    );
  });

  // The contract's unbounded mode was decided against: it is refused at load, so none of it can be reached.
  test('A82 there is no unbounded mode: an endless number of retries is refused', () => {
    expect(() => llmRetry({ retries: Infinity })).toThrow('there is no unbounded mode');
    expect(() => llmRetry({ perModel: { m: { retries: Infinity } } })).toThrow('there is no unbounded mode');
  });
});

const good: RetryRecord = {
  turn: 1,
  step: 1,
  model: 'test/one',
  retry: 1,
  max: 5,
  delayMs: 500,
  class: 'transient',
  rule: 'kernel/1:overloaded',
  failure: overloaded,
};
const place = { turn: 1, step: 1, plugin: 'llm-retry', kind: 'retry.scheduled' } as const;

function failed(): FailingSession {
  const session = createFailingSession([]);
  session.open();
  session.emit('step.opened', { turn: 1, step: 1, model: 'test/one', messages: 1, generation: 0 });
  session.emit('step.closed', { turn: 1, step: 1, outcome: 'failed', failure: overloaded });
  return session;
}
const load = (events: readonly SessionEvent[]): FailingSession => createFailingSession([llmRetry()], { events });
const add = (session: FailingSession, record: object, kind = 'retry.scheduled'): void =>
  void session.emit('plugin.recorded', { ...place, kind, data: record as never });

describe('a log', () => {
  test('with a record where it belongs is taken', () => {
    const session = failed();
    add(session, good);
    expect(() => load(session.events)).not.toThrow();
  });

  test.each<[string, (session: FailingSession) => void]>([
    [
      'is outside an open turn',
      (session) => {
        session.emit('turn.closed', { turn: 1, chain: 1, end: { reason: 'interrupted' } });
        add(session, good);
      },
    ],
    ['names another step', (session) => add(session, { ...good, step: 2 })],
    ['names another step', (session) => add(session, { ...good, turn: 2 })],
    [
      'names a step that is open',
      (session) => {
        session.emit('step.opened', { turn: 1, step: 2, model: 'test/one', messages: 1, generation: 0 });
        add(session, { ...good, step: 2 });
      },
    ],
    [
      'names a step that did not fail',
      (session) => {
        session.commitAnswer();
        session.open();
        session.commitAnswer();
        add(session, { ...good, turn: 2 });
      },
    ],
    [
      'is the second for its step',
      (session) => {
        add(session, good);
        add(session, { ...good, retry: 2 });
      },
    ],
    ['is out of sequence', (session) => add(session, { ...good, retry: 2 })],
    ['is out of sequence', (session) => add(session, { ...good, retry: 2, max: 1 })],
    [
      'is out of sequence: number 2 of 1',
      (session) => {
        add(session, { ...good, max: 1 });
        session.open('retry');
        session.emit('step.opened', { turn: 2, step: 1, model: 'test/one', messages: 1, generation: 0 });
        session.emit('step.closed', { turn: 2, step: 1, outcome: 'failed', failure: overloaded });
        add(session, { ...good, turn: 2, retry: 2, max: 1 });
      },
    ],
    ['is out of sequence', (session) => add(session, { ...good, class: 'incomplete', retry: 2 })],
    ['has no retry', (session) => add(session, { ...good, retry: 0 })],
    ['has no delayMs', (session) => add(session, { ...good, delayMs: -1 })],
    ['has no delayMs', (session) => add(session, { ...good, delayMs: null })],
    ['is of no known class', (session) => add(session, { ...good, class: 'flaky' })],
    ['has no failure', (session) => add(session, { ...good, failure: 'x' })],
    ['names no model', (session) => add(session, { ...good, model: 1 })],
    ['is no record', (session) => add(session, good, 'retry.done')],
    ['is no record', (session) => add(session, null as never)],
  ])('A78 is refused, with the place, when a record %s', (what, write) => {
    const session = failed();
    write(session);
    expect(() => load(session.events)).toThrow(
      expect.objectContaining({
        code: 'journal/bad-event',
        place: `session:s@${session.events.length}`,
        message: expect.stringContaining(what) as string,
      }),
    );
  });
});
