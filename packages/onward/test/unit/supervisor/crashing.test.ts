import { describe, expect, test } from 'vitest';
import type { Append } from '../../../src/kernel/journal.ts';
import { resumeRun } from '../../../src/library/index.ts';
import { checkInvariants } from './support/invariants.ts';
import { accept, createRig, type Rig } from './support/rig.ts';
import type { AgentScript, ScriptedAgent } from './support/scripted-agent.ts';

const overloaded = { type: 'overloaded_error', status: 529, message: 'Overloaded' };
const unknownSession = { type: 'session_not_found', message: 'No conversation found' };
const finishes: AgentScript = (agent) => agent.answer('done');
const waits: AgentScript = async (agent) => agent.stopRequested;
const talks: AgentScript = async (agent) => {
  for (let n = 1; n <= 50; n++) agent.text(`m${n}`, `text ${n}`);
  await agent.stopRequested;
};
const quick = { retry: { scheduleMs: [1_000, 1_000, 1_000] } };

const has = (batch: readonly Append[], type: string): boolean =>
  batch.some((append) => append.events.some((event) => event.type === type));

/** Kills the first process right after (or before) the append that records something; resolves when it has happened. */
function killAt(rig: Rig, type: string, when: 'before' | 'after'): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  rig.own.journal.before = async (batch) => {
    if (!has(batch, type)) return;
    if (when === 'after') await rig.store.append(batch);
    rig.own.kill();
    resolve();
  };
  return promise;
}

