import { afterEach, describe, expect, test } from 'vitest';
import type { AnyTool } from '../../../src/agent/tool.ts';
import { createMemoryJournal } from '../../../src/stores/memory/index.ts';
import { createFakeClock, createGate, type Gate, type ScriptedItem } from '../../../src/testing/index.ts';
import { faultyJournal, stores } from './faulty-journal.ts';
import { endTestAgents, outline, rounds, startTestAgent, testTool, until } from './start-test-agent.ts';

afterEach(endTestAgents);

/** A tool whose bodies wait for a gate each, in the order of their starts, and that writes down what happens. */
function gated(more: Partial<AnyTool> = {}) {
  const gates = new Map<string, Gate>();
  const story: string[] = [];
  const gateOf = (name: string): Gate => {
    const gate = gates.get(name) ?? createGate();
    gates.set(name, gate);
    return gate;
  };
  const run = async (input: unknown): Promise<string> => {
    const { n } = input as { readonly n: string };
    story.push(`start ${n}`);
    await gateOf(n).wait();
    story.push(`end ${n}`);
    return `result ${n}`;
  };
  return {
    story,
    gateOf,
    tool: (name: string, own: Partial<AnyTool> = {}) => testTool(name, run, { ...more, ...own }),
  };
}

const call = (tool: string, n: string): ScriptedItem => ({ call: tool, input: { n } });
const calls = (tool: string, ...names: readonly string[]): readonly ScriptedItem[] =>
  names.map((name) => call(tool, name));

