import { describe, expect, test } from 'vitest';
import { createRig } from './support/rig.ts';
import type { AgentScript } from './support/scripted-agent.ts';

const finishes: AgentScript = (agent) => agent.answer('done');
const silent: AgentScript = async (agent) => agent.stopRequested;
const policy = {
  retry: { scheduleMs: [1_000, 1_000] },
  timeouts: { startupMs: 20_000, idleMs: 30_000, toolMs: 100_000, afterResultMs: 5_000, wallMs: 1_000_000 },
};

interface Watched {
  readonly ms: number;
  readonly failure: unknown;
  readonly attempts: number;
  readonly status: string;
}

/** How long the first process lived and why it was ended. */
async function watch(first: AgentScript): Promise<Watched> {
  const rig = createRig({ scripts: [first, finishes] });
  const { id, result } = await rig.start({ policy });
  const { status, attempts } = await rig.until(result);
  const [one] = (await rig.state(id)).attempts;
  return {
    status,
    attempts,
    ms: (one?.endedAt ?? 0) - (one?.startedAt ?? 0),
    failure: one?.end?.kind === 'failed' ? one.end.failure : undefined,
  };
}

describe('an agent that falls silent', () => {
  test('before its first word is ended and tried again', async () => {
    expect(await watch(silent)).toMatchObject({
      status: 'done',
      attempts: 2,
      ms: 20_000,
      failure: { process: 'startup-timeout', message: 'The agent gave no sign of life for 20 s after its start.' },
    });
  });

  test('after a word', async () => {
    const watched = await watch(async (agent) => {
      agent.text('m1', 'hello');
      await agent.stopRequested;
    });
    expect(watched).toMatchObject({ attempts: 2, ms: 30_000, failure: { process: 'idle-timeout' } });
  });

  test('while a tool runs is given the time of a tool', async () => {
    const watched = await watch(async (agent) => {
      agent.say({ kind: 'call-started', callId: 'c1', tool: 'Bash', input: 'make' });
      await agent.stopRequested;
    });
    expect(watched).toMatchObject({ attempts: 2, ms: 100_000, failure: { process: 'tool-timeout' } });
  });

  test('but for saying that it retries: that is no sign of life', async () => {
    const rig = createRig({
      scripts: [
        async (agent) => {
          agent.text('m1', 'hello');
          for (let n = 1; n < 20 && agent.isAlive; n++) {
            await rig.clock.sleep(10_000);
            agent.say({ kind: 'inner-retry', attempt: n, status: 529 });
          }
        },
        finishes,
      ],
    });
    const { id, result } = await rig.start({ policy });
    expect(await rig.until(result)).toMatchObject({ status: 'done', attempts: 2 });
    expect((await rig.data(id, 'attempt.failed'))[0]).toMatchObject({ failure: { process: 'idle-timeout' } });
  });

  test('after its last word has succeeded, if it stays or if it goes', async () => {
    const watched = await watch(async (agent) => {
      agent.lastWord('done all the same');
      await agent.stopRequested;
    });
    expect(watched).toMatchObject({ status: 'done', attempts: 1, ms: 5_000 });
  });
});

test('the time of all attempts together ends the run, and is named as the user set it', async () => {
  const works: AgentScript = async (agent) => {
    for (let n = 0; agent.isAlive; n++) {
      agent.call(`c${agent.pid}-${n}`, `step ${agent.pid} ${n}`, 'ok');
      await rig.clock.sleep(10_000);
      if (n === 4 && agent.pid % 2 === 0) return agent.fail({ type: 'overloaded_error' });
    }
  };
  const rig = createRig({ scripts: [works, works] });
  const { result } = await rig.start({ policy: { timeouts: { wallMs: 120_000 } } });
  expect(await rig.until(result)).toMatchObject({
    status: 'paused',
    reason: 'limit',
    attempts: 2,
    because: expect.stringContaining('120 s'),
  });
});
