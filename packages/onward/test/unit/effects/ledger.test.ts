import { describe, expect, test } from 'vitest';
import { EffectRejected } from '../../../src/effects/index.ts';
import type { EffectOutcome } from '../../../src/effects/effect.ts';
import { answerQuestion, listQuestions } from '../../../src/effects/index.ts';
import { OnwardError } from '../../../src/kernel/error.ts';
import { effectEventTable } from '../../../src/effects/effect-events.ts';
import { asKind, effectRig, holderOf, leased, never, publish, testService, withAppend } from './support/effect-rig.ts';

const alone = { owner: '' };
const lost = (): never => {
  throw new Error('ECONNRESET');
};

describe('an effect that goes well', () => {
  test('O57 O60 is called after its intent is stored, and its receipt is stored before the outcome is told', async () => {
    const rig = effectRig();
    const seen: (readonly string[])[] = [];
    const { calls, accepted } = testService({
      before: async () => void seen.push(await rig.types()),
    });
    const outcome = await rig.ledger('a').run(publish, calls, alone, never);
    expect(outcome).toMatchObject({ kind: 'accepted', receipt: 'receipt-1', repeated: false });
    expect(seen).toEqual([['effect.intended']]);
    expect(await rig.types()).toEqual(['effect.intended', 'effect.accepted']);
    expect(accepted).toHaveLength(1);
    expect(rig.clock.pending()).toEqual([]);
  });

  test('R89 R98 the same effect again, from another process and another attempt, returns the first receipt and calls nothing', async () => {
    const rig = effectRig();
    const { calls, accepted } = testService();
    const first = await rig.ledger('a').run(publish, calls, alone, never);
    const second = await rig.ledger('b').run({ ...publish }, calls, { owner: 'session:other' }, never);
    expect(second).toEqual({ ...first, repeated: true });
    expect(accepted).toHaveLength(1);
  });

  test('a wanted second call is possible by its occurrence', async () => {
    const rig = effectRig();
    const { calls, accepted } = testService();
    const ledger = rig.ledger('a');
    await ledger.run(publish, calls, alone, never);
    const second = await ledger.run({ ...publish, occurrence: 1 }, calls, alone, never);
    expect(second).toMatchObject({ kind: 'accepted', receipt: 'receipt-2', repeated: false });
    expect(new Set(accepted).size).toBe(2);
  });

  test('a large receipt is kept as a blob, and returned whole', async () => {
    const rig = effectRig();
    const large = 'x'.repeat(400_000);
    const { calls } = testService({ more: { call: async () => large } });
    const ledger = rig.ledger('a');
    expect(await ledger.run(publish, calls, alone, never)).toMatchObject({ receipt: large });
    expect(await ledger.run(publish, calls, alone, never)).toMatchObject({ receipt: large, repeated: true });
  });

  test('a receipt that JSON cannot say is noted as accepted, and never called for again', async () => {
    const rig = effectRig();
    let count = 0;
    const calls = { call: async () => ((count += 1), { when: new Date(0) } as never) };
    const ledger = rig.ledger('a');
    expect(await ledger.run(publish, calls, alone, never)).toMatchObject({ kind: 'accepted', receipt: null });
    expect(await ledger.run(publish, calls, alone, never)).toMatchObject({ kind: 'accepted', repeated: true });
    expect((await rig.events()).at(-1)?.data).toMatchObject({ receipt: { unreadable: true, place: '$.when' } });
    expect(count).toBe(1);
  });

  test('O67 a compensation is an effect of its own key, linked to the one it undoes', async () => {
    const rig = effectRig();
    const { calls, accepted } = testService();
    const ledger = rig.ledger('a');
    const done = await ledger.run(publish, calls, alone, never);
    const undo = { ...publish, action: 'release.withdraw', compensates: done.key };
    const undone = await ledger.run(undo, calls, alone, never);
    expect(undone.key).not.toBe(done.key);
    expect(accepted).toEqual([done.key, undone.key]);
    expect((await rig.events(undo))[0]?.data).toMatchObject({ compensates: done.key });
    // And it happens once, as every effect.
    expect(await ledger.run(undo, calls, alone, never)).toMatchObject({ repeated: true });
  });
});

