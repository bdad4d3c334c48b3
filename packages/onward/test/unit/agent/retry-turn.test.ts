import { afterEach, describe, expect, test } from 'vitest';
import type { ScriptedItem } from '../../../src/testing/index.ts';
import { endTestAgents, outline, overloaded, startTestAgent, testTool } from './start-test-agent.ts';

afterEach(endTestAgents);

const down: readonly ScriptedItem[] = [{ fail: overloaded }];
const retry = { kind: 'retry' } as const;

describe('what a retry is made of', () => {
  test('A49 given a retry, when its turn opens, then it adds no message of the user', async () => {
    const rig = await startTestAgent({ script: [down, 'two'], on: { 'agent/request-error': () => retry } });
    await rig.ask('a');
    expect(rig.data('input.committed')).toHaveLength(1);
    expect(rig.model.requests[1]).toEqual(rig.model.requests[0]);
    expect(outline(rig.agent.history())).toEqual(['user: a', 'assistant: two']);
  });

  test('A52 given a step with tools and then a failed request, when it is retried, then the results are in the history and the tool ran once', async () => {
    let ran = 0;
    const rig = await startTestAgent({
      script: [[{ call: 'look' }], down, 'three'],
      tools: [testTool('look', () => `look ${(ran += 1)}`)],
      on: { 'agent/request-error': () => retry },
    });
    expect(await rig.ask('a')).toMatchObject({ kind: 'done', turn: 2 });
    expect(ran).toBe(1);
    expect(outline(rig.model.requests[2]?.messages ?? [])).toEqual([
      'user: a',
      'assistant: call look',
      'tool: result look: look 1',
    ]);
    expect(rig.model.requests[2]).toEqual(rig.model.requests[1]);
    expect(rig.data('step.opened').map(({ turn, step }) => [turn, step])).toEqual([
      [1, 1],
      [1, 2],
      [2, 1],
    ]);
  });

  test('A53 given a text and a whole call before the failure, when it is retried, then neither is in the history, nothing ran, and both stay on record under the failed attempt', async () => {
    let ran = 0;
    const rig = await startTestAgent({
      script: [['half a thou', { call: 'look' }, { fail: overloaded }], 'two'],
      tools: [testTool('look', () => (ran += 1))],
      on: { 'agent/request-error': () => retry },
    });
    await rig.ask('a');
    expect([ran, outline(rig.agent.history())]).toEqual([0, ['user: a', 'assistant: two']]);
    expect(rig.model.requests[1]).toEqual(rig.model.requests[0]);
    const blocks = rig.data('block.closed');
    expect(blocks.map(({ turn, part }) => [turn, part.type])).toEqual([
      [1, 'text'],
      [1, 'call'],
      [2, 'text'],
    ]);
  });

  test('A54 given the message of a failure, when it is retried, then its text is in no request', async () => {
    const rig = await startTestAgent({
      script: [[{ fail: { message: 'XYZZY', status: 500 } }], [{ throw: new Error('XYZZY') }], 'three', 'four'],
      on: { 'agent/request-error': () => retry },
    });
    await rig.ask('a');
    await rig.ask('b');
    expect(JSON.stringify(rig.model.requests)).not.toContain('XYZZY');
    expect(JSON.stringify(await rig.stored())).toContain('XYZZY');
  });

  test('A55 given an attempt that recovered, when it completes, then its record cites only the blocks of its own attempt', async () => {
    const rig = await startTestAgent({
      script: [
        ['one', { thinking: 'hm' }, { fail: overloaded }],
        [{ thinking: 'so' }, 'two', { usage: { outputTokens: 3 } }],
      ],
      on: { 'agent/request-error': () => retry },
    });
    await rig.ask('a');
    expect(rig.data('answer.completed')).toEqual([
      { turn: 2, step: 1, blocks: 2, finish: 'stop', usage: { outputTokens: 3 } },
    ]);
    const own = rig.data('block.closed').filter(({ turn }) => turn === 2);
    expect(own.map(({ block, part }) => [block, part])).toEqual([
      [0, { type: 'thinking', text: 'so' }],
      [1, { type: 'text', text: 'two' }],
    ]);
    expect(rig.agent.history().at(-1)?.content).toEqual(own.map(({ part }) => part));
  });
});
