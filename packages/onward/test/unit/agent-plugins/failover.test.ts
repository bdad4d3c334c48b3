import { describe, expect, test } from 'vitest';
import type { Model, Plugin, RequestDraft } from '../../../src/agent/plugin.ts';
import { failover, type FailoverOptions } from '../../../src/agent/plugins/failover/index.ts';
import { llmRetry } from '../../../src/agent/plugins/llm-retry/index.ts';
import { createScriptedModel } from '../../../src/testing/index.ts';
import { createFailingSession, type FailingSession, overloaded } from './failing-session.ts';

const first = createScriptedModel([], { id: 'a/first' });
const second = createScriptedModel([], { id: 'b/second' });
const third = createScriptedModel([], { id: 'c/third' });
const noCredit = { message: 'no credit', type: 'billing_error', status: 402 };
const failing = { model: 'a/first', failure: noCredit } as const;

function start(options: Partial<FailoverOptions> = {}, others: readonly Plugin[] = []): FailingSession {
  const session = createFailingSession([failover({ to: second, ...options }), ...others], { model: first });
  session.open();
  return session;
}

async function modelOfNext(session: FailingSession, wanted: Model = first): Promise<string> {
  const draft: RequestDraft = { model: wanted, system: '', tools: [], settings: {} };
  const payload = { turn: 1, step: 1, chain: 1, signal: new AbortController().signal, draft };
  return (await session.run('agent/request', payload, () => draft)).model.id;
}

describe('failing over to a second model', () => {
  test('is on record before it counts, and holds from then on', async () => {
    const session = start();
    expect(await modelOfNext(session)).toBe('a/first');
    expect(await session.fail(failing)).toEqual({ kind: 'retry' });
    expect(session.records('failover')).toEqual([
      {
        turn: 1,
        step: 1,
        from: 'a/first',
        to: 'b/second',
        class: 'billing',
        rule: 'kernel/1:billing-type',
        because: 'billing (type=billing_error): no credit',
      },
    ]);
    expect(await modelOfNext(session)).toBe('b/second');
  });

  test('does not move a request that was meant for a third model', async () => {
    const session = start();
    await session.fail(failing);
    expect(await modelOfNext(session, third)).toBe('c/third');
  });

  test('happens once in a session, and not from the second model on', async () => {
    const session = start();
    expect(await session.fail({ ...failing, model: 'b/second' })).toBeUndefined();
    expect(await session.fail(failing)).toEqual({ kind: 'retry' });
    session.open();
    expect(await session.fail(failing)).toBeUndefined();
    expect(session.records('failover')).toHaveLength(1);
  });

  test('survives a restart', async () => {
    const session = start();
    await session.fail(failing);
    const again = createFailingSession([failover({ to: second })], { model: first, events: session.events });
    expect(await modelOfNext(again)).toBe('b/second');
  });

  test('leaves a failure alone that somebody behind it repairs', async () => {
    const session = start();
    expect(await session.fail({ ...failing, next: () => ({ kind: 'retry' }) })).toEqual({ kind: 'retry' });
    expect([session.records('failover'), await modelOfNext(session)]).toEqual([[], 'a/first']);
  });

  test.each([
    ['behind it', (session: FailingSession): void => session.load(llmRetry({ retries: 1 })), []],
    ['before it', (): void => {}, [llmRetry({ retries: 1 })]],
  ])('comes after the retries, where these stand %s', async (_, then, before) => {
    const session = createFailingSession([...before, failover({ to: second })], { model: first });
    then(session);
    session.open();
    const failure = { ...failing, failure: overloaded };
    expect(await session.settle(session.fail(failure))).toEqual({ kind: 'retry' });
    expect(session.records('failover')).toEqual([]);
    expect(await session.retryAndFail(failure)).toEqual({ kind: 'retry' });
    expect([session.records('failover').length, session.records('llm-retry').length]).toEqual([1, 1]);
  });

  test('does not wait for a hint that is over the cap of the retries', async () => {
    const session = start({}, [llmRetry()]);
    const failure = { message: 'slow down', status: 429, retryAfterMs: 11_180_000 };
    expect(await session.fail({ ...failing, failure })).toEqual({ kind: 'retry' });
    expect(session.clock.pending()).toEqual([]);
  });

  test.each([
    { message: 'who are you', status: 401 },
    { message: 'bad', status: 400 },
    { message: 'no', stop: 'refusal' },
    { message: 'too long', type: 'context_length_exceeded' },
    { message: 'what is this' },
  ])('is not done by default for what a person or the request must mend: %j', async (failure) => {
    const session = start();
    expect(await session.fail({ ...failing, failure })).toBeUndefined();
    expect(session.records('failover')).toEqual([]);
  });

  test('is done after a refused login where that was asked for', async () => {
    const session = start({ after: ['auth'] });
    expect(await session.fail({ ...failing, failure: { message: 'who', status: 401 } })).toEqual({ kind: 'retry' });
  });

  test('is not done in a turn that is cancelled, nor by a plugin that was unloaded', async () => {
    const session = start();
    const abort = new AbortController();
    const next = (): undefined => abort.abort() as undefined;
    expect(await session.fail({ ...failing, signal: abort.signal, next })).toBeUndefined();
    await session.unload('failover');
    expect(await session.fail(failing)).toBeUndefined();
    expect(session.records('failover')).toEqual([]);
  });
});

describe('options of a failover', () => {
  test.each<[string, object]>([
    ['failover.to', {}],
    ['failover.to', { to: { id: '' } }],
    ['failover.after', { to: second, after: [] }],
    ['failover.after[0]', { to: second, after: ['policy'] }],
    ['failover.after[0]', { to: second, after: ['nonsense'] }],
    ['failover.after[1]', { to: second, after: ['quota', 'quota'] }],
  ])('are refused with their place: %s', (place, options) => {
    expect(() => failover(options as FailoverOptions)).toThrow(
      expect.objectContaining({ code: 'config/bad-value', place }),
    );
  });

  test('are refused where the second model is the first, or nobody knows an option', () => {
    expect(() => createFailingSession([failover({ to: first })], { model: first })).toThrow('another model');
    expect(() => failover({ to: second, from: first } as FailoverOptions)).toThrow(
      expect.objectContaining({ code: 'config/unknown-setting' }),
    );
  });
});

describe('a log with a switch', () => {
  const place = { turn: 1, step: 1, plugin: 'failover', kind: 'failover.switched' } as const;
  const record = { from: 'a/first', to: 'b/second' };

  test.each<[string, (session: FailingSession) => void]>([
    ['is the second', (session) => void session.emit('plugin.recorded', { ...place, data: record })],
    ['is no record', (session) => void session.emit('plugin.recorded', { ...place, data: { from: 1 } })],
    [
      'is not behind a failed step',
      (session) => {
        session.events.pop();
        session.emit('turn.closed', { turn: 1, chain: 1, end: { reason: 'interrupted' } });
        session.emit('plugin.recorded', { ...place, data: record });
      },
    ],
  ])('is refused, with the place, when the switch %s', async (what, write) => {
    const session = start();
    await session.fail(failing);
    const loose = createFailingSession([], { events: session.events });
    write(loose);
    expect(() => createFailingSession([failover({ to: second })], { model: first, events: loose.events })).toThrow(
      expect.objectContaining({
        code: 'journal/bad-event',
        place: `session:s@${loose.events.length}`,
        message: expect.stringContaining(what) as string,
      }),
    );
  });
});
