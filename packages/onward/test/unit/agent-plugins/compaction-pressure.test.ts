import { afterEach, describe, expect, test } from 'vitest';
import { compaction } from '../../../src/agent/plugins/compaction/index.ts';
import { createScriptedModel } from '../../../src/testing/index.ts';
import { counted, long, recordsOf, sorted, textOf } from './compaction-kit.ts';
import { endRigs, type LoopRig, startRig } from './loop-rig.ts';

/** Says the first prompt, which is long, and has it answered. */
async function speakLong(rig: LoopRig): Promise<void> {
  await rig.settle(rig.agent.followup(long('old')).orThrow());
}

afterEach(endRigs);

describe('pressure', () => {
  test('given a summary that fails, when pressure is eased, then it is on record and the request is made as it is', async () => {
    const broken = { message: 'No summary today', status: 403, type: 'permission_error' };
    const model = createScriptedModel([counted('noted', 900), [{ fail: broken }], 'done'], { contextTokens: 1_000 });
    const rig = await startRig({ model, plugins: [compaction()] });
    await speakLong(rig);
    expect(await rig.settle(rig.agent.followup('go').orThrow())).toBe('done');
    expect(recordsOf(await rig.events(), 'compaction.failed')).toMatchObject([{ why: 'pressure' }]);
    expect(textOf(model.requests[2]?.messages ?? [])).toContain('old old');
  });

  test('given a model of unknown size, when it is asked often, then that is said once, and nothing is compacted', async () => {
    const model = createScriptedModel([counted('one', 9e6), counted('two', 9e6), counted('three', 9e6)]);
    const rig = await startRig({ model, plugins: [compaction()] });
    for (const word of ['a', 'b', 'c'])
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      await rig.settle(rig.agent.followup(word).orThrow());
    expect(await rig.records('compaction')).toEqual([{ model: 'scripted/model' }]);
  });

  test('given a first prompt that is larger than the window, when nothing was requested yet, then nothing is done before the request', async () => {
    const model = createScriptedModel(['done'], { contextTokens: 100 });
    const rig = await startRig({ model, plugins: [compaction()] });
    await speakLong(rig);
    expect([model.requests.length, await rig.records('compaction')]).toEqual([1, []]);
  });

  test('given 80 % are not exceeded, when the next request is made, then nothing is compacted; above, the newest 16 % stay', async () => {
    const model = createScriptedModel(
      [counted('1', 1_000), counted('2', 3_000), counted('3', 4_000 - 50), counted('4', 4_000), 'short', 'done'],
      { contextTokens: 5_000 },
    );
    const rig = await startRig({ model, plugins: [compaction()] });
    for (const prompt of [long('one', 4_000), long('two', 8_000), long('three', 1_600), 'four'])
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      await rig.settle(rig.agent.followup(prompt).orThrow());
    expect(sorted(model.requests).summaries).toEqual([]);
    expect(await rig.settle(rig.agent.followup('five').orThrow())).toBe('done');
    const text = textOf(model.requests.at(-1)?.messages ?? []);
    expect(['one one', 'two two', 'three three', 'short'].map((word) => text.includes(word))).toEqual([
      false,
      false,
      true,
      true,
    ]);
  });
});
