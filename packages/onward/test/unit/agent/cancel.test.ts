import { afterEach, describe, expect, test } from 'vitest';
import type { CancelCause } from '../../../src/agent/agent-api.ts';
import { createGate, createScriptedModel, type Gate } from '../../../src/testing/index.ts';
import {
  endTestAgents,
  outline,
  overloaded,
  rounds,
  startTestAgent,
  type TestAgent,
  type TestAgentOptions,
  testTool,
  until,
} from './start-test-agent.ts';

afterEach(endTestAgents);

const endOf = (rig: TestAgent): unknown => rig.data('turn.closed').at(-1)?.end;

/** Where a turn can stand still. Each place waits at the gate with the signal that it was given. */
const places: { readonly [place: string]: (gate: Gate) => TestAgentOptions } = {
  'the admission of a prompt': (gate) => ({
    on: {
      'agent/prompt-admission': async ({ signal }, next) => {
        await gate.wait(signal);
        return await next();
      },
    },
  }),
  'the function of the instructions': (gate) => ({
    instructions: async (signal) => {
      await gate.wait(signal);
      return '';
    },
  }),
  'the listener before a step': (gate) => ({
    on: {
      'agent/pre-step': async ({ signal }, next) => {
        await gate.wait(signal);
        await next();
      },
    },
  }),
  'the listener before a request': (gate) => ({
    on: {
      'agent/request': async ({ signal }, next) => {
        await gate.wait(signal);
        return await next();
      },
    },
  }),
  'the stream': (gate) => ({ script: [[{ gate }, 'late']] }),
  'the stream of a model that ignores the signal': (gate) => ({
    model: createScriptedModel(
      [
        async () => {
          await gate.wait();
          return 'late';
        },
      ],
      { ignoresSignal: true },
    ),
  }),
  'a tool': (gate) => ({
    script: [[{ call: 'wait' }], 'done'],
    tools: [
      testTool('wait', async (_, { signal }) => {
        await gate.wait(signal);
        return 'over';
      }),
    ],
  }),
  'the listener before a call': (gate) => ({
    script: [[{ call: 'wait' }], 'done'],
    tools: [testTool('wait')],
    on: {
      'agent/tool-call': async ({ signal }, next) => {
        await gate.wait(signal);
        return await next();
      },
    },
  }),
  'the listener at the end': (gate) => ({
    on: {
      'agent/turn-stopping': async ({ signal }, next) => {
        await gate.wait(signal);
        await next();
      },
    },
  }),
  'the recovery of a failed request': (gate) => ({
    script: [[{ fail: overloaded }], 'done'],
    on: {
      'agent/request-error': async ({ signal }) => {
        await gate.wait(signal);
        return { kind: 'retry' };
      },
    },
  }),
};

