import { describe, expect, test } from 'vitest';
import { runStream } from '../../../src/supervisor/index.ts';
import { checkInvariants } from './support/invariants.ts';
import { accept, createRig, type Rig } from './support/rig.ts';
import type { AgentScript } from './support/scripted-agent.ts';

const finishes: AgentScript = (agent) => agent.answer('done');
const waits: AgentScript = async (agent) => agent.stopRequested;
const quick = { retry: { scheduleMs: [1_000, 1_000, 1_000] } };

/** Another process claims the run, as it would after this one's lease ran out. */
async function steal(rig: Rig, id: string): Promise<void> {
  const thief = rig.process(99).deps.host.holder;
  const claimed = await rig.store.claim(runStream(id), thief, 600_000, () => true);
  expect(claimed.ok).toBe(true);
}

async function stuck(rig: Rig): Promise<{ readonly id: string }> {
  const { id } = await rig.start({ policy: quick });
  await rig.untilTrue('it runs', () => rig.machine.agents.length === 1);
  // As SIGSTOP: it does nothing any more, but it lives, and so does its lock.
  rig.own.journal.freeze();
  await rig.clock.advance(20_000);
  return { id };
}

describe('one owner', () => {
  test('R73 of two processes on one run one keeps it going, the other learns who does', async () => {
    const rig = createRig({ scripts: [waits] });
    const { id, run, result } = await rig.start();
    await rig.untilTrue('it runs', () => rig.machine.agents.length === 1);
    await expect(rig.until(rig.process(2).attach(id).result)).rejects.toMatchObject({
      code: 'run/held',
      message: expect.stringContaining('pid 1'),
      next: expect.arrayContaining([`onward tail ${id}`]),
    });
    await expect(rig.process(3).resume(id)).rejects.toMatchObject({ code: 'run/held' });
    expect(rig.machine.alive()).toHaveLength(1);
    run.interrupt('over');
    await rig.until(result);
  });

  test('R73 two that come at once after a crash: one goes on, one is told, and the prompt is sent once', async () => {
    for (let round = 0; round < 5; round++) {
      const rig = createRig({ scripts: [finishes, finishes] });
      const id = await accept(rig.own.deps, { policy: quick });
      rig.own.kill();
      const racing = [2, 3].map((pid) => rig.process(pid).attach(id).result);
      const results = await Promise.all(racing.map((result) => rig.until(result).catch((error: unknown) => error)));
      const done = results.filter((result) => (result as { status?: string }).status === 'done');
      expect(done.length).toBeGreaterThanOrEqual(1);
      expect(rig.machine.agents).toHaveLength(1);
      checkInvariants(await rig.events(id));
    }
  });

  test('R73 a conversation that another live process has is not entered: the run rests as held', async () => {
    const rig = createRig({ scripts: [finishes] });
    const id = await accept(rig.own.deps);
    rig.machine.beforeLock = (session) => {
      rig.machine.locks.set(`scripted ${session}`, 555);
      rig.machine.beforeLock = () => undefined;
    };
    expect(await rig.until(rig.own.attach(id).result)).toMatchObject({
      status: 'paused',
      reason: 'held',
      because: expect.stringContaining('pid 555'),
    });
    expect(rig.machine.agents).toHaveLength(0);
  });

  test('a conversation that the agent chose by itself and another process has ends the attempt', async () => {
    const rig = createRig({
      preassignsId: false,
      scripts: [
        async (agent) => {
          rig.machine.locks.set('scripted taken', 555);
          agent.session('taken');
          await agent.stopRequested;
        },
      ],
    });
    expect(await rig.until((await rig.start()).result)).toMatchObject({ status: 'paused', reason: 'held' });
    expect(rig.machine.alive()).toEqual([]);
  });

  test('different conversations run side by side', async () => {
    const rig = createRig({ scripts: [waits, waits] });
    const first = await rig.start();
    const second = rig.process(2);
    const other = second.attach(await accept(second.deps));
    await rig.untilTrue('both run', () => rig.machine.alive().length === 2);
    for (const { run, result } of [first, other]) {
      run.interrupt('over');
      expect(await rig.until(result)).toMatchObject({ status: 'paused', reason: 'interrupted' });
    }
  });

  test('a run of another machine is not begun here', async () => {
    const rig = createRig({ scripts: [finishes] });
    const id = await accept(rig.own.deps);
    const elsewhere = rig.process(2, 'another-machine');
    await expect(rig.until(elsewhere.attach(id).result)).rejects.toMatchObject({ code: 'run/other-host' });
    await expect(elsewhere.resume(id)).rejects.toMatchObject({ code: 'run/other-host' });
    expect(rig.machine.agents).toHaveLength(0);
  });
});

