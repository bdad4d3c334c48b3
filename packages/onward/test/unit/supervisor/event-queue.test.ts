import { describe, expect, test } from 'vitest';
import type { NewEvent } from '../../../src/kernel/envelope.ts';
import { createEventQueue } from '../../../src/supervisor/event-queue.ts';
import type { RunWriter } from '../../../src/supervisor/run-writer.ts';

const event = (n: number): NewEvent => ({ type: 'x', v: 1, data: n });

/** A writer whose appends end when they are told to. */
function slowWriter(): { writer: RunWriter; batches: (readonly NewEvent[])[]; end: (error?: Error) => Promise<void> } {
  const batches: (readonly NewEvent[])[] = [];
  let current = Promise.withResolvers<void>();
  const writer = {
    append: (events: readonly NewEvent[]) => {
      batches.push(events);
      current = Promise.withResolvers<void>();
      return current.promise;
    },
  } as unknown as RunWriter;
  const end = async (error?: Error): Promise<void> => {
    if (error === undefined) current.resolve();
    else current.reject(error);
    await turn();
  };
  return { writer, batches, end };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('the queue of events', () => {
  test('keeps the order, and takes what came meanwhile into one append', async () => {
    const { writer, batches, end } = slowWriter();
    const queue = createEventQueue(writer, () => undefined);
    for (const n of [1, 2, 3]) await queue.push([event(n)]);
    await end();
    await end();
    await queue.flush();
    expect(batches.map((batch) => batch.map(({ data }) => data))).toEqual([[1], [2, 3]]);
  });

  test('never divides the events of one line between two appends', async () => {
    const { writer, batches, end } = slowWriter();
    const queue = createEventQueue(writer, () => undefined);
    await queue.push([event(0)]);
    for (let line = 1; line <= 250; line++) await queue.push([event(line), event(line)]);
    for (let append = 0; append < 5; append++) await end();
    await queue.flush();
    for (const batch of batches) {
      const counts = Map.groupBy(batch, ({ data }) => data);
      for (const [line, events] of counts) expect(events).toHaveLength(line === 0 ? 1 : 2);
    }
    expect(batches.length).toBeGreaterThan(2);
  });

  test('flush waits for what was pushed in the moment in which an append ended', async () => {
    const { writer, batches, end } = slowWriter();
    const queue = createEventQueue(writer, () => undefined);
    await queue.push([event(1)]);
    const ended = end();
    void Promise.resolve().then(() => queue.push([event(2)]));
    await ended;
    const flushed = queue.flush();
    await end();
    await flushed;
    expect(batches.flat().map(({ data }) => data)).toEqual([1, 2]);
  });

  test('a broken journal is told once, and every flush from then on fails instead of turning round for ever', async () => {
    const { writer, batches, end } = slowWriter();
    const told: unknown[] = [];
    const queue = createEventQueue(writer, (error) => told.push(error));
    const error = new Error('the lease is lost');
    await queue.push([event(1)]);
    await queue.push([event(2)]);
    await end(error);
    await queue.push([event(3)]);
    await expect(queue.flush()).rejects.toBe(error);
    await queue.push([event(4)]);
    await expect(queue.flush()).rejects.toBe(error);
    expect(told).toEqual([error]);
    expect(batches).toHaveLength(1);
  });

  test('lets its writer wait when a thousand events are on their way', async () => {
    const { writer, end } = slowWriter();
    const queue = createEventQueue(writer, () => undefined);
    let pushed = 0;
    const pushing = (async () => {
      for (; pushed < 5_000; pushed++) await queue.push([event(pushed)]);
    })();
    await turn();
    expect(pushed).toBeLessThanOrEqual(1_002);
    for (let append = 0; append < 50; append++) await end();
    await pushing;
    expect(pushed).toBe(5_000);
  });
});
