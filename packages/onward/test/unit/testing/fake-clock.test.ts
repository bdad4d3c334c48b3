import { describe, expect, test } from 'vitest';
import { createFakeClock } from '../../../src/testing/fake-clock.ts';

describe('the fake clock', () => {
  test('stands still until it is advanced, and both clocks move together', async () => {
    const clock = createFakeClock({ now: 1000 });
    expect([clock.now(), clock.monotonic()]).toEqual([1000, 0]);
    await clock.advance(250);
    expect([clock.now(), clock.monotonic()]).toEqual([1250, 250]);
  });

  test('a jump moves the wall clock only and wakes nobody', async () => {
    const clock = createFakeClock({ now: 1000 });
    let woke = false;
    void clock.sleep(100).then(() => (woke = true));
    clock.jump(5000);
    await clock.advance(99);
    expect([clock.now(), clock.monotonic(), woke]).toEqual([6099, 99, false]);
    clock.jump(-10_000);
    await clock.advance(1);
    expect([clock.now(), woke]).toEqual([-3900, true]);
  });

  test('wakes sleepers in order, each at its own time, also those that fall asleep on the way', async () => {
    const clock = createFakeClock({ now: 0 });
    const woke: string[] = [];
    const note = (name: string): number => woke.push(`${name}@${clock.now()}`);
    void clock.sleep(30).then(() => note('late'));
    void clock
      .sleep(10)
      .then(() => note('early'))
      .then(() => clock.sleep(5))
      .then(() => note('again'));
    await clock.advance(100);
    expect(woke).toEqual(['early@10', 'again@15', 'late@30']);
    expect(clock.now()).toBe(100);
  });

  test('a sleep ends early and without an error when its signal aborts, and is pending no more', async () => {
    const clock = createFakeClock();
    const abort = new AbortController();
    const sleep = clock.sleep(1000, abort.signal);
    void clock.sleep(200);
    expect(clock.pending()).toEqual([200, 1000]);
    abort.abort();
    await sleep;
    expect(clock.pending()).toEqual([200]);
    await clock.sleep(1000, abort.signal);
    expect(clock.pending()).toEqual([200]);
  });

  test('a sleep of no time, or less, is over at once', async () => {
    const clock = createFakeClock();
    await clock.sleep(0);
    await clock.sleep(-5);
    expect(clock.pending()).toEqual([]);
  });

  test('two clocks have nothing to do with each other', async () => {
    const one = createFakeClock({ now: 0 });
    const other = createFakeClock({ now: 0 });
    await one.advance(10);
    expect(other.now()).toBe(0);
  });
});
