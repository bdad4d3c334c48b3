import fc from 'fast-check';
import { afterEach, describe, expect, test } from 'vitest';
import type { SessionEvent } from '../../../src/agent/session-events.ts';
import { compaction } from '../../../src/agent/plugins/compaction/index.ts';
import { llmRetry } from '../../../src/agent/plugins/llm-retry/index.ts';
import { createScriptedModel, type ScriptedStep } from '../../../src/testing/index.ts';
import { isSummary, long, overflows, wordyTool } from './compaction-kit.ts';
import { endRigs, startRig } from './loop-rig.ts';

type Answer = 'ok' | 'call' | 'overflow' | 'busy' | 'empty' | 'full' | 'denied' | 'long';

const steps: Readonly<Record<Answer, ScriptedStep>> = {
  ok: 'done',
  call: [{ call: 'read' }],
  overflow: overflows,
  busy: [{ fail: { message: 'Overloaded', status: 529, type: 'overloaded_error' } }],
  empty: [],
  full: [{ call: 'read' }, { finish: 'calls', usage: { inputTokens: 950, outputTokens: 10 } }],
  denied: [{ fail: { message: 'No', status: 403, type: 'permission_error' } }],
  long: long('summary', 40_000),
};

/** For each prompt: compactions begun, and the most repairs of overflows without an answer between them. */
function begun(events: readonly SessionEvent[]): readonly { readonly all: number; readonly inARow: number }[] {
  const prompts: { all: number; inARow: number }[] = [];
  let row = 0;
  for (const { type, data } of events) {
    if (type === 'turn.opened' && data.trigger.kind === 'prompt') prompts.push({ all: (row = 0), inARow: 0 });
    if (type === 'answer.completed') row = 0;
    const record = type === 'plugin.recorded' && data.plugin === 'compaction' ? data : undefined;
    const prompt = prompts.at(-1);
    if (record?.kind !== 'compaction.started' || prompt === undefined) continue;
    prompt.all += 1;
    if ((record.data as { readonly why: string }).why === 'overflow') row += 1;
    prompt.inARow = Math.max(prompt.inARow, row);
  }
  return prompts;
}

afterEach(endRigs);

describe('the number of compactions', () => {
  test('for any answers of the model stays within the budgets, and no request is one that a provider would refuse', async () => {
    const spoken = fc.constantFrom<Answer>('ok', 'call', 'call', 'overflow', 'overflow', 'busy', 'full', 'denied');
    const summary = fc.constantFrom<Answer>('ok', 'ok', 'overflow', 'busy', 'empty', 'denied', 'long');
    const seen = { begun: 0, replaced: 0 };
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          answers: fc.array(spoken, { maxLength: 25 }),
          summaries: fc.array(summary, { maxLength: 10 }),
          prompts: fc.array(fc.integer({ min: 1, max: 8_000 }), { minLength: 1, maxLength: 4 }),
          result: fc.oneof(fc.integer({ min: 1, max: 7_000 }), fc.constant(20_000)),
          overflow: fc.integer({ min: 0, max: 3 }),
          perPrompt: fc.integer({ min: 0, max: 4 }),
        }),
        async ({ answers, summaries, prompts, result, overflow, perPrompt }) => {
          const left = { spoken: [...answers], summary: [...summaries] };
          const model = createScriptedModel(
            (request) => steps[(isSummary(request) ? left.summary.shift() : left.spoken.shift()) ?? 'ok'],
            { contextTokens: 1_000 },
          );
          const plugins = [compaction({ overflow, perPrompt }), llmRetry({ jitter: 0 })];
          const rig = await startRig({ model, tools: [wordyTool('read', result)], plugins });
          // oxlint-disable-next-line no-await-in-loop -- one after the other
          for (const size of prompts) await rig.settle(rig.agent.followup(long('word', size)).ended);
          const events = await rig.events();
          seen.replaced += events.filter(({ type }) => type === 'history.replaced').length;
          for (const { all, inARow } of begun(events)) {
            seen.begun += all;
            expect(all).toBeLessThanOrEqual(perPrompt);
            expect(inARow).toBeLessThanOrEqual(overflow);
          }
          expect(model.refused).toEqual([]);
          await endRigs();
        },
      ),
      { numRuns: 100 },
    );
    // The property would hold of nothing at all.
    expect(seen.begun).toBeGreaterThan(20);
    expect(seen.replaced).toBeGreaterThan(10);
  }, 60_000);

  test('begins anew after an answer: a budget of one repairs each overflow that an answer parts from the last', async () => {
    const model = createScriptedModel(
      ['call', 'overflow', 'ok', 'call', 'overflow', 'ok', 'call', 'overflow', 'ok', 'ok'].map(
        (name) => steps[name as Answer],
      ),
    );
    const rig = await startRig({
      model,
      tools: [wordyTool('read', 6_000)],
      plugins: [compaction({ pressure: false, overflow: 1 })],
    });
    await rig.settle(rig.agent.followup(long('old', 8_000)).ended);
    expect(begun(await rig.events())).toEqual([{ all: 3, inARow: 1 }]);
  });
});