describe('an effect whose journal fails', () => {
  test('O57 is not called when its intent cannot be stored', async () => {
    const rig = effectRig();
    const { calls, accepted } = testService();
    rig.breakAppends(() => 'before');
    await expect(rig.ledger('a').run(publish, calls, alone, never)).rejects.toThrow('the disk is full');
    expect(accepted).toEqual([]);
  });

  test('R100 has its receipt written again, and is not called again, while the store fails', async () => {
    const rig = effectRig();
    const { calls, accepted } = testService();
    rig.breakAppends((_batch, nth) => (nth > 1 && nth < 5 ? 'before' : undefined));
    const running = rig.ledger('a').run(publish, calls, alone, never);
    await rig.clock.advance(5_000);
    expect(await running).toMatchObject({ kind: 'accepted', receipt: 'receipt-1', repeated: false });
    expect(accepted).toHaveLength(1);
  });

  test('a receipt that was stored, though the store said otherwise, is there once', async () => {
    const rig = effectRig();
    const { calls } = testService();
    rig.breakAppends((_batch, nth) => (nth === 2 ? 'after' : undefined));
    const running = rig.ledger('a').run(publish, calls, alone, never);
    await rig.clock.advance(5_000);
    expect(await running).toMatchObject({ kind: 'accepted', receipt: 'receipt-1' });
    expect(await rig.types()).toEqual(['effect.intended', 'effect.accepted']);
  });

  test('R100 keeps a receipt that the store goes on refusing, and stores it with the next run instead of calling', async () => {
    const rig = effectRig();
    const { calls, accepted } = testService();
    const ledger = rig.ledger('a');
    rig.breakAppends((_batch, nth) => (nth > 1 ? 'before' : undefined));
    const error = ledger.run(publish, calls, alone, never).catch((thrown: unknown) => thrown);
    await rig.clock.advance(60_000);
    expect(await error).toMatchObject({ code: 'effects/end-not-stored' });
    rig.breakAppends(undefined);
    expect(await ledger.run(publish, calls, alone, never)).toMatchObject({ kind: 'accepted', receipt: 'receipt-1' });
    expect(accepted).toHaveLength(1);
  });
});

