import { describe, expect, test } from 'vitest';
import { accept, createRig, type Rig } from './support/rig.ts';
import type { AgentScript } from './support/scripted-agent.ts';

const overloaded = { type: 'overloaded_error', status: 529, message: 'Overloaded' };
const waits: AgentScript = async (agent) => agent.stopRequested;
const cancelled = { status: 'cancelled', because: 'enough' };

/** The run ended for good, nothing lives, and its messages are dealt with. */
async function expectCancelled(rig: Rig, id: string): Promise<void> {
  expect((await rig.types(id)).filter((type) => type === 'run.ended')).toHaveLength(1);
  expect(rig.machine.alive()).toEqual([]);
  expect(rig.machine.locks.size).toBe(0);
  expect(await rig.store.due(rig.clock.now() + 1e12, 10)).toEqual([]);
}

describe('a cancel', () => {
  test('ends a run that has not begun', async () => {
    const rig = createRig();
    const id = await accept(rig.own.deps);
    await rig.cancel(id);
    expect(await rig.until(rig.own.attach(id).result)).toMatchObject(cancelled);
    expect(rig.machine.agents).toHaveLength(0);
    await expectCancelled(rig, id);
  });

  test('ends a run that waits, without another attempt', async () => {
    const rig = createRig({ scripts: [(agent) => agent.fail(overloaded)] });
    const { id, result } = await rig.start();
    await rig.untilTrue('it waits', async () => (await rig.state(id)).phase.kind === 'waiting');
    await rig.cancel(id);
    expect(await rig.until(result)).toMatchObject(cancelled);
    expect(rig.machine.agents).toHaveLength(1);
    await expectCancelled(rig, id);
  });

  test('wins in the very tick in which a wait ends', async () => {
    const rig = createRig({ scripts: [(agent) => agent.fail(overloaded)] });
    const { id, result } = await rig.start();
    await rig.untilTrue('it waits', async () => (await rig.state(id)).phase.kind === 'waiting');
    const { phase } = await rig.state(id);
    const left = phase.kind === 'waiting' ? phase.at - rig.clock.now() : 0;
    await rig.clock.advance(left - 1);
    await rig.cancel(id);
    await rig.clock.advance(1);
    expect(await rig.until(result)).toMatchObject(cancelled);
    expect(rig.machine.agents).toHaveLength(1);
  });

  test.each(['copying the session', 'announcing the attempt', 'taking the lock'])(
    'wins while the next attempt is prepared: %s',
    async (when) => {
      const rig = createRig({ scripts: [(agent) => agent.fail(overloaded)] });
      const { id, result } = await rig.start();
      await rig.untilTrue('it waits', async () => (await rig.state(id)).phase.kind === 'waiting');
      rig.machine.sessions.set(rig.machine.launches[0]?.sessionId ?? '', 'content');
      if (when === 'copying the session') rig.machine.beforeCopy = () => rig.cancel(id);
      else if (when === 'announcing the attempt')
        rig.own.journal.before = (batch) =>
          batch[0]?.events.at(-1)?.type === 'attempt.started' ? rig.cancel(id) : undefined;
      else rig.machine.beforeLock = () => rig.cancel(id);
      expect(await rig.until(result)).toMatchObject(cancelled);
      expect(rig.machine.agents).toHaveLength(1);
      await expectCancelled(rig, id);
    },
  );

  test('wins also when nobody has been told of it yet: before a process is started the inbox is looked at', async () => {
    const rig = createRig();
    const id = await accept(rig.own.deps);
    const { journal } = rig.own.journal;
    const follow = journal.follow.bind(journal);
    const deaf: typeof follow = (stream, after, signal) =>
      follow(stream.replace('inbox:', 'elsewhere:'), after, signal);
    Object.assign(journal, { follow: deaf });
    rig.machine.beforeLock = () => rig.cancel(id);
    expect(await rig.until(rig.own.attach(id).result)).toMatchObject(cancelled);
    expect(rig.machine.agents).toHaveLength(0);
  });

  test('while a process is being started ends that process before it has said anything', async () => {
    const rig = createRig({ scripts: [waits] });
    const id = await accept(rig.own.deps);
    rig.machine.beforeStart = () => rig.cancel(id);
    expect(await rig.until(rig.own.attach(id).result)).toMatchObject(cancelled);
    expect(rig.machine.agents[0]?.stops).toHaveLength(1);
    await expectCancelled(rig, id);
  });

  test('while it streams ends it by its own ladder with the user’s patience, keeps what it said, and starts nothing more', async () => {
    const rig = createRig({
      scripts: [
        async (agent) => {
          agent.text('m1', 'so far');
          await agent.stopRequested;
        },
      ],
    });
    const { id, result, seen } = await rig.start({ policy: { timeouts: { ladderMs: 1_234 } } });
    await rig.untilTrue('it talks', () => seen.some((event) => event.type === 'message.committed'));
    await rig.cancel(id);
    expect(await rig.until(result)).toMatchObject({ ...cancelled, attempts: 1 });
    expect(rig.machine.agents[0]?.stops[0]).toEqual([
      { kind: 'signal', signal: 'SIGTERM', target: 'group', ms: 1_234 },
    ]);
    expect(await rig.data(id, 'message.committed')).toHaveLength(1);
    expect((await rig.data(id, 'recovery.decided'))[0]).toMatchObject({ decision: { action: 'cancelled' } });
    await expectCancelled(rig, id);
  });

  test('that comes with a success which was printed already does not undo it, and leaves no message unread', async () => {
    const rig = createRig({
      scripts: [
        async (agent) => {
          agent.lastWord('done');
          await agent.stopRequested;
        },
      ],
    });
    const { id, result } = await rig.start();
    await rig.untilTrue('it has said its last word', () => rig.machine.agents[0]?.inputEnded === true);
    await rig.cancel(id);
    expect(await rig.until(result)).toMatchObject({ status: 'done', text: 'done' });
    await expectCancelled(rig, id);
  });

  test('ends a run that rests', async () => {
    const rig = createRig({ scripts: [(agent) => agent.fail({ status: 401, message: 'Invalid API key' })] });
    const { id, result } = await rig.start();
    expect(await rig.until(result)).toMatchObject({ status: 'paused' });
    await rig.cancel(id);
    expect(await rig.until(rig.own.attach(id).result)).toMatchObject(cancelled);
    await expectCancelled(rig, id);
  });

  test('that was sent before a crash is obeyed by whoever takes over', async () => {
    const rig = createRig({ scripts: [waits] });
    const { id } = await rig.start();
    await rig.untilTrue('it runs', () => rig.machine.agents.length === 1);
    rig.own.kill();
    await rig.cancel(id);
    expect(await rig.until(rig.process(2).attach(id).result)).toMatchObject(cancelled);
    await expectCancelled(rig, id);
  });
});

