import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { createIds } from '../../../src/processes/system.ts';
import { systemClock, systemHash, systemIds, systemRandom } from '../../../src/processes/index.ts';

const UUID_7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

describe('systemClock.sleep', () => {
  test('lasts at least as long as asked', async () => {
    const start = performance.now();
    await systemClock.sleep(12);
    expect(performance.now() - start).toBeGreaterThanOrEqual(12);
  });

  test('splits a wait that is longer than a Node timer can hold', async () => {
    vi.useFakeTimers();
    try {
      const month = 30 * 24 * 3_600_000;
      let done = false;
      const waiting = systemClock.sleep(month).then(() => (done = true));
      await vi.advanceTimersByTimeAsync(month - 1);
      expect(done).toBe(false);
      await vi.advanceTimersByTimeAsync(2);
      await waiting;
      expect(done).toBe(true);
    } finally {
      vi.useRealTimers();
    }
  });

  test('ends early and without an error when the signal aborts, before or during the wait', async () => {
    const start = performance.now();
    const controller = new AbortController();
    const waiting = systemClock.sleep(3_600_000, controller.signal);
    controller.abort();
    await waiting;
    await systemClock.sleep(3_600_000, controller.signal);
    expect(performance.now() - start).toBeLessThan(3_600_000);
  });

  test('leaves no listener behind on a signal that lives long', async () => {
    const { signal } = new AbortController();
    const added = vi.spyOn(signal, 'addEventListener');
    const removed = vi.spyOn(signal, 'removeEventListener');
    for (let i = 0; i < 20; i++) await systemClock.sleep(0, signal);
    expect(added).toHaveBeenCalledTimes(20);
    expect(removed).toHaveBeenCalledTimes(20);
  });
});

describe('ids', () => {
  test('are UUIDs version 7 and sort by creation, also many within one millisecond', () => {
    const ids = Array.from({ length: 20_000 }, () => systemIds.uuid());
    for (const id of ids) expect(id).toMatch(UUID_7);
    expect(ids.toSorted()).toEqual(ids);
    expect(new Set(ids).size).toBe(ids.length);
  });

  test('for all clocks, also those that go back, each id is greater than the one before', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(2 ** 40), { minLength: 2, maxLength: 50 }), fc.nat(255), (times, byte) => {
        let at = 0;
        const ids = createIds({ now: () => times[at++] ?? 0, randomBytes: (size) => new Uint8Array(size).fill(byte) });
        const made = times.map(() => ids.uuid());
        expect(made.every((id) => UUID_7.test(id))).toBe(true);
        expect(made.every((id, index) => index === 0 || id > (made[index - 1] ?? ''))).toBe(true);
      }),
    );
  });

  test('a full counter moves on to the next millisecond instead of starting over', () => {
    const ids = createIds({ now: () => 1_000, randomBytes: (size) => new Uint8Array(size) });
    const made = Array.from({ length: 5_000 }, () => ids.uuid());
    expect(made.toSorted()).toEqual(made);
    expect(new Set(made).size).toBe(5_000);
  });
});

test('random numbers are in [0, 1), and the hash is SHA-256 of UTF-8', () => {
  const value = systemRandom.next();
  expect(value >= 0 && value < 1).toBe(true);
  expect(systemHash.sha256('')).toBe('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
  expect(systemHash.sha256('é')).toBe('4a99557e4033c3539de2eb65472017cad5f9557f7a0625a09f1c3f6e2ba69c4c');
});