describe('a crash of onward', () => {
  test('after the run was accepted: attempt 1 is started with the prompt', async () => {
    const rig = createRig({ scripts: [finishes] });
    const id = await accept(rig.own.deps);
    rig.own.kill();
    expect(await rig.until(rig.process(2).attach(id).result)).toMatchObject({ status: 'done', attempts: 1 });
    expect(rig.machine.launches[0]).toMatchObject({ mode: 'create', prompt: 'do the task' });
  });

  test('after an attempt was announced and before its process: nothing was taken, so the prompt is sent', async () => {
    for (const preassignsId of [true, false]) {
      const rig = createRig({ preassignsId, scripts: [finishes] });
      const killed = killAt(rig, 'attempt.started', 'after');
      const { id } = await rig.start({ policy: quick });
      await rig.until(killed);
      expect(await rig.until(rig.process(2).attach(id).result)).toMatchObject({ status: 'done', attempts: 2 });
      expect(rig.machine.launches.map((launch) => launch.prompt)).toEqual(['do the task']);
      expect((await rig.data(id, 'attempt.started')).map((start) => start['mode'])).toEqual(['first', 'restart']);
    }
  });

  test('with a process that printed nothing: resume is tried; a typed "not found" leads to the prompt, once', async () => {
    const rig = createRig({ scripts: [waits, (agent) => agent.fail(unknownSession), finishes] });
    const { id } = await rig.start({ policy: quick });
    await rig.untilTrue('it runs', () => rig.machine.agents.length === 1);
    rig.own.kill();
    expect(await rig.until(rig.process(2).attach(id).result)).toMatchObject({ status: 'done', attempts: 3 });
    expect(rig.machine.launches.map((launch) => launch.mode)).toEqual(['create', 'resume', 'create']);
    expect(rig.machine.launches.map((launch) => launch.prompt === 'do the task')).toEqual([true, false, true]);
  });

  test('before the id of the conversation is known: the outcome is unknown and a person decides', async () => {
    const rig = createRig({ preassignsId: false, scripts: [waits] });
    const { id } = await rig.start({ policy: quick });
    await rig.untilTrue('it runs', () => rig.machine.agents.length === 1);
    rig.own.kill();
    expect(await rig.until(rig.process(2).attach(id).result)).toMatchObject({
      status: 'paused',
      reason: 'needs-human',
      attempts: 1,
    });
    expect(rig.machine.agents).toHaveLength(1);
  });

  test('before the id was recorded, but with it in the output: it is read there and continued', async () => {
    const rig = createRig({
      preassignsId: false,
      scripts: [
        async (agent) => {
          agent.session('printed-only');
          await agent.stopRequested;
        },
        finishes,
      ],
    });
    const killed = killAt(rig, 'attempt.session', 'before');
    const { id } = await rig.start({ policy: quick });
    await rig.until(killed);
    expect(await rig.until(rig.process(2).attach(id).result)).toMatchObject({ status: 'done', attempts: 2 });
    expect(rig.machine.launches[1]).toMatchObject({ mode: 'resume', sessionId: 'printed-only' });
    expect((await rig.data(id, 'attempt.session'))[0]).toMatchObject({ n: 1, id: 'printed-only' });
  });

  test('with a tool result printed and not recorded: it is read before it is decided, and told', async () => {
    const rig = createRig({
      scripts: [
        async (agent) => {
          agent.say({ kind: 'call-started', callId: 'c1', tool: 'Bash', input: { command: 'pay' } });
          agent.say({ kind: 'call-finished', callId: 'c1', ok: true, output: 'paid 5 EUR' });
          await agent.stopRequested;
        },
        finishes,
      ],
    });
    const killed = killAt(rig, 'call.started', 'before');
    const { id } = await rig.start({ policy: quick });
    await rig.until(killed);
    expect(await rig.until(rig.process(2).attach(id).result)).toMatchObject({ status: 'done', attempts: 2 });
    expect(await rig.data(id, 'call.finished')).toHaveLength(1);
    expect(rig.machine.launches[1]?.prompt).toContain('paid 5 EUR');
  });

  test('with a success printed and not recorded: it is a success, and nothing is started', async () => {
    const rig = createRig({ scripts: [finishes] });
    const killed = killAt(rig, 'attempt.committed', 'before');
    const { id } = await rig.start({ policy: quick });
    await rig.until(killed);
    expect(await rig.until(rig.process(2).attach(id).result)).toMatchObject({
      status: 'done',
      text: 'done',
      attempts: 1,
    });
    expect(rig.machine.agents).toHaveLength(1);
  });

  test('while it waits for the next attempt: what is left is waited for, by the wall clock', async () => {
    const rig = createRig({ scripts: [(agent) => agent.fail(overloaded), finishes] });
    const { id } = await rig.start({ policy: { retry: { scheduleMs: [600_000] } } });
    await rig.untilTrue('it waits', async () => (await rig.state(id)).phase.kind === 'waiting');
    const { phase } = await rig.state(id);
    rig.own.kill();
    await rig.clock.advance(200_000);
    const starts: number[] = [];
    rig.machine.beforeStart = () => void starts.push(rig.clock.now());
    const next = await rig.process(2).resume(id);
    expect(await rig.until(next.result)).toMatchObject({ status: 'done' });
    expect(phase).toMatchObject({ kind: 'waiting', at: starts[0] });
    expect(JSON.stringify(next.seen.filter((event) => event.type === 'notice'))).toContain('attempt 2 begins at');
  });

  test('while it waits: a person can cut the rest of the wait short', async () => {
    const rig = createRig({ scripts: [(agent) => agent.fail(overloaded), finishes] });
    const { id } = await rig.start({ policy: { retry: { scheduleMs: [600_000] } } });
    await rig.untilTrue('it waits', async () => (await rig.state(id)).phase.kind === 'waiting');
    rig.own.kill();
    const before = rig.clock.now();
    const run = await resumeRun(rig.process(2).deps, id, 'a test', { now: true });
    expect(await rig.until(run.result)).toMatchObject({ status: 'done', attempts: 2 });
    expect(rig.clock.now() - before).toBeLessThan(10_000);
  });

  test('R67 before anything of the output was recorded loses none of it and delivers none of it twice', async () => {
    for (let at = 1; at <= 6; at++) {
      const rig = createRig({ scripts: [talks, finishes] });
      let appends = 0;
      const killed = Promise.withResolvers<void>();
      rig.own.journal.before = () => {
        if (++appends < at + 2) return;
        rig.own.kill();
        killed.resolve();
      };
      const first = await rig.start({ policy: quick });
      await Promise.race([rig.until(killed.promise), untilRecorded(rig, first.id, 50)]);
      rig.own.kill();
      const second = rig.process(2).attach(first.id);
      await rig.until(second.result);
      const ids = (await rig.data(first.id, 'message.committed')).map((data) => data['id']);
      expect(ids).toEqual(Array.from({ length: 50 }, (_, n) => `m${n + 1}`));
      const delivered = second.seen.filter((event) => event.type === 'message.committed');
      expect(delivered).toHaveLength(50);
    }
  });

  test('a line that says several things is recorded as a whole or not at all', async () => {
    const many = Array.from({ length: 450 }, (_, n) => ({ kind: 'message', id: `m${n}`, text: 'x' }) as const);
    const rig = createRig({
      scripts: [
        async (agent) => {
          agent.say({ kind: 'session', id: agent.spec.launch.argv.at(-1) ?? '' }, ...many);
          await agent.stopRequested;
        },
        finishes,
      ],
    });
    const killed = killAt(rig, 'message.committed', 'after');
    const { id } = await rig.start({ policy: quick });
    await rig.until(killed);
    await rig.until(rig.process(2).attach(id).result);
    expect(await rig.data(id, 'message.committed')).toHaveLength(450);
  });
});