describe('an interrupt', () => {
  test('while it streams checkpoints the run, which can be resumed in the same conversation', async () => {
    const rig = createRig({ scripts: [waits, (agent) => agent.answer('done')] });
    const { id, run, result } = await rig.start();
    await rig.untilTrue('it runs', () => rig.machine.agents.length === 1);
    run.interrupt('SIGINT');
    expect(await rig.until(result)).toMatchObject({ status: 'paused', reason: 'interrupted' });
    expect(rig.machine.alive()).toEqual([]);
    const again = await rig.process(2).resume(id);
    expect(await rig.until(again.result)).toMatchObject({ status: 'done', attempts: 2 });
    expect(rig.machine.launches[1]).toMatchObject({ mode: 'resume', sessionId: rig.machine.launches[0]?.sessionId });
  });

  test('while it waits starts nothing more', async () => {
    const rig = createRig({ scripts: [(agent) => agent.fail(overloaded)] });
    const { id, run, result } = await rig.start();
    await rig.untilTrue('it waits', async () => (await rig.state(id)).phase.kind === 'waiting');
    run.interrupt('SIGTERM');
    expect(await rig.until(result)).toMatchObject({ status: 'paused', reason: 'interrupted', because: 'SIGTERM' });
    expect(rig.machine.agents).toHaveLength(1);
  });

  test('before anything was started starts nothing, and can be resumed with the prompt', async () => {
    const rig = createRig({ scripts: [(agent) => agent.answer('done')] });
    const { id, run, result } = await rig.start();
    run.interrupt('SIGINT');
    expect(await rig.until(result)).toMatchObject({ status: 'paused', reason: 'interrupted' });
    expect(rig.machine.agents).toHaveLength(0);
    expect(await rig.until((await rig.own.resume(id)).result)).toMatchObject({ status: 'done' });
    expect(rig.machine.launches[0]).toMatchObject({ mode: 'create', prompt: 'do the task' });
  });

  test('a second one ends the processes without waiting', async () => {
    const rig = createRig({
      scripts: [
        (agent) => {
          agent.stop = (steps) => {
            agent.stops.push(steps);
            return hurried.promise;
          };
          agent.hurry = () => hurried.resolve();
        },
      ],
    });
    const hurried = Promise.withResolvers<void>();
    let isHurried = false;
    void hurried.promise.then(() => (isHurried = true));
    const { run, result } = await rig.start();
    const agent = await untilAgent(rig);
    run.interrupt('SIGINT');
    await rig.untilTrue('it was asked to stop', () => agent.stops.length === 1);
    expect(isHurried).toBe(false);
    run.interrupt('SIGINT');
    expect(await rig.until(result)).toMatchObject({ status: 'paused', reason: 'interrupted' });
  });

  test('R75 a resume while the interrupted process still ends is refused, and at no time do two live', async () => {
    const rig = createRig({
      scripts: [
        async (agent) => {
          agent.onStop = () => stopping.resolve();
          await stopping.promise;
          await rig.clock.sleep(8_000);
          agent.exit(143);
        },
        (agent) => {
          expect(rig.machine.alive()).toEqual([agent]);
          agent.answer('done');
        },
      ],
    });
    const stopping = Promise.withResolvers<void>();
    const { id, run, result } = await rig.start();
    const agent = await untilAgent(rig);
    agent.stop = async () => {
      agent.onStop();
      await agent.exited;
    };
    run.interrupt('SIGINT');
    const second = rig.process(2);
    await expect(second.resume(id)).rejects.toMatchObject({ code: 'run/held' });
    await rig.until(result);
    expect(await rig.until((await second.resume(id)).result)).toMatchObject({ status: 'done' });
    expect(rig.machine.scriptErrors).toEqual([]);
  });
});

async function untilAgent(rig: Rig): Promise<Rig['machine']['agents'][number]> {
  await rig.untilTrue('it runs', () => rig.machine.agents.length === 1);
  const [agent] = rig.machine.agents;
  if (agent === undefined) throw new Error('no agent');
  return agent;
}
