import { afterEach, expect, test } from 'vitest';
import { endTestAgents, outline, startTestAgent } from './start-test-agent.ts';

afterEach(endTestAgents);

test('A1 given an idle agent, when two followups are sent in one tick, then two turns run in order and are not merged', async () => {
  const rig = await startTestAgent({ script: ['one', 'two'] });
  const [first, second] = [rig.agent.followup('a'), rig.agent.followup('b')];
  expect([await first.orThrow(), await second.orThrow()]).toEqual(['one', 'two']);
  expect(rig.data('turn.opened').map(({ turn, trigger }) => [turn, trigger])).toEqual([
    [1, { kind: 'prompt', id: first.id }],
    [2, { kind: 'prompt', id: second.id }],
  ]);
  expect(outline(rig.agent.history())).toEqual(['user: a', 'assistant: one', 'user: b', 'assistant: two']);
  expect(rig.model.refused).toEqual([]);
});