describe('a lease that is lost', () => {
  test('in the middle of an attempt ends its processes, and nothing more is recorded', async () => {
    const rig = createRig({
      scripts: [
        async (agent) => {
          agent.text('m1', 'before');
          await theft.promise;
          agent.onStop = () => {
            agent.text('m2', 'after');
            agent.exit(143);
          };
          await agent.stopRequested;
        },
      ],
    });
    const theft = Promise.withResolvers<void>();
    const { id, result } = await rig.start();
    await rig.untilTrue('it talks', async () => (await rig.types(id)).includes('message.committed'));
    await steal(rig, id);
    const before = await rig.types(id);
    theft.resolve();
    await expect(rig.until(result)).rejects.toMatchObject({ code: 'run/held' });
    expect(rig.machine.alive()).toEqual([]);
    expect(rig.machine.locks.size).toBe(0);
    expect(await rig.types(id)).toEqual(before);
  });

  test('while it waits: the next attempt is not announced and not started', async () => {
    const rig = createRig({ scripts: [(agent) => agent.fail({ type: 'overloaded_error' })] });
    const { id, result } = await rig.start();
    await rig.untilTrue('it waits', async () => (await rig.state(id)).phase.kind === 'waiting');
    const before = await rig.types(id);
    await steal(rig, id);
    await expect(rig.until(result)).rejects.toMatchObject({ code: 'run/held' });
    expect(rig.machine.agents).toHaveLength(1);
    expect(await rig.types(id)).toEqual(before);
  });

  test('between the announcement and the process, as after SIGSTOP and SIGCONT: the late one does not start it', async () => {
    const rig = createRig({ scripts: [finishes] });
    const id = await accept(rig.own.deps);
    rig.machine.beforeLock = async () => {
      rig.machine.beforeLock = () => undefined;
      await steal(rig, id);
    };
    await expect(rig.until(rig.own.attach(id).result)).rejects.toMatchObject({ code: 'run/held' });
    expect(rig.machine.agents).toHaveLength(0);
    expect(rig.machine.locks.size).toBe(0);
  });

  test('is not lost by a long attempt: it is renewed as long as the process lives', async () => {
    const rig = createRig({ scripts: [waits] });
    const { id, run, result } = await rig.start({ policy: { timeouts: { startupMs: 0, idleMs: 0 } } });
    await rig.clock.advance(300_000);
    expect((await rig.store.lease(runStream(id)))?.expiresAt).toBeGreaterThan(rig.clock.now());
    run.interrupt('over');
    await rig.until(result);
    expect(await rig.store.lease(runStream(id))).toBeUndefined();
  });
});

describe('a takeover while the old process still has the conversation', () => {
  test('waits, says so once, and goes on as soon as the other has let go', async () => {
    const rig = createRig({ scripts: [waits, finishes] });
    const { id } = await stuck(rig);
    const { result, seen } = rig.process(2).attach(id);
    await rig.clock.advance(30_000);
    const notices = seen.filter((event) => event.type === 'notice');
    expect(notices).toHaveLength(1);
    expect(JSON.stringify(notices)).toContain('pid 1');
    expect(rig.machine.agents).toHaveLength(1);
    rig.machine.kill(1);
    expect(await rig.until(result)).toMatchObject({ status: 'done', attempts: 2 });
    checkInvariants(await rig.events(id));
  });

  test('can be given up with an interrupt', async () => {
    const rig = createRig({ scripts: [waits] });
    const { id } = await stuck(rig);
    const { run, result } = rig.process(2).attach(id);
    await rig.clock.advance(5_000);
    run.interrupt('SIGINT');
    await expect(rig.until(result)).rejects.toMatchObject({ code: 'run/held' });
  });
});

describe('the end of a supervision', () => {
  test('an error that ends it ends the agent as well, so that nothing runs on without a lease', async () => {
    const rig = createRig({ scripts: [waits, finishes] });
    const { id, result } = await rig.start({ policy: quick });
    await rig.untilTrue('it runs', () => rig.machine.agents.length === 1);
    Object.assign(rig.own.deps.journal, { due: () => Promise.reject(new Error('the journal has vanished')) });
    await expect(rig.until(result)).rejects.toThrow('the journal has vanished');
    expect(rig.machine.alive()).toEqual([]);
    expect(await rig.until(rig.process(2).attach(id).result)).toMatchObject({ status: 'done' });
  });
});