describe('calls of one answer', () => {
  test('A109 given three calls that may run beside others, when run, then all start before any ends', async () => {
    const { story, gateOf, tool } = gated({ parallel: true });
    const rig = await startTestAgent({ script: [calls('read', 'a', 'b', 'c'), 'done'], tools: [tool('read')] });
    const asked = rig.agent.followup('go');
    await until(() => story.length === 3);
    expect(story).toEqual(['start a', 'start b', 'start c']);
    for (const name of ['c', 'a', 'b']) {
      gateOf(name).open();
      // oxlint-disable-next-line no-await-in-loop -- one ends after the other
      await rounds(2);
    }
    await asked.ended;
    expect(story.slice(3)).toEqual(['end c', 'end a', 'end b']);
    expect(rig.data('call.finished').map(({ outcome }) => outcome)).toEqual(
      ['a', 'b', 'c'].map((name) => ({ ok: true, output: `result ${name}` })),
    );
    expect(rig.model.refused).toEqual([]);
  });

  test('A109 given a cap of 1, when run, then they are strictly one after the other', async () => {
    const { story, gateOf, tool } = gated({ parallel: true });
    for (const name of ['a', 'b', 'c']) gateOf(name).open();
    const rig = await startTestAgent({
      script: [calls('read', 'a', 'b', 'c'), 'done'],
      tools: [tool('read')],
      parallelCalls: 1,
    });
    await rig.ask('go');
    expect(story).toEqual(['start a', 'end a', 'start b', 'end b', 'start c', 'end c']);
  });

  test('A109 given a cap of 2, when one of the pool ends, then the next starts at once', async () => {
    const { story, gateOf, tool } = gated({ parallel: true });
    const rig = await startTestAgent({
      script: [calls('read', 'a', 'b', 'c'), 'done'],
      tools: [tool('read')],
      parallelCalls: 2,
    });
    const asked = rig.agent.followup('go');
    await until(() => story.length === 2);
    await rounds();
    expect(story).toEqual(['start a', 'start b']);
    gateOf('b').open();
    await until(() => story.length === 4);
    expect(story.slice(2)).toEqual(['end b', 'start c']);
    gateOf('a').open();
    gateOf('c').open();
    expect(await asked.ended).toMatchObject({ kind: 'done' });
  });

  test('A110 given read, write, read, when run, then the write starts after the first read ended and the last read after the write', async () => {
    const { story, gateOf, tool } = gated();
    const rig = await startTestAgent({
      script: [[call('read', '1'), call('read', '2'), call('write', '3'), call('read', '4')], 'done'],
      tools: [tool('read', { parallel: true }), tool('write')],
    });
    const asked = rig.agent.followup('go');
    await until(() => story.length === 2);
    await rounds();
    expect(story).toEqual(['start 1', 'start 2']);
    gateOf('2').open();
    await rounds();
    expect(story).toEqual(['start 1', 'start 2', 'end 2']);
    gateOf('1').open();
    await until(() => story.length === 5);
    await rounds();
    expect(story.slice(3)).toEqual(['end 1', 'start 3']);
    gateOf('3').open();
    gateOf('4').open();
    await asked.ended;
    expect(story.slice(5)).toEqual(['end 3', 'start 4', 'end 4']);
  });

  test.each<{ readonly what: string; readonly parallel: unknown }>([
    {
      what: 'throws',
      parallel: () => {
        throw new Error('cannot say');
      },
    },
    { what: 'says something that is not true itself', parallel: () => 'yes' },
    { what: 'says it later', parallel: async () => await Promise.resolve(true) },
    { what: 'says no', parallel: () => false },
  ])('A113 given a classifier that $what, when scheduled, then the call runs alone', async ({ parallel }) => {
    const { story, gateOf, tool } = gated();
    const odd = tool('odd', { parallel: parallel as boolean });
    const rig = await startTestAgent({
      script: [[call('read', 'a'), call('odd', 'b'), call('read', 'c')], 'done'],
      tools: [tool('read', { parallel: true }), odd],
    });
    const asked = rig.agent.followup('go');
    for (const [at, name] of ['a', 'b', 'c'].entries()) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other is what is tested
      await until(() => story.length > 2 * at);
      // oxlint-disable-next-line no-await-in-loop
      await rounds();
      gateOf(name).open();
    }
    await asked.ended;
    expect(story).toEqual(['start a', 'end a', 'start b', 'end b', 'start c', 'end c']);
  });

  test('A113 given an unknown tool, when scheduled, then it is waited for alone, and the model hears which tools there are', async () => {
    const { story, gateOf, tool } = gated({ parallel: true });
    const rig = await startTestAgent({
      script: [[call('read', 'a'), call('nothing', 'b'), call('read', 'c')], 'done'],
      tools: [tool('read')],
    });
    const asked = rig.agent.followup('go');
    await until(() => story.length === 1);
    await rounds();
    expect(story).toEqual(['start a']);
    gateOf('a').open();
    gateOf('c').open();
    await asked.ended;
    expect(story).toEqual(['start a', 'end a', 'start c', 'end c']);
    expect(rig.data('call.finished')[1]).toMatchObject({
      outcome: { ok: false, code: 'unknown-tool', message: 'There is no tool nothing. There are: read.' },
    });
  });

  test('A115 given a cap of 2 and four calls, when cancelled after two have started, then two real and two synthetic results follow in order', async () => {
    const { story, gateOf, tool } = gated({ parallel: true, effect: 'untracked' });
    const rig = await startTestAgent({
      script: [[...calls('read', 'a', 'b', 'c', 'd'), call('write', 'e')], 'next'],
      tools: [tool('read'), tool('write', { parallel: false })],
      parallelCalls: 2,
    });
    const asked = rig.agent.followup('go');
    await until(() => story.length === 2);
    rig.agent.cancel();
    gateOf('b').open();
    await rounds();
    gateOf('a').open();
    await asked.ended;
    expect(story).toEqual(['start a', 'start b', 'end b', 'end a']);
    const undone = { ok: false, code: 'aborted-before-dispatch' };
    expect(rig.data('call.finished').map(({ outcome }) => outcome)).toMatchObject([
      { ok: true, output: 'result a' },
      { ok: true, output: 'result b' },
      undone,
      undone,
      undone,
    ]);
    expect(rig.data('call.started')).toHaveLength(2);
    expect(await rig.ask('on')).toMatchObject({ kind: 'done' });
    expect(rig.model.refused).toEqual([]);
  });

  test('A116 given a cancel while a listener decides about a call, when it returns, then the call is known not to have begun', async () => {
    const gate = createGate();
    const { story, tool } = gated();
    const rig = await startTestAgent({
      script: [[call('write', 'a')]],
      tools: [tool('write')],
      on: {
        'agent/tool-call': async (_, next) => {
          await gate.wait();
          return await next();
        },
      },
    });
    const asked = rig.agent.followup('go');
    await gate.entered;
    rig.agent.cancel();
    gate.open();
    await asked.ended;
    expect(story).toEqual([]);
    expect(rig.data('call.finished')).toMatchObject([{ outcome: { ok: false, code: 'aborted-before-dispatch' } }]);
  });

  test.each(['none', 'untracked'] as const)(
    'A116 given a body of effect %s that was entered, when it ends since it was cancelled, then the call is coded as aborted',
    async (effect) => {
      const gate = createGate();
      const tool = testTool(
        'write',
        async (_, { signal }) => {
          await gate.wait(signal);
          throw new Error('stopped');
        },
        { effect },
      );
      const rig = await startTestAgent({ script: [[call('write', 'a')]], tools: [tool] });
      const asked = rig.agent.followup('go');
      await gate.entered;
      rig.agent.cancel();
      await asked.ended;
      expect(rig.data('call.finished')).toMatchObject([{ outcome: { ok: false, code: 'aborted' } }]);
      const said = JSON.stringify(rig.data('call.finished'));
      expect(said.includes('may have had its effect')).toBe(effect === 'untracked');
    },
  );

  test('A117 given a fault of the log while bodies run, when it occurs, then the turn closes only after they settled, with their results and the first fault', async () => {
    const { story, gateOf, tool } = gated({ parallel: true, effect: 'untracked' });
    const clock = createFakeClock();
    let starts = 0;
    const journal = faultyJournal(createMemoryJournal({ clock }), (batch) => {
      if (stores(batch, 'call.started') && ++starts === 2) throw new Error('No space left');
    });
    const rig = await startTestAgent({
      clock,
      journal,
      script: [calls('write', 'a', 'b', 'c'), 'next'],
      tools: [tool('write')],
    });
    const asked = rig.agent.followup('go');
    await until(() => starts === 2);
    await rounds();
    expect([story, rig.data('turn.closed')]).toEqual([['start a'], []]);
    gateOf('a').open();
    expect(await asked.ended).toMatchObject({ kind: 'failed', failure: { message: 'No space left' } });
    expect(story).toEqual(['start a', 'end a']);
    const stored = (await rig.stored()).flatMap((event) => (event.type === 'call.finished' ? [event.data] : []));
    expect(stored.map(({ outcome }) => outcome)).toMatchObject([
      { ok: true, output: 'result a' },
      { ok: false, code: 'not-started' },
      { ok: false, code: 'not-started' },
    ]);
    expect(await rig.ask('on')).toMatchObject({ kind: 'done', text: 'next' });
    expect(rig.model.refused).toEqual([]);
  });

  test('R60 given three calls that are pending, when the turn is interrupted, then each has a result and the next prompt is accepted', async () => {
    const { story, gateOf, tool } = gated();
    const rig = await startTestAgent({ script: [calls('write', 'a', 'b', 'c'), 'next'], tools: [tool('write')] });
    const asked = rig.agent.followup('go');
    await until(() => story.length === 1);
    rig.agent.cancel();
    gateOf('a').open();
    await asked.ended;
    expect(rig.data('call.finished')).toHaveLength(3);
    expect(await rig.ask('on')).toMatchObject({ kind: 'done', text: 'next' });
    expect(rig.model.refused).toEqual([]);
    expect(outline(rig.agent.history())[2]).toMatch(
      /^tool: result write: result a \| result write: \[aborted-before-dispatch\].* \| result write: \[aborted-before/,
    );
  });

  test('a decision that is none refuses the call', async () => {
    const { story, tool } = gated();
    const rig = await startTestAgent({
      script: [[call('write', 'a')], 'done'],
      tools: [tool('write')],
      on: { 'agent/tool-call': () => undefined as never },
    });
    await rig.ask('go');
    expect(story).toEqual([]);
    expect(rig.data('call.finished')).toMatchObject([{ outcome: { ok: false, code: 'denied' } }]);
  });
});
