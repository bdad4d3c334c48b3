import fc from 'fast-check';
import { afterEach, describe, expect, test } from 'vitest';
import { requestOf } from '../../../src/agent/build-request.ts';
import type { Header, SessionEvent } from '../../../src/agent/session-events.ts';
import { applySessionEvent, emptySession, type SessionState } from '../../../src/agent/session-state.ts';
import type { ModelRequest } from '../../../src/models/model.ts';
import { anyScenario, type Played, playScenario } from './play-scenario.ts';
import { endStores, sessionStore, storeNames } from './session-stores.ts';
import { endTestAgents } from './start-test-agent.ts';

afterEach(endTestAgents);

/** The requests that a log says were made, by turn and step: from what is before the step, and its header. */
function requestsIn(events: readonly SessionEvent[]): ReadonlyMap<string, ModelRequest> {
  const state = emptySession();
  const found = new Map<string, ModelRequest>();
  for (const [index, event] of events.entries()) {
    applySessionEvent(state, event);
    if (event.type !== 'step.opened') continue;
    const header = headerBehind(events, index) ?? state.header;
    if (header !== undefined) found.set(`${event.data.turn}/${event.data.step}`, requestOf(state, header));
  }
  return found;
}

/** The header that was written with a step; what others wrote at the same moment may stand between them. */
function headerBehind(events: readonly SessionEvent[], index: number): Header | undefined {
  for (const event of events.slice(index + 1)) {
    if (event.type === 'header.set') return event.data;
    if (event.type !== 'message.accepted' && event.type !== 'message.dropped' && event.type !== 'history.replaced')
      return undefined;
  }
  return undefined;
}

/** Opens and closes as brackets: each turn and step closes before another of its kind opens, numbers have no gap. */
function bracketFaults(events: readonly SessionEvent[]): readonly string[] {
  const faults: string[] = [];
  let [turn, step, turnOpen, stepOpen] = [0, 0, false, false];
  for (const { type, data } of events) {
    if (type === 'turn.opened') {
      if (turnOpen || data.turn !== turn + 1) faults.push(`turn ${data.turn} opens behind turn ${turn}`);
      [turn, step, turnOpen] = [data.turn, 0, true];
    } else if (type === 'turn.closed') {
      if (!turnOpen || stepOpen || data.turn !== turn) faults.push(`turn ${data.turn} closes`);
      turnOpen = false;
    } else if (type === 'step.opened') {
      if (!turnOpen || stepOpen || data.turn !== turn || data.step !== step + 1) faults.push(`step ${data.step} opens`);
      [step, stepOpen] = [data.step, true];
    } else if (type === 'step.closed') {
      if (!stepOpen || data.turn !== turn || data.step !== step) faults.push(`step ${data.step} closes`);
      stepOpen = false;
    }
  }
  if (turnOpen || stepOpen) faults.push('something is open at the end');
  return faults;
}

function foldOf(events: readonly SessionEvent[]): SessionState {
  const state = emptySession();
  for (const event of events) applySessionEvent(state, event);
  return state;
}

/** Turns that are on record as completed although their last step has no whole answer. */
function falseSuccesses(events: readonly SessionEvent[]): readonly number[] {
  const faults: number[] = [];
  let last = '';
  for (const { type, data } of events) {
    if (type === 'turn.opened') last = 'nothing';
    if (type === 'answer.completed') last = 'answer';
    if (type === 'step.closed') last = last === 'answer' ? data.outcome : 'no answer';
    if (type === 'turn.closed' && data.end.reason === 'completed' && last !== 'completed') faults.push(data.turn);
  }
  return faults;
}

/** How often each prompt came to an end: by a chain of turns that it opened, or by being dropped. */
function fates(events: readonly SessionEvent[]): ReadonlyMap<string, number> {
  const count = new Map<string, number>();
  const add = (id: string): unknown => count.set(id, (count.get(id) ?? 0) + 1);
  const prompts = new Set<string>();
  for (const { type, data } of events) {
    if (type === 'message.accepted' && data.kind === 'prompt') prompts.add(data.id);
    if (type === 'turn.opened' && data.trigger.kind === 'prompt') add(data.trigger.id);
    if (type === 'message.dropped') for (const id of data.ids) if (prompts.has(id)) add(id);
  }
  return count;
}

function expectRebuilt({ stored, sent }: Played): void {
  const rebuilt = requestsIn(stored);
  for (const { turn, step, request } of sent) expect(rebuilt.get(`${turn}/${step}`)).toEqual(request);
}

async function holds(
  check: (played: Played) => void | Promise<void>,
  numRuns: number,
  store: (typeof storeNames)[number] = 'memory',
): Promise<void> {
  await fc.assert(
    fc.asyncProperty(anyScenario, async (scenario) => {
      const played = await playScenario(scenario, sessionStore(store));
      try {
        await check(played);
      } finally {
        await endTestAgents();
        await endStores();
      }
    }),
    { numRuns, interruptAfterTimeLimit: 15_000 },
  );
}

const runs = Number(process.env['SCENARIO_RUNS'] ?? 100);

describe('for any texts, calls, failures, retries, cancels, input at any moment, compactions, crashes and failed appends', () => {
  test('A19 opens equal closes, steps close before their turn, and numbers have no gap', async () => {
    await holds(({ stored }) => expect(bracketFaults(stored)).toEqual([]), runs);
  });

  test.each(storeNames)(
    'A29 each request that is rebuilt from the log before it is the one that the model received, with the journal in %s',
    async (store) => {
      await holds(expectRebuilt, store === 'memory' ? runs : runs / 10, store);
    },
  );

  test('R65 every request would be taken by a strict provider', async () => {
    await holds(({ refused }) => expect(refused).toEqual([]), runs);
  });

  test('every prompt settles exactly once, and as its log says', async () => {
    await holds(async ({ stored, handles, settled, rig }) => {
      expect([...settled.values()].filter((times) => times !== 1)).toEqual([]);
      expect([...fates(stored).values()].filter((times) => times !== 1)).toEqual([]);
      expect(falseSuccesses(stored)).toEqual([]);
      const { prompts } = foldOf(stored);
      for (const handle of handles) {
        const known = prompts.get(handle.id);
        const ended = await handle.ended;
        // One whose end could not be stored is said to have failed.
        const recorded = known?.state === 'ended' && ended.kind !== 'failed' ? known.settlement : ended;
        expect(recorded).toEqual(ended);
        expect(await rig.agent.handle(handle.id)?.ended).toBeDefined();
      }
    }, runs);
  });

  test('the fold of what is stored is the state in memory', async () => {
    await holds(({ stored, rig }) => {
      const { history, queue, generation } = foldOf(stored);
      expect([rig.agent.history(), rig.agent.queued().length]).toEqual([history, queue.length]);
      expect(rig.host.history().generation).toBe(generation);
      expect(stored.map(({ position }) => position)).toEqual(stored.map((_, index) => index + 1));
    }, runs);
  });
});
