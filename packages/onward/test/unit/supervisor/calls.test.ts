import { describe, expect, test } from 'vitest';
import { createRig } from './support/rig.ts';
import type { AgentScript, ScriptedAgent } from './support/scripted-agent.ts';

const finishes: AgentScript = (agent) => agent.answer('done');
const quick = { retry: { scheduleMs: [1_000, 1_000, 1_000] } };

function intends(agent: ScriptedAgent, callId: string, command: string): void {
  agent.say({ kind: 'call-intended', callId, tool: 'Bash', input: { command }, reply: `go ${callId}` });
}

function finishesCall(agent: ScriptedAgent, callId: string, output: string, ok = true): void {
  agent.say({ kind: 'call-finished', callId, ok, output });
}

/** A call that ran and ended, in a process that was then killed before its conversation had it. */
const loses =
  (callId: string, command: string, output = 'paid 5 EUR'): AgentScript =>
  async (agent) => {
    intends(agent, callId, command);
    await agent.heard(1);
    finishesCall(agent, callId, output);
    agent.exit(null, 'SIGKILL');
  };

describe('a gated call', () => {
  test('is answered only once its record is durable', async () => {
    const rig = createRig({
      scripts: [
        async (agent) => {
          intends(agent, 'c1', 'pay');
          expect(await agent.heard(1)).toBe('go c1');
          agent.answer('done');
        },
      ],
    });
    const gate = Promise.withResolvers<void>();
    let isWriting = false;
    rig.own.journal.before = async (batch) => {
      if (!batch.some((append) => append.events.some((event) => event.type === 'call.started'))) return;
      isWriting = true;
      await gate.promise;
    };
    const { id, result } = await rig.start();
    await rig.untilTrue('its record is being written', () => isWriting);
    await rig.clock.advance(5_000);
    expect(rig.machine.agents[0]?.input).toEqual(['do the task']);
    gate.resolve();
    expect(await rig.until(result)).toMatchObject({ status: 'done' });
    expect((await rig.data(id, 'call.started'))[0]).toMatchObject({ callId: 'c1', gated: true });
    expect(rig.machine.scriptErrors).toEqual([]);
  });

  test('told by hook and by stream is one call', async () => {
    const rig = createRig({
      scripts: [
        async (agent) => {
          agent.say({ kind: 'call-started', callId: 'c1', tool: 'Bash', input: { command: 'ls' } });
          intends(agent, 'c1', 'ls');
          await agent.heard(1);
          finishesCall(agent, 'c1', 'a');
          finishesCall(agent, 'c1', 'a');
          agent.answer('done');
        },
      ],
    });
    const { id, result } = await rig.start();
    await rig.until(result);
    expect(await rig.data(id, 'call.started')).toHaveLength(1);
    expect(await rig.data(id, 'call.finished')).toHaveLength(1);
  });

  test('several in one line are each answered, in order', async () => {
    const rig = createRig({
      scripts: [
        async (agent) => {
          agent.say(
            { kind: 'call-intended', callId: 'a', tool: 'T', input: 1, reply: 'go a' },
            { kind: 'call-intended', callId: 'b', tool: 'T', input: 2, reply: 'go b' },
            { kind: 'reply', line: 'and this' },
          );
          await agent.heard(3);
          agent.answer('done');
        },
      ],
    });
    await rig.until((await rig.start()).result);
    expect(rig.machine.agents[0]?.input.slice(1)).toEqual(['go a', 'go b', 'and this']);
  });
});