describe('an effect whose outcome is unknown', () => {
  test('R89 is looked up when the answer was dropped, and adopts the receipt without a second call', async () => {
    const rig = effectRig();
    const { calls, accepted, lookups } = testService({ afterwards: lost, lookup: 'true' });
    const outcome = await rig.ledger('a').run(publish, calls, alone, never);
    expect(outcome).toMatchObject({ kind: 'accepted', receipt: 'receipt-1' });
    expect([accepted.length, lookups.length]).toEqual([1, 1]);
    expect(await rig.types()).toEqual(['effect.intended', 'effect.unknown', 'effect.accepted']);
  });

  test('R87 O59 is never repeated by itself when the service neither answers questions nor dedupes: a person is asked', async () => {
    const rig = effectRig();
    const { calls, accepted } = testService({ afterwards: lost });
    const outcomes: EffectOutcome[] = [];
    for (const process of ['a', 'b', 'c']) outcomes.push(await rig.ledger(process).run(publish, calls, alone, never));
    expect(outcomes.map(({ kind }) => kind)).toEqual(['waiting', 'waiting', 'waiting']);
    expect(new Set(outcomes.map((outcome) => asKind(outcome, 'waiting').question.id)).size).toBe(1);
    expect(accepted).toHaveLength(1);
    expect(asKind(outcomes[0] as EffectOutcome, 'waiting').question).toMatchObject({
      subject: 'effect',
      choices: ['happened', 'did-not-happen', 'give-up'],
      details: { action: 'release.publish', key: outcomes[0]?.key, payload: publish.identity },
    });
  });

  test('O58 is looked up before anything else by whoever comes after a crash', async () => {
    const rig = effectRig();
    const { calls, accepted, lookups } = testService({ afterwards: () => new Promise(() => {}), lookup: 'true' });
    void rig.ledger('a').run(publish, calls, alone, never);
    await rig.clock.advance(0);
    expect(await rig.ledger('b').run(publish, calls, alone, never)).toMatchObject({ kind: 'in-flight' });
    rig.kill('a');
    const outcome = await rig.ledger('b').run(publish, calls, alone, never);
    expect(outcome).toMatchObject({ kind: 'accepted', receipt: 'receipt-1', repeated: true });
    expect([accepted.length, lookups.length]).toEqual([1, 1]);
  });

  test('a process that is not known to be gone is waited for until its lease has run out', async () => {
    const rig = effectRig();
    const { calls } = testService({ afterwards: () => new Promise(() => {}), lookup: 'true' });
    const stopped = rig.ledger('a');
    void stopped.run(publish, calls, alone, never);
    await rig.clock.advance(20_000);
    expect(await rig.ledger('b').run(publish, calls, alone, never)).toMatchObject({ kind: 'in-flight' });
    // As if stopped: time passes and nothing is renewed.
    rig.clock.jump(15_000);
    expect(await rig.ledger('b').run(publish, calls, alone, never)).toMatchObject({ kind: 'accepted' });
  });

  test('is called again when the service dedupes on the key, and gets the first receipt', async () => {
    const rig = effectRig();
    const { calls, accepted } = testService({
      afterwards: (_signal, nth) => (nth === 1 ? lost() : undefined),
      dedupes: true,
      more: { keyLifetimeMs: 60_000 },
    });
    const outcome = await rig.ledger('a').run(publish, calls, alone, never);
    expect(outcome).toMatchObject({ kind: 'accepted', receipt: 'receipt-1', repeated: false });
    expect(accepted).toHaveLength(1);
  });

  test('is not called again near the end of the life of its key', async () => {
    const rig = effectRig();
    const { calls, accepted } = testService({ afterwards: lost, more: { keyLifetimeMs: 60_000 } });
    void rig.ledger('a').run(publish, testService({ afterwards: () => new Promise(() => {}) }).calls, alone, never);
    await rig.clock.advance(0);
    rig.kill('a');
    rig.clock.jump(54_000);
    expect(await rig.ledger('b').run(publish, calls, alone, never)).toMatchObject({ kind: 'waiting' });
    expect(accepted).toHaveLength(0);
  });

  test('the life of its key begins with the first call, not with the latest', async () => {
    const rig = effectRig();
    const { calls } = testService({ afterwards: () => new Promise(() => {}), more: { keyLifetimeMs: 60_000 } });
    for (const [process, ms] of [
      ['a', 30_000],
      ['b', 30_000],
    ] as const) {
      void rig.ledger(process).run(publish, calls, alone, never);
      await rig.clock.advance(0);
      rig.kill(process);
      rig.clock.jump(ms);
    }
    expect(await rig.types()).toEqual(['effect.intended', 'effect.unknown', 'effect.intended']);
    expect(await rig.ledger('c').run(publish, calls, alone, never)).toMatchObject({ kind: 'waiting' });
  });

  test('absent is believed, and the call made again, only after the time to settle', async () => {
    const rig = effectRig();
    const { calls, accepted, lookups } = testService({
      before: (_signal, nth) => (nth === 1 ? lost() : undefined),
      lookup: 'true',
      more: { settleMs: 5_000 },
    });
    const running = rig.ledger('a').run(publish, calls, alone, never);
    await rig.clock.advance(4_999);
    expect([accepted.length, lookups.length]).toEqual([0, 1]);
    await rig.clock.advance(1);
    expect(await running).toMatchObject({ kind: 'accepted', receipt: 'receipt-1' });
    expect(lookups).toHaveLength(2);
  });

  test('absent without a time to settle proves nothing: a person is asked', async () => {
    const rig = effectRig();
    const { calls, accepted, lookups } = testService({ afterwards: lost, lookup: 'absent' });
    expect(await rig.ledger('a').run(publish, calls, alone, never)).toMatchObject({ kind: 'waiting' });
    expect([accepted.length, lookups.length]).toEqual([1, 1]);
  });

  test('a long time to settle is not slept through; who comes back later finds out, and the question is taken back', async () => {
    const rig = effectRig();
    const { calls, accepted } = testService({
      before: (_signal, nth) => (nth === 1 ? lost() : undefined),
      lookup: 'true',
      more: { settleMs: 3_600_000 },
    });
    const ledger = rig.ledger('a');
    const asked = asKind(await ledger.run(publish, calls, alone, never), 'waiting');
    rig.clock.jump(3_600_000);
    expect(await ledger.run(publish, calls, alone, never)).toMatchObject({ kind: 'accepted' });
    expect(accepted).toHaveLength(1);
    expect(await listQuestions(rig.journal)).toMatchObject([{ state: 'expired', question: { id: asked.question.id } }]);
  });

  test('a lookup that hangs ends after half a minute and leaves it unknown', async () => {
    const rig = effectRig();
    const { calls } = testService({ afterwards: lost, more: { lookup: () => new Promise(() => {}) } });
    const running = rig.ledger('a').run(publish, calls, alone, never);
    await rig.clock.advance(30_000);
    expect(await running).toMatchObject({ kind: 'waiting' });
    expect(rig.clock.pending()).toEqual([]);
  });

  test.each([null, 'accepted', { kind: 'maybe' }, undefined])('a lookup that returns %j says nothing', async (said) => {
    const rig = effectRig();
    const { calls } = testService({ afterwards: lost, more: { lookup: async () => said as never, settleMs: 0 } });
    expect(await rig.ledger('a').run(publish, calls, alone, never)).toMatchObject({ kind: 'waiting' });
  });
});

