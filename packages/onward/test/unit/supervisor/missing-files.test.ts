import { describe, expect, test } from 'vitest';
import { createRig } from './support/rig.ts';
import type { AgentScript } from './support/scripted-agent.ts';

const quick = { retry: { scheduleMs: [1_000, 1_000, 1_000] } };
const finishes: AgentScript = (agent) => agent.answer('done');
const worksOn: AgentScript = async (agent) => {
  agent.call('c1', 'pay', 'paid');
  await agent.stopRequested;
};

describe('a spool that somebody removed', () => {
  test.each([
    [true, { status: 'done', attempts: 2 }],
    [false, { status: 'paused', reason: 'needs-human' }],
  ])('is no proof that nothing was started (id known from the beginning: %s)', async (preassignsId, expected) => {
    const rig = createRig({ preassignsId, scripts: [worksOn, finishes] });
    const { id } = await rig.start({ policy: quick });
    await rig.untilTrue('the call is recorded', async () => (await rig.types(id)).includes('call.finished'));
    rig.own.kill();
    rig.machine.spools.clear();
    expect(await rig.until(rig.process(2).attach(id).result)).toMatchObject(expected);
    expect(rig.machine.launches.filter((launch) => launch.prompt === 'do the task')).toHaveLength(1);
  });
});

describe('a conversation whose file is longer than what is read of it', () => {
  test('has kept what came before a call that it shows, and lost what came after', async () => {
    const rig = createRig({
      scripts: [
        (agent) => {
          const session = agent.spec.launch.argv.at(-1) ?? '';
          for (const callId of ['old', 'kept', 'gone']) agent.call(callId, `make ${callId}`, 'ok');
          rig.machine.sessions.set(session, `old\n${'x'.repeat(9 * 1024 * 1024)}\nkept\n`);
          agent.exit(null, 'SIGKILL');
        },
        finishes,
      ],
    });
    const { id, result } = await rig.start({ policy: quick });
    expect(await rig.until(result)).toMatchObject({ status: 'done' });
    expect((await rig.data(id, 'attempt.failed'))[0]).toMatchObject({ lost: ['gone'] });
  });

  test('one that is read whole is asked about every call', async () => {
    const rig = createRig({
      scripts: [
        (agent) => {
          const session = agent.spec.launch.argv.at(-1) ?? '';
          for (const callId of ['first', 'kept']) agent.call(callId, `make ${callId}`, 'ok');
          rig.machine.sessions.set(session, 'kept\n');
          agent.exit(null, 'SIGKILL');
        },
        finishes,
      ],
    });
    const { id, result } = await rig.start({ policy: quick });
    await rig.until(result);
    expect((await rig.data(id, 'attempt.failed'))[0]).toMatchObject({ lost: ['first'] });
  });
});
