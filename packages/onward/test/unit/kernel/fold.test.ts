import { describe, expect, it } from 'vitest';

import type { StoredEvent } from '../../../src/kernel/envelope.ts';
import { type EventTable, fold, upcast } from '../../../src/kernel/fold.ts';
import type { Json } from '../../../src/kernel/json.ts';

const stored = (type: string, v: number, data: Json, rest: Partial<StoredEvent> = {}): StoredEvent => ({
  type,
  v,
  data,
  stream: 'run:1',
  position: 7,
  at: 0,
  ...rest,
});

/** `run.moved` began as a number, became `{ steps }` and is now `{ steps, by }`. */
const table: EventTable = {
  'run.moved': {
    v: 3,
    upcasts: {
      1: (data) => ({ steps: data }),
      2: (data) => ({ ...(data as { steps: number }), by: 'somebody' }),
    },
  },
  'run.stopped': { v: 2 },
};

const refused = (code: string): unknown => expect.objectContaining({ code, place: 'run:1@7' });

describe('upcast', () => {
  it.each<readonly [number, Json, Json]>([
    [1, 4, { steps: 4, by: 'somebody' }],
    [2, { steps: 4 }, { steps: 4, by: 'somebody' }],
    [3, { steps: 4, by: 'me' }, { steps: 4, by: 'me' }],
  ])('brings version %i to the newest, one version at a time', (v, data, newest) => {
    expect(upcast(stored('run.moved', v, data), table)).toEqual(stored('run.moved', 3, newest));
  });

  it('leaves the stored event as it is', () => {
    const event = Object.freeze(stored('run.moved', 2, Object.freeze({ steps: 4 })));
    upcast(event, table);
    expect(event).toEqual(stored('run.moved', 2, { steps: 4 }));
  });

  it('refuses a newer version, naming its place', () => {
    expect(() => upcast(stored('run.moved', 4, {}), table)).toThrow(refused('journal/newer-version'));
  });

  it('refuses an unknown type, naming its place', () => {
    expect(() => upcast(stored('run.flown', 1, {}), table)).toThrow(refused('journal/newer-version'));
  });

  it.each(['constructor', 'toString', '__proto__', 'hasOwnProperty', 'valueOf'])(
    'a type named %s is unknown like any other',
    (type) => {
      expect(() => upcast(stored(type, 1, {}), table)).toThrow(refused('journal/newer-version'));
    },
  );

  it('skips what its writer marked as ignorable, if it is unknown or newer', () => {
    expect(upcast(stored('run.flown', 1, {}, { ignorable: true }), table)).toBeUndefined();
    expect(upcast(stored('run.moved', 4, {}, { ignorable: true }), table)).toBeUndefined();
  });

  it('reads what is ignorable and known', () => {
    expect(upcast(stored('run.moved', 1, 4, { ignorable: true }), table)?.data).toEqual({ steps: 4, by: 'somebody' });
  });

  it('a missing upcast is a bug of this program, not a newer one', () => {
    expect(() => upcast(stored('run.stopped', 1, {}), table)).toThrow(refused('bug/missing-upcast'));
  });

  it.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY])('%s is no version, ignorable or not', (v) => {
    expect(() => upcast(stored('run.moved', v, {}), table)).toThrow(refused('journal/bad-event'));
    expect(() => upcast(stored('run.flown', v, {}, { ignorable: true }), table)).toThrow(refused('journal/bad-event'));
  });
});

const sum = (state: number, event: StoredEvent): number => state + (event.data as { steps: number }).steps;

describe('fold', () => {
  it('applies each event in its newest shape, oldest first, and skips the ignorable', () => {
    const events = [
      stored('run.moved', 1, 4),
      stored('run.note', 1, {}, { ignorable: true }),
      stored('run.moved', 3, { steps: 2, by: 'me' }),
    ];
    expect(fold(events, table, 0, sum)).toBe(6);
    expect(fold(events, table, '', (state, event) => `${state}${JSON.stringify(event.data)}`)).toBe(
      '{"steps":4,"by":"somebody"}{"steps":2,"by":"me"}',
    );
  });

  it('of nothing is the beginning', () => {
    expect(fold([], table, 3, sum)).toBe(3);
  });

  it('never acts on half a history', () => {
    let applied = 0;
    const count = (): number => (applied += 1);
    expect(() => fold([stored('run.moved', 9, {})], table, 0, count)).toThrow(refused('journal/newer-version'));
    expect(applied).toBe(0);
  });

  it('reads 100,000 events', () => {
    const events = Array.from({ length: 100_000 }, (_, n) =>
      stored('run.moved', (n % 3) + 1, n % 3 === 0 ? 1 : { steps: 1 }),
    );
    expect(fold(events, table, 0, sum)).toBe(100_000);
  });
});
