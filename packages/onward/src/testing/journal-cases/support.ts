import { deepEqual, equal, ok, rejects } from 'node:assert/strict';
import type { NewEvent, StoredEvent } from '../../kernel/envelope.ts';
import { isOnwardError } from '../../kernel/error.ts';
import type { Appended, Holder, Journal, Lease } from '../../kernel/journal.ts';
import type { Json } from '../../kernel/json.ts';

/** An event with a number or another value as its data. */
export function event(data: Json, more: Partial<NewEvent> = {}): NewEvent {
  return { type: 'thing.happened', v: 1, data, ...more };
}

/** Appends events with the given data to the end of an unleased stream. */
export async function add(journal: Journal, stream: string, ...data: readonly Json[]): Promise<Appended> {
  return accepted(await journal.append([{ stream, expected: 'any', events: data.map((item) => event(item)) }]));
}

/** The result of an append that must have been accepted. */
export function accepted(appended: Appended): Appended & { readonly ok: true } {
  ok(appended.ok, `refused: ${JSON.stringify(appended)}`);
  return appended;
}

/** The data of events, in order. */
export function dataOf(events: readonly StoredEvent[]): readonly Json[] {
  return events.map((stored) => stored.data);
}

/** Asserts what a stream holds, and that its positions are gapless from 1. */
export async function expectData(journal: Journal, stream: string, data: readonly Json[]): Promise<void> {
  const events = await journal.read(stream);
  deepEqual(dataOf(events), data);
  deepEqual(
    events.map((stored) => stored.position),
    data.map((_, index) => index + 1),
  );
}

/** Asserts that a promise is rejected with an `OnwardError` of that code, at that place. */
export async function expectCode(promise: Promise<unknown>, code: string, place?: string | RegExp): Promise<void> {
  await rejects(promise, (error: unknown) => {
    ok(isOnwardError(error), `not an OnwardError: ${String(error)}`);
    equal(error.code, code, error.message);
    if (typeof place === 'string') equal(error.place, place, error.message);
    else if (place !== undefined) ok(place.test(error.place ?? ''), `${error.place} does not match ${String(place)}`);
    return true;
  });
}

/** A holder with that id. */
export function holder(id: string): Holder {
  return { id, host: 'host-1', pid: 4242, startedAt: `start of ${id}` };
}

/** Claims a stream that must be free. */
export async function claim(journal: Journal, stream: string, id: string, ttlMs = 10_000): Promise<Lease> {
  const claimed = await journal.claim(stream, holder(id), ttlMs);
  ok(claimed.ok, `not granted: ${JSON.stringify(claimed)}`);
  return claimed.lease;
}

/** Runs a case with one handle, and closes it. */
export async function withJournal(
  harness: { open(): Promise<Journal> },
  use: (journal: Journal) => Promise<void>,
): Promise<void> {
  const journal = await harness.open();
  try {
    await use(journal);
  } finally {
    await journal.close();
  }
}

/** Takes the first `count` events of a follower. */
export async function take(events: AsyncIterable<StoredEvent>, count: number): Promise<readonly StoredEvent[]> {
  const taken: StoredEvent[] = [];
  if (count === 0) return taken;
  for await (const stored of events) {
    taken.push(stored);
    if (taken.length === count) break;
  }
  return taken;
}