describe('a cancel', () => {
  test('A97 given an idle agent, when it is cancelled, then nothing is recorded and the next prompt runs normally', async () => {
    const rig = await startTestAgent();
    rig.agent.cancel();
    expect(rig.data('cancel.requested')).toEqual([]);
    expect(await rig.ask('a')).toMatchObject({ kind: 'done', text: 'done' });
  });

  test('A98 given two cancels, when the second comes, then the reason of the signal is a frozen copy of the first', async () => {
    const gate = createGate();
    const reasons: unknown[] = [];
    const rig = await startTestAgent({
      script: [[{ call: 'wait' }]],
      tools: [
        testTool('wait', async (_, { signal }) => {
          await gate.wait();
          reasons.push(signal.reason);
          return null;
        }),
      ],
    });
    const asked = rig.agent.followup('a');
    await gate.entered;
    rig.agent.cancel('user');
    rig.agent.cancel('parent');
    gate.open();
    expect(await asked.ended).toEqual({ kind: 'cancelled', cause: 'user' });
    expect(reasons).toEqual([{ kind: 'cancel', cause: 'user' }]);
    expect(Object.isFrozen(reasons[0])).toBe(true);
    expect(endOf(rig)).toEqual({ reason: 'aborted', cause: 'user' });
  });

  test('A99 given steering that is staged, when the turn is cancelled, then it becomes no turn and is never sent', async () => {
    const gate = createGate();
    const rig = await startTestAgent({ script: [[{ gate }, 'late'], 'next'] });
    const asked = rig.agent.followup('a');
    await gate.entered;
    rig.agent.steer('faster');
    rig.agent.cancel();
    await asked.ended;
    await rig.agent.whenIdle();
    expect(rig.data('turn.opened')).toHaveLength(1);
    await rig.ask('b');
    expect(outline(rig.agent.history())).not.toContain('user: faster');
  });

  test('A99 given steering that is staged, when the turn is cancelled and the inbox is kept, then the next turn delivers it', async () => {
    const gate = createGate();
    const rig = await startTestAgent({ script: [[{ gate }, 'late'], 'next'] });
    const asked = rig.agent.followup('a');
    await gate.entered;
    rig.agent.steer('faster');
    rig.agent.cancel('user', { keepInbox: true });
    await asked.ended;
    await rig.ask('b');
    expect(rig.data('turn.opened')).toHaveLength(2);
    expect(outline(rig.agent.history())).toEqual(['user: a', 'user: faster', 'user: b', 'assistant: next']);
  });

  test('A101 given an observer of the abort that queues a replacement, when cancelled, then it runs after the aborted turn was closed', async () => {
    const gate = createGate();
    let replacement: Promise<unknown> | undefined;
    const rig: TestAgent = await startTestAgent({
      script: [[{ call: 'wait' }], 'instead'],
      tools: [
        testTool('wait', async (_, { signal }) => {
          signal.addEventListener('abort', () => {
            replacement = rig.agent.followup('instead of it').ended;
          });
          await gate.wait();
          return 'slow';
        }),
      ],
    });
    const asked = rig.agent.followup('a');
    await gate.entered;
    rig.agent.cancel();
    expect(rig.data('turn.opened')).toHaveLength(1);
    gate.open();
    expect(await asked.ended).toMatchObject({ kind: 'cancelled' });
    expect(await replacement).toMatchObject({ kind: 'done', text: 'instead' });
    const order = rig.seen.map(({ type }) => type).filter((type) => type.startsWith('turn.'));
    expect(order).toEqual(['turn.opened', 'turn.closed', 'turn.opened', 'turn.closed']);
  });

  test.each(Object.keys(places))(
    'A102 given %s that stands still, when cancelled, then the one signal of the turn lets it go',
    async (place) => {
      const gate = createGate();
      const rig = await startTestAgent(places[place]?.(gate));
      const asked = rig.agent.followup('a');
      await gate.entered;
      rig.agent.cancel();
      expect(await asked.ended).toEqual({ kind: 'cancelled', cause: 'user' });
      await rig.agent.whenIdle();
      expect(gate.isOpen).toBe(false);
      expect(rig.model.requests.length).toBeLessThanOrEqual(1);
      expect(await rig.stored()).toHaveLength(rig.seen.length);
    },
  );

  test('A103 given a tool that ignores the signal, when cancelled, then idle comes only after it has settled, with its real result', async () => {
    const gate = createGate();
    const rig = await startTestAgent({
      script: [[{ call: 'deaf' }]],
      tools: [
        testTool('deaf', async () => {
          await gate.wait();
          return 'it is done';
        }),
      ],
    });
    const asked = rig.agent.followup('a');
    await gate.entered;
    rig.agent.cancel();
    let idle = false;
    void rig.agent.whenIdle().then(() => (idle = true));
    await rounds();
    expect(idle).toBe(false);
    gate.open();
    await asked.ended;
    await rig.agent.whenIdle();
    expect(outline(rig.agent.history()).at(-1)).toBe('tool: result deaf: it is done');
  });

  test.each(['none', 'untracked', {}] as const)(
    'A103 given a tool with effect %j that ignores the signal, when disposed, then that waits until it has settled and records its result',
    async (effect) => {
      const gate = createGate();
      const tool = testTool(
        'deaf',
        async () => {
          await gate.wait();
          return 'it is done';
        },
        { effect },
      );
      const rig = await startTestAgent({ script: [[{ call: 'deaf' }]], tools: [tool] });
      const asked = rig.agent.followup('a');
      await gate.entered;
      let disposed = false;
      const disposal = rig.agent[Symbol.asyncDispose]().then(() => (disposed = true));
      await rounds();
      expect([disposed, rig.agent.status]).toEqual([false, 'running']);
      gate.open();
      await disposal;
      expect(await asked.ended).toEqual({ kind: 'cancelled', cause: 'disposed' });
      expect(rig.data('call.finished')).toMatchObject([{ outcome: { ok: true, output: 'it is done' } }]);
      expect((await rig.stored()).at(-1)).toMatchObject({ type: 'turn.closed', data: { end: { reason: 'disposed' } } });
    },
  );

  test('A104 given a cancel of the user and then a disposal, when both race, then the reason is the abort of the user', async () => {
    const gate = createGate();
    const rig = await startTestAgent({ script: [[{ gate }, 'late']] });
    const asked = rig.agent.followup('a');
    await gate.entered;
    rig.agent.cancel();
    await rig.agent[Symbol.asyncDispose]();
    expect(await asked.ended).toEqual({ kind: 'cancelled', cause: 'user' });
    expect(endOf(rig)).toEqual({ reason: 'aborted', cause: 'user' });
  });

  test('A105 given a listener that disposes when told of running, when work is queued, then no turn opens and the agent ends disposed', async () => {
    let disposal: PromiseLike<void> | undefined;
    const rig: TestAgent = await startTestAgent({
      onStatus(status) {
        if (status === 'running') disposal = rig.agent[Symbol.asyncDispose]();
      },
    });
    const asked = rig.agent.followup('a');
    expect(await asked.ended).toEqual({ kind: 'cancelled', cause: 'disposed' });
    await disposal;
    expect(rig.agent.status).toBe('disposed');
    expect(rig.data('turn.opened')).toEqual([]);
    expect(rig.model.requests).toEqual([]);
    expect((await rig.stored()).map(({ type }) => type)).toEqual(['session.created', 'message.accepted']);
  });

  test('A107 given text that was visible, when cancelled in mid-stream, then one interrupted message has exactly that, and no calls', async () => {
    const gate = createGate();
    const rig = await startTestAgent({
      script: [['one ', { call: 'x', input: { a: 1 } }, { text: 'two', pieces: 3 }, { gate }, 'never'], 'next'],
      tools: [testTool('x')],
    });
    const asked = rig.agent.followup('a');
    await gate.entered;
    rig.agent.cancel();
    await asked.ended;
    expect(rig.data('answer.interrupted')).toEqual([
      {
        turn: 1,
        step: 1,
        parts: [
          { type: 'text', text: 'one ' },
          { type: 'text', text: 'two' },
        ],
      },
    ]);
    expect(rig.data('call.started')).toEqual([]);
    expect(await rig.ask('b')).toMatchObject({ kind: 'done' });
    expect(outline(rig.agent.history())).toEqual(['user: a', 'assistant: one  | two', 'user: b', 'assistant: next']);
    expect(rig.model.refused).toEqual([]);
  });

  test('A107 given nothing but blanks that were visible, when cancelled in mid-stream, then no message is committed', async () => {
    const gate = createGate();
    const rig = await startTestAgent({ script: [[' \n', { thinking: 'hm' }, { gate }, 'never']] });
    const asked = rig.agent.followup('a');
    await gate.entered;
    rig.agent.cancel();
    await asked.ended;
    expect(rig.data('answer.interrupted')).toEqual([]);
    expect(outline(rig.agent.history())).toEqual(['user: a']);
  });

  test('A108 given a turn that takes 50 ms to unwind, when a prompt comes 10 ms after the cancel, then it runs with no further wake', async () => {
    const rig = await startTestAgent({
      script: [[{ call: 'slow' }], 'next'],
      tools: [
        testTool('slow', async (_, { signal }) => {
          await rig.clock.sleep(1_000_000, signal);
          await rig.clock.sleep(50);
          return null;
        }),
      ],
    });
    const first = rig.agent.followup('a');
    await until(() => rig.clock.pending().length > 0 && rig.model.requests.length === 1);
    await rounds();
    rig.agent.cancel();
    await rig.clock.advance(10);
    const second = rig.agent.followup('b');
    await rig.clock.advance(39);
    expect(rig.data('turn.closed')).toEqual([]);
    await rig.clock.advance(1);
    expect(await first.ended).toMatchObject({ kind: 'cancelled' });
    expect(await second.ended).toMatchObject({ kind: 'done', text: 'next' });
  });

  test('A108 given a disposal that began, when a prompt comes, then it is refused and does not run', async () => {
    const gate = createGate();
    const rig = await startTestAgent({ script: [[{ gate }, 'late'], 'next'] });
    rig.agent.followup('a');
    await gate.entered;
    const disposal = rig.agent[Symbol.asyncDispose]();
    expect(() => rig.agent.followup('b')).toThrow(expect.objectContaining({ code: 'agent/disposed' }));
    await disposal;
    expect(rig.model.requests).toHaveLength(1);
  });

  test('aborts also where a plugin breaks on what is recorded of it', async () => {
    const gate = createGate();
    const rig = await startTestAgent({
      script: [[{ gate }, 'late']],
      plugins: [
        {
          name: 'broken',
          setup(host) {
            host.fold(0, (count, event) => {
              if (event.type === 'cancel.requested') throw new Error('cannot fold that');
              return count + 1;
            });
          },
        },
      ],
    });
    const asked = rig.agent.followup('a');
    await gate.entered;
    expect(() => rig.agent.cancel()).toThrow('cannot fold that');
    expect(await asked.ended).toEqual({ kind: 'cancelled', cause: 'user' });
  });

  test.each<CancelCause>(['user', 'parent'])('by the %s is in the end of the turn and of the prompt', async (cause) => {
    const gate = createGate();
    const rig = await startTestAgent({ script: [[{ gate }, 'late']] });
    const asked = rig.agent.followup('a');
    await gate.entered;
    rig.agent.cancel(cause);
    expect(await asked.ended).toEqual({ kind: 'cancelled', cause });
    expect(endOf(rig)).toEqual({ reason: 'aborted', cause });
  });
});