describe('an effect that is certainly not done', () => {
  test('is rejected with the facts, and may be called again later', async () => {
    const rig = effectRig();
    const { calls, accepted } = testService({
      before: (_signal, nth) => {
        if (nth === 1) throw new EffectRejected({ message: 'no such branch', status: 422 });
      },
    });
    const ledger = rig.ledger('a');
    const outcome = await ledger.run(publish, calls, alone, never);
    expect(outcome).toMatchObject({ kind: 'rejected', failure: { message: 'no such branch', status: 422 } });
    expect(await ledger.run(publish, calls, alone, never)).toMatchObject({ kind: 'accepted', repeated: false });
    expect(accepted).toHaveLength(1);
  });

  test('no other error means that nothing happened, be it one of ours', async () => {
    const rig = effectRig();
    const { calls } = testService({
      afterwards: () => {
        throw Object.assign(new OnwardError('some/code', 'It broke.'), { failure: { message: 'no' } });
      },
    });
    expect(await rig.ledger('a').run(publish, calls, alone, never)).toMatchObject({ kind: 'waiting' });
  });

  test('what is thrown is stored in bounds and without secrets, whatever the object does', async () => {
    const rig = effectRig();
    const hostile = new Proxy(
      {},
      {
        get: (_target, field) => {
          if (field === 'message') return `Bearer sk-ant-api03-${'a'.repeat(90)} ${'x'.repeat(5_000)}`;
          throw new Error('hands off');
        },
        has: () => {
          throw new Error('hands off');
        },
      },
    );
    const { calls } = testService({
      before: () => {
        throw hostile;
      },
    });
    expect(await rig.ledger('a').run(publish, calls, alone, never)).toMatchObject({ kind: 'waiting' });
    const text = JSON.stringify(await rig.events());
    expect(text).not.toContain('aaaaaaaa');
    expect(text.length).toBeLessThan(4_000);
  });
});

