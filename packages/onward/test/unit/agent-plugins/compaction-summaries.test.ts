import { afterEach, describe, expect, test } from 'vitest';
import { compaction } from '../../../src/agent/plugins/compaction/index.ts';
import { createScriptedModel } from '../../../src/testing/index.ts';
import { isSummary, long, overflows, sorted, textOf, tooLong, wordyTool } from './compaction-kit.ts';
import { endRigs, type LoopRig, startRig } from './loop-rig.ts';

const plain = (): ReturnType<typeof compaction> => compaction({ pressure: false });

/** Says the first prompt, which is long, and has it answered. */
async function speakLong(rig: LoopRig): Promise<void> {
  await rig.settle(rig.agent.followup(long('old')).orThrow());
}

afterEach(endRigs);

describe('a summary', () => {
  test('given a long result of a tool and a summary that fails, when it is recovered, then what was cut alone is retried', async () => {
    const broken = { message: 'No summary today', status: 403, type: 'permission_error' };
    const model = createScriptedModel(['noted', [{ call: 'read' }], 'read it', overflows, [{ fail: broken }], 'done']);
    const rig = await startRig({ model, tools: [wordyTool('read', 20_000)], plugins: [plain()] });
    await speakLong(rig);
    await rig.settle(rig.agent.followup('read').orThrow());
    expect(await rig.settle(rig.agent.followup('go').orThrow())).toBe('done');
    expect(JSON.stringify(model.requests.at(-1)).length).toBeLessThan(
      JSON.stringify(model.requests[3]).length - 10_000,
    );
  });

  test('A91 given the budget is used up by cutting results alone, when the overflow recurs, then no further summary is asked for', async () => {
    const denied = [{ fail: { message: 'No summary today', status: 403, type: 'permission_error' } }] as const;
    for (const overflow of [1, 2]) {
      const model = createScriptedModel((request, nth) => {
        if (isSummary(request)) return denied;
        return nth === 2 ? [{ call: 'read' }] : nth > 3 ? overflows : 'noted';
      });
      const plugins = [compaction({ pressure: false, overflow })];
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      const rig = await startRig({ model, tools: [wordyTool('read', 20_000)], plugins });
      // oxlint-disable-next-line no-await-in-loop
      await speakLong(rig);
      // oxlint-disable-next-line no-await-in-loop
      await rig.settle(rig.agent.followup('read').orThrow());
      // oxlint-disable-next-line no-await-in-loop
      const ended = await rig.settle(rig.agent.followup('go').ended);
      expect(ended).toMatchObject({ kind: 'failed', class: 'overflow', failure: tooLong });
      expect(sorted(model.requests).summaries).toHaveLength(overflow);
      // oxlint-disable-next-line no-await-in-loop
      await endRigs();
    }
  });

  test('R54 given the request for a summary overflows itself, when it is repeated, then each is shorter, and it recovers', async () => {
    const model = createScriptedModel((request, nth) => {
      if (!isSummary(request)) return textOf(request.messages).includes('one one') ? overflows : 'done';
      return nth < 5 ? overflows : 'short';
    });
    const plugins = [plain()];
    const rig = await startRig({ model: createScriptedModel(['1', '2', '3', '4']), plugins });
    for (const word of ['one', 'two', 'three', 'four'])
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      await rig.settle(rig.agent.followup(long(word, 4_000)).orThrow());
    const again = await rig.afterKill({ model, plugins });
    expect(await again.settle(again.agent.followup('go').orThrow())).toBe('done');
    const sizes = sorted(model.requests).summaries.map(({ messages }) => textOf(messages).length);
    expect(sizes.length).toBeGreaterThan(1);
    const failed = sizes.slice(0, model.requests.slice(0, 4).filter(isSummary).length);
    expect(failed).toEqual(failed.toSorted((a, b) => b - a));
    expect(new Set(failed).size).toBe(failed.length);
    expect(model.refused).toEqual([]);
  });

  test('R54 given every request for a summary overflows, when it is over, then they were few, and the session is not stuck', async () => {
    let small = true;
    const model = createScriptedModel((request) => {
      if (isSummary(request)) return overflows;
      return small && textOf(request.messages).includes('one one') ? overflows : 'done';
    });
    const rig = await startRig({ model: createScriptedModel(['1', '2', '3', '4']), plugins: [plain()] });
    for (const word of ['one', 'two', 'three', 'four'])
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      await rig.settle(rig.agent.followup(long(word, 4_000)).orThrow());
    const again = await rig.afterKill({ model, plugins: [plain()] });
    const ended = await again.settle(again.agent.followup('go').ended);
    expect(ended).toMatchObject({ kind: 'failed', class: 'overflow', failure: tooLong });
    expect(sorted(model.requests).summaries.length).toBeLessThanOrEqual(4);
    expect(sorted(model.requests).spoken).toHaveLength(1);
    small = false;
    expect(await again.settle(again.agent.followup('on').orThrow())).toBe('done');
    expect(model.refused).toEqual([]);
  });
});