describe('a finished call that the conversation lost', () => {
  test('is refused once, with its result', async () => {
    const rig = createRig({
      scripts: [
        loses('c1', 'pay'),
        async (agent) => {
          intends(agent, 'c2', 'pay');
          expect(await agent.heard(1)).toMatch(/^refused c2: .*already ran.*\n.*paid 5 EUR/s);
          agent.answer('done');
        },
      ],
    });
    const { id, result } = await rig.start({ policy: quick });
    expect(await rig.until(result)).toMatchObject({ status: 'done', attempts: 2 });
    expect(rig.machine.scriptErrors).toEqual([]);
    expect(await rig.data(id, 'call.refused')).toHaveLength(1);
    expect((await rig.state(id)).attempts[1]?.calls[0]).toMatchObject({ state: 'refused' });
  });

  test('a wanted second run goes through', async () => {
    const rig = createRig({
      scripts: [
        loses('c1', 'npm test'),
        async (agent) => {
          intends(agent, 'c2', 'npm test');
          await agent.heard(1);
          finishesCall(agent, 'c2', 'refused', false);
          intends(agent, 'c3', 'npm test');
          expect(await agent.heard(2)).toBe('go c3');
          agent.answer('done');
        },
      ],
    });
    await rig.until((await rig.start({ policy: quick })).result);
    expect(rig.machine.scriptErrors).toEqual([]);
  });

  test('is refused once in all attempts together, also when the agent reported the end of the refused call', async () => {
    const rig = createRig({
      scripts: [
        loses('c1', 'npm test'),
        async (agent) => {
          intends(agent, 'c2', 'npm test');
          await agent.heard(1);
          finishesCall(agent, 'c2', 'refused by a hook', false);
          agent.fail({ type: 'overloaded_error' });
        },
        async (agent) => {
          intends(agent, 'c3', 'npm test');
          expect(await agent.heard(1)).toBe('go c3');
          agent.answer('done');
        },
      ],
    });
    const { id, result } = await rig.start({ policy: quick });
    expect(await rig.until(result)).toMatchObject({ status: 'done', attempts: 3 });
    expect(rig.machine.scriptErrors).toEqual([]);
    expect((await rig.state(id)).attempts[1]?.calls[0]).toMatchObject({ state: 'refused' });
  });

  test.each([
    ['another command', 'pay twice', 'c1'],
    ['a call that the conversation has', 'pay', 'kept'],
  ])('%s is not refused', async (_what, command, callId) => {
    const rig = createRig({
      scripts: [
        loses(callId, 'pay'),
        async (agent) => {
          intends(agent, 'c2', command);
          expect(await agent.heard(1)).toBe('go c2');
          agent.answer('done');
        },
      ],
    });
    rig.machine.beforeStart = () =>
      void rig.machine.sessions.set(rig.machine.launches[0]?.sessionId ?? '', 'a file with kept in it');
    await rig.until((await rig.start({ policy: quick })).result);
    expect(rig.machine.scriptErrors).toEqual([]);
  });

  test('a call that failed may be tried again', async () => {
    const rig = createRig({
      scripts: [
        async (agent) => {
          intends(agent, 'c1', 'flaky');
          await agent.heard(1);
          finishesCall(agent, 'c1', 'it broke', false);
          agent.exit(null, 'SIGKILL');
        },
        async (agent) => {
          intends(agent, 'c2', 'flaky');
          expect(await agent.heard(1)).toBe('go c2');
          agent.answer('done');
        },
      ],
    });
    await rig.until((await rig.start({ policy: quick })).result);
    expect(rig.machine.scriptErrors).toEqual([]);
  });

  test('an agent that does not ask is told in words, and recorded', async () => {
    const rig = createRig({
      gates: false,
      keeps: false,
      scripts: [
        (agent) => {
          agent.call('c1', 'pay', 'paid 5 EUR');
          agent.exit(null, 'SIGKILL');
        },
        finishes,
      ],
    });
    const { id, result } = await rig.start({ policy: quick });
    await rig.until(result);
    expect(rig.machine.launches[1]?.prompt).toContain('paid 5 EUR');
    expect((await rig.data(id, 'attempt.failed'))[0]).toMatchObject({ lost: ['c1'] });
  });

  test('an input over the limit is still known again', async () => {
    const long = 'x'.repeat(60_000);
    const rig = createRig({
      scripts: [
        loses('c1', long),
        async (agent) => {
          intends(agent, 'c2', `${long}y`);
          expect(await agent.heard(1)).toBe('go c2');
          intends(agent, 'c3', long);
          expect(await agent.heard(2)).toMatch(/^refused c3/);
          agent.answer('done');
        },
      ],
    });
    await rig.until((await rig.start({ policy: quick })).result);
    expect(rig.machine.scriptErrors).toEqual([]);
  });
});

describe('a call in flight', () => {
  test('is told as unknown, to be inspected first', async () => {
    const rig = createRig({
      scripts: [
        async (agent) => {
          intends(agent, 'c1', 'deploy');
          await agent.heard(1);
          agent.exit(null, 'SIGKILL');
        },
        finishes,
      ],
    });
    await rig.until((await rig.start({ policy: quick })).result);
    const prompt = rig.machine.launches[1]?.prompt ?? '';
    expect(prompt).toContain('The outcome of these tool calls is unknown');
    expect(prompt).toContain('- Bash {"command":"deploy"}');
    expect(prompt).not.toContain('These tool calls finished');
  });

  test('is told again after an attempt that did nothing, and no more after one that did', async () => {
    const rig = createRig({
      scripts: [
        async (agent) => {
          intends(agent, 'c1', 'deploy');
          await agent.heard(1);
          agent.exit(null, 'SIGKILL');
        },
        (agent) => agent.fail({ type: 'overloaded_error' }),
        (agent) => {
          agent.call('c2', 'inspect', 'deployed');
          agent.fail({ type: 'overloaded_error' });
        },
        finishes,
      ],
    });
    await rig.until((await rig.start({ policy: quick })).result);
    const told = rig.machine.launches.map((launch) => launch.prompt.includes('{"command":"deploy"}'));
    expect(told).toEqual([false, true, true, false]);
  });

  test('an unclassified failure after a call asks a person, since going on could repeat it', async () => {
    const rig = createRig({
      scripts: [
        async (agent) => {
          intends(agent, 'c1', 'deploy');
          await agent.heard(1);
          agent.fail({ message: 'who knows' });
        },
      ],
    });
    expect(await rig.until((await rig.start()).result)).toMatchObject({ status: 'paused', reason: 'needs-human' });
  });

  test('the same failure before any call is retried once, and then surfaces', async () => {
    const rig = createRig({
      scripts: [(agent) => agent.fail({ message: 'who knows' }), (agent) => agent.fail({ message: 'who knows' })],
    });
    const ended = await rig.until((await rig.start()).result);
    expect(ended).toMatchObject({ status: 'failed', attempts: 2, classification: { class: 'unclassified' } });
  });
});