describe('one key, one resource', () => {
  test('O62 the same key with another payload is refused, and the service hears nothing', async () => {
    const rig = effectRig();
    const { calls, accepted } = testService();
    const ledger = rig.ledger('a');
    await ledger.run(publish, { ...calls, payload: { notes: 'first' } }, alone, never);
    const other = await ledger.run(publish, { ...calls, payload: { notes: 'second' } }, alone, never);
    expect(other).toMatchObject({ kind: 'refused', because: 'other-payload' });
    expect(accepted).toHaveLength(1);
  });

  test('O63 two at once in one process: one call, and the other gets its receipt', async () => {
    const rig = effectRig();
    const { promise, resolve } = Promise.withResolvers<void>();
    const { calls, accepted } = testService({ afterwards: () => promise });
    const ledger = rig.ledger('a');
    const both = [ledger.run(publish, calls, alone, never), ledger.run(publish, calls, alone, never)];
    await rig.clock.advance(0);
    expect(accepted).toHaveLength(1);
    resolve();
    expect(await Promise.all(both)).toMatchObject([
      { kind: 'accepted', receipt: 'receipt-1', repeated: false },
      { kind: 'accepted', receipt: 'receipt-1', repeated: true },
    ]);
    expect(accepted).toHaveLength(1);
  });

  test('O63 two at once in two processes: one call, the other is told that it is in flight', async () => {
    const rig = effectRig();
    const { promise, resolve } = Promise.withResolvers<void>();
    const { calls, accepted } = testService({ afterwards: () => promise });
    const first = rig.ledger('a').run(publish, calls, alone, never);
    const others = await Promise.all(['b', 'c'].map((name) => rig.ledger(name).run(publish, calls, alone, never)));
    expect(others.map(({ kind }) => kind)).toEqual(['in-flight', 'in-flight']);
    resolve();
    expect(await first).toMatchObject({ kind: 'accepted' });
    expect(accepted).toHaveLength(1);
  });

  test('O63 one who waits for the other in its process stops waiting when it is aborted', async () => {
    const rig = effectRig();
    const { calls, accepted } = testService({ afterwards: () => new Promise(() => {}) });
    const ledger = rig.ledger('a');
    void ledger.run(publish, calls, alone, never);
    const stop = new AbortController();
    const second = ledger.run(publish, calls, alone, stop.signal);
    await rig.clock.advance(0);
    stop.abort();
    expect(await second).toMatchObject({ kind: 'refused', because: 'aborted' });
    expect(accepted).toHaveLength(1);
  });

  test('O63 a live process that has the key without an intent yet is one in flight', async () => {
    const rig = effectRig();
    const { calls, accepted } = testService();
    const ledger = rig.ledger('b');
    await rig.journal.claim(`effect-run:${ledger.keyOf(publish)}`, holderOf('a'), 15_000);
    expect(await ledger.run(publish, calls, alone, never)).toMatchObject({ kind: 'in-flight' });
    expect(accepted).toEqual([]);
  });

  test('another key on the same resource is refused while the first is open, and not afterwards', async () => {
    const rig = effectRig();
    const ledger = rig.ledger('a');
    const one = { ...publish, task: 'one', resource: 'registry' };
    const two = { ...publish, task: 'two', resource: 'registry' };
    const unsure = testService({ afterwards: lost });
    const sure = testService();
    const { key, question } = asKind(await ledger.run(one, unsure.calls, alone, never), 'waiting');
    const refused = asKind(await ledger.run(two, sure.calls, alone, never), 'refused');
    expect([refused.because, refused.message]).toEqual(['claimed', expect.stringContaining(key)]);
    // Another scope or another resource is not concerned.
    for (const free of [
      { ...two, scope: 'session:t' },
      { ...two, resource: 'elsewhere' },
    ])
      expect(await ledger.run(free, sure.calls, alone, never)).toMatchObject({ kind: 'accepted' });
    await answerQuestion(rig.journal, question.id, { choice: 'happened', by: 'me' }, rig.clock);
    await ledger.run(one, unsure.calls, alone, never);
    expect(await ledger.run(two, sure.calls, alone, never)).toMatchObject({ kind: 'accepted' });
  });

  test.each([
    ['an empty action', { ...publish, action: '' }, {}],
    ['an identity that is no JSON', { ...publish, identity: { at: new Date(0) } as never }, {}],
    ['a negative occurrence', { ...publish, occurrence: -1 }, {}],
    ['a fractional occurrence', { ...publish, occurrence: 0.5 }, {}],
    ['a payload that is no JSON', publish, { payload: Number.NaN }],
    ['a time to settle that is none', publish, { settleMs: Number.NaN }],
    ['a negative life of the key', publish, { keyLifetimeMs: -1 }],
  ])('%s is refused as bad input before anything is written', async (_what, name, more) => {
    const rig = effectRig();
    const { calls, accepted } = testService({ more });
    const outcome = await rig.ledger('a').run(name, calls, alone, never);
    expect(outcome).toMatchObject({ kind: 'refused', because: 'bad-input' });
    expect(accepted).toEqual([]);
    expect(await rig.journal.streams('')).toEqual([]);
  });
});

