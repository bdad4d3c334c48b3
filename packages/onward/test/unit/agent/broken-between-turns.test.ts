import { afterEach, describe, expect, test } from 'vitest';
import { endTestAgents, overloaded, rounds, startTestAgent, type TestAgent } from './start-test-agent.ts';

afterEach(endTestAgents);

/** More steps of promises than there are between a turn and the next. */
const moments = Array.from({ length: 40 }, (_, nth) => nth);

/** A prompt whose request fails and is owned, and one behind it; `act` comes that many promise steps behind the close of its turn. */
async function play(after: number, act: (rig: TestAgent) => void): Promise<TestAgent> {
  let acted = false;
  const later = async (): Promise<void> => {
    // oxlint-disable-next-line no-await-in-loop -- step by step
    for (let step = 0; step < after; step++) await Promise.resolve();
    act(rig);
  };
  const rig: TestAgent = await startTestAgent({
    script: (_, nth) => (nth === 1 ? [{ fail: overloaded }] : 'done'),
    on: { 'agent/request-error': () => ({ kind: 'retry' }) },
    observe(event) {
      if (event.type !== 'turn.closed' || acted) return;
      acted = true;
      void later();
    },
  });
  rig.agent.followup('first');
  rig.agent.followup('second');
  await rounds();
  return rig;
}

describe('between a failed turn and its retry', () => {
  test('a cancel at any moment stops the chain: no request follows, whatever has opened says that it was aborted', async () => {
    for (const moment of moments) {
      let asked = 0;
      // oxlint-disable-next-line no-await-in-loop
      const rig = await play(moment, ({ agent, model }) => {
        asked = model.requests.length;
        agent.cancel();
      });
      expect([moment, rig.model.requests.length]).toEqual([moment, asked]);
      // The request of the retry may be on its way by then.
      const ends = rig.data('turn.closed').map(({ end }) => end.reason);
      expect(['failed', 'failed aborted']).toContain(ends.join(' '));
      expect([moment, rig.agent.status, rig.agent.queued()]).toEqual([moment, 'idle', []]);
    }
  });

  test('a disposal at any moment opens no turn any more', async () => {
    for (const moment of moments) {
      let opened = 0;
      // oxlint-disable-next-line no-await-in-loop
      const rig = await play(moment, (started) => {
        opened = started.data('turn.opened').length;
        void started.agent[Symbol.asyncDispose]();
      });
      expect([moment, rig.data('turn.opened').length]).toEqual([moment, opened]);
    }
  });

  test('a cancel that keeps the inbox lets the next prompt run, since nobody waits behind what a person stopped', async () => {
    for (const moment of moments) {
      // oxlint-disable-next-line no-await-in-loop
      const rig = await play(moment, ({ agent }) => agent.cancel('user', { keepInbox: true }));
      const prompts = rig.data('turn.opened').flatMap(({ trigger }) => (trigger.kind === 'prompt' ? [trigger.id] : []));
      expect([moment, prompts.length, rig.agent.status]).toEqual([moment, 2, 'idle']);
    }
  });
});
