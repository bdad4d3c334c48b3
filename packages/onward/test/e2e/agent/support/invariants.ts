import { expect } from 'vitest';
import type { SessionEvent } from '../../../../src/agent/session-events.ts';
import { requestOf } from '../../../../src/agent/build-request.ts';
import { historyFaults } from '../../../../src/testing/history-faults.ts';
import type { Done, Place } from './place.ts';

/** What holds at any moment, also right after a kill: the log loads, and nothing that was shown or done is missing from it. */
export async function checkSoFar(place: Place, what: string): Promise<void> {
  const { events } = await place.load();
  const stored = new Map(events.map((event) => [event.position, event]));
  for (const [position, type, data] of place.acks)
    expect(stored.get(position), `${what}: what a reader was shown at ${position} is stored`).toMatchObject({
      type,
      data,
    });
  const ran = place.ran();
  expect(new Set(ran).size, `${what}: no call without a ledger ran twice: ${ran.join(', ')}`).toBe(ran.length);
  const started = new Set(dataOf(events, 'call.started').map(({ id }) => id));
  for (const line of ran) expect(started, `${what}: ${line} was announced`).toContain(line.split(' ')[1]);
  const keys = (await place.acceptances()).map(({ key }) => key);
  expect(new Set(keys).size, `${what}: at most one acceptance of each key`).toBe(keys.length);
}

/** What holds when all is over. */
export async function checkEnd(place: Place, done: Done, what: string): Promise<void> {
  await checkSoFar(place, what);
  expect(done.refused, `${what}: a strict provider took every request`).toEqual([]);
  const { events, state } = await place.load();
  expect(state.history, `${what}: what is stored is what the agent saw`).toEqual(done.history);
  expect([state.open, state.queue, state.staged], what).toEqual([undefined, [], []]);
  expect(dataOf(events, 'turn.opened'), what).toHaveLength(dataOf(events, 'turn.closed').length);
  expect(dataOf(events, 'step.opened'), what).toHaveLength(dataOf(events, 'step.closed').length);
  const asking = [...state.history, { role: 'user' as const, content: [{ type: 'text' as const, text: 'more' }] }];
  const header = state.header ?? { model: '', system: '', tools: [], settings: {} };
  expect(historyFaults(requestOf({ ...state, history: asking }, header)), what).toEqual([]);
  await checkCalls(place, events, what);
  for (const { state: stands, question } of await place.questions())
    expect(stands, `${what}: ${question.text}`).not.toBe('open');
}

/** Every call has one outcome; the effect happened once; what ran is known as done, or as unknown, and never as not begun. */
async function checkCalls(place: Place, events: readonly SessionEvent[], what: string): Promise<void> {
  const finished = dataOf(events, 'call.finished');
  const outcomeOf = (id: string): string => {
    const outcomes = finished.filter((one) => one.id === id).map(({ outcome }) => outcome);
    return outcomes.map((outcome) => (outcome.ok ? 'ok' : outcome.code)).join(' ');
  };
  for (const { id } of dataOf(events, 'call.started')) expect(outcomeOf(id), `${what}: ${id}`).toMatch(/^[a-z-]+$/);
  expect(await place.acceptances(), `${what}: the effect happened`).toHaveLength(1);
  const sent = finished.filter(({ id, outcome }) => id.startsWith('send') && outcome.ok);
  expect(sent, `${what}: the model has the receipt`).toHaveLength(1);
  for (const line of place.ran())
    expect(outcomeOf(line.split(' ')[1] ?? ''), `${what}: ${line}`).toMatch(/^(ok|outcome-unknown)$/);
  for (const name of ['write', 'danger']) {
    const runs = place.ran().filter((line) => line.startsWith(name));
    expect(runs.length, `${what}: ${name} at most once`).toBeLessThanOrEqual(1);
    const codes = finished.filter(({ id }) => id.startsWith(name)).map(({ id }) => outcomeOf(id));
    if (runs.length === 0)
      expect(codes, `${what}: ${name} did not run, and nobody says it did`).toContain('outcome-unknown');
  }
}

function dataOf<Type extends SessionEvent['type']>(
  events: readonly SessionEvent[],
  type: Type,
): readonly Extract<SessionEvent, { readonly type: Type }>['data'][] {
  return events.flatMap((event) => (event.type === type ? [event.data as never] : []));
}