async function untilRecorded(rig: Rig, id: string, count: number): Promise<void> {
  await rig.untilTrue('all is recorded', async () => (await rig.data(id, 'message.committed')).length === count);
}

/** An effect, an overload, a second attempt: as in the process-level test, with an agent that never repeats what it was told. */
function countedRig(): { rig: Rig; effects: string[] } {
  const effects: string[] = [];
  const history: string[] = [];
  const worker: AgentScript = async (agent) => {
    const prompt = await agent.heard(0);
    agent.session(agent.spec.launch.argv.at(-1) ?? '');
    agent.text(`m${agent.pid}`, 'I look.');
    if (!history.includes('paid') && !prompt.includes('paid')) {
      await pay(agent, effects, history);
      agent.fail(overloaded);
      return;
    }
    agent.answer('done');
  };
  const rig = createRig({ scripts: Array<AgentScript>(10).fill(worker) });
  return { rig, effects };
}

async function pay(agent: ScriptedAgent, effects: string[], history: string[]): Promise<void> {
  agent.say({ kind: 'call-intended', callId: `c${agent.pid}`, tool: 'Bash', input: { command: 'pay' }, reply: 'go' });
  if ((await agent.heard(1)) !== 'go') return;
  if (!agent.isAlive) return;
  effects.push('paid');
  agent.say({ kind: 'call-finished', callId: `c${agent.pid}`, ok: true, output: 'paid' });
  history.push('paid');
}

describe('a kill at every durable write', () => {
  test('leaves a run that is finished by the next process, with one effect and a journal in order', async () => {
    const clean = countedRig();
    const all = await clean.rig.start({ policy: quick });
    await clean.rig.until(all.result);
    const commits = clean.rig.own.journal.appends.length;
    expect(commits).toBeGreaterThanOrEqual(8);
    for (let k = 2; k <= commits; k++) {
      for (const when of ['before', 'after'] as const) {
        const { rig, effects } = countedRig();
        const killed = Promise.withResolvers<void>();
        let appends = 0;
        rig.own.journal.before = async (batch) => {
          appends += 1;
          if (appends !== k) return;
          if (when === 'after') await rig.store.append(batch);
          rig.own.kill();
          killed.resolve();
        };
        const { id } = await rig.start({ policy: quick });
        await rig.until(killed.promise);
        const result = await rig.until(rig.process(2).attach(id).result);
        expect(result, `kill ${when} commit ${k}`).toMatchObject({ status: 'done', text: 'done' });
        expect(effects, `kill ${when} commit ${k}`).toEqual(['paid']);
        expect(rig.machine.alive()).toEqual([]);
        checkInvariants(await rig.events(id));
      }
    }
  });
});