describe('an aborted effect', () => {
  test('is refused when it was aborted before the call', async () => {
    const rig = effectRig();
    const { calls, accepted } = testService();
    const outcome = await rig.ledger('a').run(publish, calls, alone, AbortSignal.abort());
    expect(outcome).toMatchObject({ kind: 'refused', because: 'aborted' });
    expect(accepted).toEqual([]);
    expect(await rig.types()).toEqual([]);
  });

  test('is refused, and free again, when it was aborted between intent and call', async () => {
    const rig = effectRig();
    const { calls, accepted } = testService();
    const stop = new AbortController();
    rig.breakAppends(() => {
      stop.abort();
      return undefined;
    });
    expect(await rig.ledger('a').run(publish, calls, alone, stop.signal)).toMatchObject({ because: 'aborted' });
    expect(accepted).toEqual([]);
    rig.breakAppends(undefined);
    expect(await rig.ledger('a').run(publish, calls, alone, never)).toMatchObject({ kind: 'accepted' });
  });

  test('R93 a deadline during the call leaves the outcome unknown: it is looked up, and not called again', async () => {
    const rig = effectRig();
    const { calls, accepted, lookups } = testService({
      afterwards: (signal) => rig.clock.sleep(600_000, signal).then(lost),
      lookup: 'true',
    });
    const deadline = new AbortController();
    void rig.clock.sleep(60_000).then(() => deadline.abort());
    const running = rig.ledger('a').run(publish, calls, alone, deadline.signal);
    await rig.clock.advance(60_000);
    expect(await running).toMatchObject({ kind: 'accepted', receipt: 'receipt-1' });
    expect([accepted.length, lookups.length]).toEqual([1, 1]);
    expect(await rig.types()).toContain('effect.unknown');
  });

  test('R93 without a lookup it is a question, and no failure', async () => {
    const rig = effectRig();
    const stop = new AbortController();
    const { calls, accepted } = testService({
      afterwards: (signal) => {
        stop.abort();
        if (signal.aborted) lost();
      },
    });
    expect(await rig.ledger('a').run(publish, calls, alone, stop.signal)).toMatchObject({ kind: 'waiting' });
    expect(accepted).toHaveLength(1);
  });

  test('a call that ignores the signal is not waited for, and what it comes to is still recorded', async () => {
    const rig = effectRig();
    const stop = new AbortController();
    const { promise, resolve } = Promise.withResolvers<void>();
    const { calls, accepted } = testService({ afterwards: () => promise, lookup: 'absent', more: { settleMs: 0 } });
    const ledger = rig.ledger('a');
    const running = ledger.run(publish, calls, alone, stop.signal);
    await rig.clock.advance(0);
    stop.abort();
    // The service has nothing, which is not believed of a call that goes on.
    const asked = asKind(await running, 'waiting');
    expect(await ledger.run(publish, calls, alone, never)).toMatchObject({ kind: 'waiting' });
    await answerQuestion(rig.journal, asked.question.id, { choice: 'did-not-happen', by: 'me' }, rig.clock);
    expect(await ledger.run(publish, calls, alone, never)).toMatchObject({ kind: 'in-flight' });
    resolve();
    await rig.clock.advance(0);
    expect(await ledger.run(publish, calls, alone, never)).toMatchObject({ kind: 'accepted', receipt: 'receipt-1' });
    expect(accepted).toHaveLength(1);
  });

  test('a service that has nothing, late enough, leaves an aborted effect undone and free', async () => {
    const rig = effectRig();
    const stop = new AbortController();
    const { calls, accepted } = testService({
      before: () => {
        if (stop.signal.aborted) return;
        stop.abort();
        lost();
      },
      lookup: 'true',
      more: { settleMs: 0 },
    });
    const ledger = rig.ledger('a');
    expect(await ledger.run(publish, calls, alone, stop.signal)).toMatchObject({ because: 'aborted' });
    expect(accepted).toEqual([]);
    expect(await ledger.run(publish, calls, alone, never)).toMatchObject({ kind: 'accepted' });
  });
});

