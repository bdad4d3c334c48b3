import { describe, expect, onTestFinished, test } from 'vitest';
import type { LabClock } from '../../../src/lab/model-server/clock.ts';
import { type FakeService, type FakeServiceOptions, startFakeService } from '../../../src/lab/index.ts';

async function start(options: FakeServiceOptions = {}): Promise<FakeService> {
  const service = await startFakeService(options);
  onTestFinished(() => service[Symbol.asyncDispose]());
  return service;
}

async function post({ url }: FakeService, key: string, body = 'do it'): Promise<readonly [number, unknown]> {
  const response = await fetch(`${url}/effects`, { method: 'POST', headers: { 'idempotency-key': key }, body });
  return [response.status, await response.json()];
}

async function ask({ url }: FakeService, key: string): Promise<readonly [number, unknown]> {
  const response = await fetch(`${url}/effects/${encodeURIComponent(key)}`);
  return [response.status, await response.json()];
}

/** Time that passes when a test says so. */
function handClock(): LabClock & { advance(ms: number): void } {
  let now = 0;
  const waiting: { readonly at: number; readonly act: () => void }[] = [];
  return {
    now: () => now,
    after: (ms, act) => {
      waiting.push({ at: now + ms, act });
      return () => undefined;
    },
    advance: (ms) => {
      now += ms;
      for (const { at, act } of waiting) if (at <= now && at > now - ms) act();
    },
  };
}

describe('the fake service', () => {
  test('accepts, says so when asked, and tells everything in its log', async () => {
    const service = await start();
    expect(await post(service, 'a')).toEqual([201, { receipt: 'receipt-1' }]);
    expect(await ask(service, 'a')).toEqual([200, { receipt: 'receipt-1' }]);
    expect((await ask(service, 'b'))[0]).toBe(404);
    const log: unknown = await (await fetch(`${service.url}/log`)).json();
    expect(log).toEqual({ acceptances: service.acceptances, requests: service.requests });
    expect(service.requests.map(({ what, key }) => `${what} ${key}`)).toEqual(['effect a', 'lookup a', 'lookup b']);
  });

  test('dedupes on the key, refuses it with another body, and counts each acceptance when it does not dedupe', async () => {
    const service = await start();
    await post(service, 'a');
    expect(await post(service, 'a')).toEqual([201, { receipt: 'receipt-1' }]);
    expect((await post(service, 'a', 'something else'))[0]).toBe(422);
    service.behave({ dedupes: false });
    expect(await post(service, 'a')).toEqual([201, { receipt: 'receipt-2' }]);
    expect(service.acceptances.map(({ key }) => key)).toEqual(['a', 'a']);
  });

  test('drops the answer after it accepted, or the request before; the caller sees the same', async () => {
    const service = await start({ behaviour: { treatments: [{ kind: 'drop-answer' }, { kind: 'drop-request' }] } });
    for (const key of ['a', 'b']) await expect(post(service, key)).rejects.toThrow('fetch failed');
    expect(service.acceptances.map(({ key }) => key)).toEqual(['a']);
  });

  test('fails after it accepted, and refuses without accepting', async () => {
    const service = await start({
      behaviour: {
        treatments: [
          { kind: 'accept-and-fail', status: 500 },
          { kind: 'refuse', status: 409 },
        ],
      },
    });
    expect([(await post(service, 'a'))[0], (await post(service, 'b'))[0]]).toEqual([500, 409]);
    expect(service.acceptances.map(({ key }) => key)).toEqual(['a']);
  });

  test('answers late, or accepts late', async () => {
    const clock = handClock();
    const treatments = [
      { kind: 'answer-late', afterMs: 100 },
      { kind: 'accept-late', afterMs: 100 },
    ] as const;
    const service = await start({ clock, behaviour: { treatments } });
    const answered = post(service, 'a');
    await expect.poll(() => service.acceptances.length).toBe(1);
    clock.advance(100);
    expect((await answered)[0]).toBe(201);
    const accepted = post(service, 'b');
    await expect.poll(() => service.requests.length).toBe(2);
    expect(service.acceptances).toHaveLength(1);
    clock.advance(100);
    expect(await accepted).toEqual([201, { receipt: 'receipt-2' }]);
  });

  test('forgets keys after a time or a number of them, and then takes them for new', async () => {
    const clock = handClock();
    const service = await start({ clock, behaviour: { forgetsAfterMs: 1000 } });
    await post(service, 'a');
    clock.advance(1000);
    expect((await ask(service, 'a'))[0]).toBe(404);
    expect(await post(service, 'a')).toEqual([201, { receipt: 'receipt-2' }]);
    service.behave({ remembers: 1 });
    await post(service, 'b');
    expect([(await ask(service, 'a'))[0], (await ask(service, 'b'))[0]]).toEqual([404, 200]);
    service.behave({ remembers: 0 });
    expect((await ask(service, 'b'))[0]).toBe(404);
  });

  test('knows of an effect only after some questions, or some time, or cannot be asked', async () => {
    const clock = handClock();
    const service = await start({ clock, behaviour: { lookup: { absentFor: 2 } } });
    await post(service, 'a');
    const statuses = [await ask(service, 'a'), await ask(service, 'a'), await ask(service, 'a')].map(
      ([status]) => status,
    );
    expect(statuses).toEqual([404, 404, 200]);
    service.behave({ lookup: { absentMs: 50 } });
    expect((await ask(service, 'a'))[0]).toBe(404);
    clock.advance(50);
    expect((await ask(service, 'a'))[0]).toBe(200);
    service.behave({ lookup: { works: false } });
    expect((await ask(service, 'a'))[0]).toBe(503);
  });

  test('takes another behaviour over HTTP, and refuses one that makes no sense with the place', async () => {
    const service = await start();
    const put = async (body: string) => (await fetch(`${service.url}/behaviour`, { method: 'PUT', body })).json();
    expect(await put('{"treatments":[{"kind":"refuse","status":400}]}')).toEqual({});
    expect((await post(service, 'a'))[0]).toBe(400);
    expect(await put('{')).toHaveProperty('error');
    expect(await put('{"treatments":[{"kind":"vanish"}]}')).toMatchObject({
      error: expect.stringContaining('treatments[0]') as string,
    });
    const negative = { treatments: [{ kind: 'answer-late', afterMs: -1 }] } as const;
    await expect(startFakeService({ behaviour: negative })).rejects.toThrow('treatments[0].afterMs');
    await expect(startFakeService({ behaviour: { treatments: [{ kind: 'refuse', status: 200 }] } })).rejects.toThrow(
      '400 to 499',
    );
  });

  test('an effect without a key is refused, and so is a path that is none', async () => {
    const service = await start();
    expect((await fetch(`${service.url}/effects`, { method: 'POST' })).status).toBe(400);
    expect((await fetch(`${service.url}/else`)).status).toBe(404);
    expect(service.acceptances).toEqual([]);
  });
});