describe('an aborted effect that others look at', () => {
  test('a call that goes on in its process is not repeated by another, whatever the service has', async () => {
    const rig = effectRig();
    const stop = new AbortController();
    const { promise, resolve } = Promise.withResolvers<void>();
    const { calls, accepted } = testService({ before: () => promise, lookup: 'true', more: { settleMs: 0 } });
    const running = rig.ledger('a').run(publish, calls, alone, stop.signal);
    await rig.clock.advance(0);
    stop.abort();
    expect(await running).toMatchObject({ kind: 'waiting' });
    expect(await rig.ledger('b').run(publish, calls, alone, never)).toMatchObject({ kind: 'in-flight' });
    resolve();
    await rig.clock.advance(0);
    expect(await rig.ledger('b').run(publish, calls, alone, never)).toMatchObject({ receipt: 'receipt-1' });
    expect(accepted).toHaveLength(1);
    expect(rig.clock.pending()).toEqual([]);
  });

  test('one that is found not to have happened leaves no question behind', async () => {
    const rig = effectRig();
    const { calls, accepted } = testService({ before: lost, lookup: 'true', more: { settleMs: 3_600_000 } });
    const ledger = rig.ledger('a');
    expect(await ledger.run(publish, calls, alone, never)).toMatchObject({ kind: 'waiting' });
    rig.clock.jump(3_600_000);
    const stop = new AbortController();
    rig.breakAppends(() => {
      stop.abort();
      return undefined;
    });
    expect(await ledger.run(publish, calls, alone, stop.signal)).toMatchObject({ because: 'aborted' });
    expect(await listQuestions(rig.journal)).toMatchObject([{ state: 'expired' }]);
    expect(accepted).toEqual([]);
  });
});

describe('a fence', () => {
  test('O64 a stale one opens no intent: the service hears nothing', async () => {
    const rig = effectRig();
    const { calls, accepted } = testService();
    const old = await leased(rig, 'session:s', 'a');
    await leased(rig, 'session:s', 'b');
    const outcome = await rig.ledger('a').run(publish, calls, old, never);
    expect(outcome).toMatchObject({ kind: 'refused', because: 'stale-fence' });
    expect(accepted).toEqual([]);
    expect(await rig.types()).toEqual([]);
  });

  test('O64 a stale one records no receipt: it is kept as evidence, which the one who took over adopts', async () => {
    const rig = effectRig();
    const { promise, resolve } = Promise.withResolvers<void>();
    const { calls, accepted } = testService({ afterwards: () => promise });
    const old = await leased(rig, 'session:s', 'a');
    const zombie = rig.ledger('a').run(publish, calls, old, never);
    await rig.clock.advance(0);
    const young = await leased(rig, 'session:s', 'b');
    const ledger = rig.ledger('b');
    const asked = asKind(await ledger.run(publish, calls, young, never), 'waiting');
    resolve();
    expect(await zombie).toMatchObject({ kind: 'refused', because: 'stale-fence' });
    expect(await rig.types()).toEqual(['effect.intended', 'effect.unknown', 'effect.waiting', 'effect.receipt-late']);
    expect(await ledger.run(publish, calls, young, never)).toMatchObject({ kind: 'accepted', receipt: 'receipt-1' });
    expect(await listQuestions(rig.journal)).toMatchObject([{ state: 'expired', question: { id: asked.question.id } }]);
    expect(accepted).toHaveLength(1);
  });

  test('O64 evidence is there once, though the store said that it could not be stored', async () => {
    const rig = effectRig();
    const { promise, resolve } = Promise.withResolvers<void>();
    const { calls } = testService({ afterwards: () => promise });
    const zombie = rig.ledger('a').run(publish, calls, await leased(rig, 'session:s', 'a'), never);
    await rig.clock.advance(0);
    await leased(rig, 'session:s', 'b');
    let broken = 0;
    rig.breakAppends(([first]) => {
      const isEvidence = first?.events[0]?.type === 'effect.receipt-late';
      return isEvidence && (broken += 1) === 1 ? 'after' : undefined;
    });
    resolve();
    await rig.clock.advance(5_000);
    expect(await zombie).toMatchObject({ because: 'stale-fence' });
    expect([broken, await rig.types()]).toEqual([1, ['effect.intended', 'effect.receipt-late']]);
  });

  test.each(['session:s', ''])(
    'O64 one who is stopped between intent and call, and wakes after another took over, does not call (owner %j)',
    async (owner) => {
      const rig = effectRig();
      const { calls, accepted } = testService({ lookup: 'true', more: { settleMs: 0 } });
      const held = owner === '' ? alone : await leased(rig, owner, 'a');
      const stopped = Promise.withResolvers<void>();
      const journal = withAppend(rig.journal, async (batch) => {
        const appended = await rig.journal.append(batch);
        await stopped.promise;
        return appended;
      });
      const zombie = rig.ledger('a', { journal }).run(publish, calls, held, never);
      await rig.clock.advance(0);
      rig.kill('a');
      const young = owner === '' ? alone : await leased(rig, owner, 'b');
      expect(await rig.ledger('b').run(publish, calls, young, never)).toMatchObject({ kind: 'accepted' });
      stopped.resolve();
      // It is told what the other has brought about.
      expect(await zombie).toMatchObject({ kind: 'accepted', receipt: 'receipt-1', repeated: true });
      expect(accepted).toHaveLength(1);
    },
  );

  test('O64 one who is stopped between intent and call does not call either when only its session was taken over', async () => {
    const rig = effectRig();
    const { calls, accepted } = testService();
    const old = await leased(rig, 'session:s', 'a');
    const journal = withAppend(rig.journal, async (batch) => {
      const appended = await rig.journal.append(batch);
      await leased(rig, 'session:s', 'b');
      return appended;
    });
    const zombie = rig.ledger('a', { journal }).run(publish, calls, old, never);
    expect(await zombie).toMatchObject({ kind: 'refused', because: 'stale-fence' });
    expect(accepted).toEqual([]);
  });

  test('one whose lease ran out, though nobody took its session, does not call what another has done since', async () => {
    const rig = effectRig();
    const { calls, accepted } = testService({ lookup: 'true', more: { settleMs: 0 } });
    const old = await leased(rig, 'session:s', 'a');
    const journal = withAppend(rig.journal, async (batch) => {
      const appended = await rig.journal.append(batch);
      rig.clock.jump(15_000);
      await rig.ledger('b').run(publish, calls, await leased(rig, 'session:t', 'b'), never);
      return appended;
    });
    const outcome = await rig.ledger('a', { journal }).run(publish, calls, old, never);
    expect(outcome).toMatchObject({ kind: 'accepted', receipt: 'receipt-1', repeated: true });
    expect(accepted).toHaveLength(1);
  });

  test.each(['happened', 'give-up'])(
    'a receipt under a valid fence, after a person said %s, changes nothing',
    async (choice) => {
      const rig = effectRig();
      const { promise, resolve } = Promise.withResolvers<void>();
      const { calls } = testService({ afterwards: () => promise });
      const first = rig.ledger('a').run(publish, calls, await leased(rig, 'session:s', 'a'), never);
      await rig.clock.advance(0);
      rig.clock.jump(15_000);
      const other = await leased(rig, 'session:t', 'b');
      const ledger = rig.ledger('b');
      const { question } = asKind(await ledger.run(publish, calls, other, never), 'waiting');
      await answerQuestion(rig.journal, question.id, { choice, by: 'me', value: 'mine' }, rig.clock);
      const said = await ledger.run(publish, calls, other, never);
      resolve();
      const outcome = await first;
      expect(outcome.kind).toBe(choice === 'happened' ? 'accepted' : 'refused');
      expect(await ledger.run(publish, calls, other, never)).toEqual(said);
      expect((await rig.types()).at(-1)).toBe('effect.receipt-late');
    },
  );

  test('a receipt under a valid fence answers the question that was asked meanwhile', async () => {
    const rig = effectRig();
    const stop = new AbortController();
    const { promise, resolve } = Promise.withResolvers<void>();
    const { calls } = testService({ afterwards: () => promise });
    const running = rig.ledger('a').run(publish, calls, await leased(rig, 'session:s', 'a'), stop.signal);
    await rig.clock.advance(0);
    stop.abort();
    expect(await running).toMatchObject({ kind: 'waiting' });
    resolve();
    await rig.clock.advance(0);
    expect((await rig.types()).at(-1)).toBe('effect.accepted');
    expect(await listQuestions(rig.journal)).toMatchObject([{ state: 'expired', because: 'its receipt came' }]);
  });

  test('an intent of a session that was opened anew is one of a crash', async () => {
    const rig = effectRig();
    const { calls, accepted } = testService({ afterwards: () => new Promise(() => {}), lookup: 'true' });
    void rig.ledger('a').run(publish, calls, await leased(rig, 'session:s', 'a'), never);
    await rig.clock.advance(0);
    const again = await leased(rig, 'session:s', 'a');
    expect(await rig.ledger('a2').run(publish, calls, again, never)).toMatchObject({ kind: 'accepted' });
    expect(accepted).toHaveLength(1);
  });
});

test('the table of events knows every type', () => {
  expect(Object.keys(effectEventTable)).toHaveLength(8);
});
