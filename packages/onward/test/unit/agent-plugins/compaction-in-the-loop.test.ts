import { afterEach, describe, expect, test } from 'vitest';
import { compaction } from '../../../src/agent/plugins/compaction/index.ts';
import { llmRetry } from '../../../src/agent/plugins/llm-retry/index.ts';
import { createScriptedModel, type ScriptedStep } from '../../../src/testing/index.ts';
import {
  counted,
  isSummary,
  long,
  overflows,
  recordsOf,
  sorted,
  spy,
  textOf,
  tooLong,
  untilAsked,
  wordyTool,
} from './compaction-kit.ts';
import { backends, endRigs, type LoopRig, startRig } from './loop-rig.ts';

const plain = (): ReturnType<typeof compaction> => compaction({ pressure: false });

/** Says the first prompt, which is long, and has it answered. */
async function speakLong(rig: LoopRig): Promise<void> {
  await rig.settle(rig.agent.followup(long('old')).orThrow());
}

afterEach(endRigs);

describe.each(backends)('a request that does not fit, with the journal in %s', (backend) => {
  test('A85 given an overflow far below the pressure threshold, when it is recovered, then it is compacted and retried once', async () => {
    const model = createScriptedModel([counted('noted', 100), overflows, 'short', 'done'], {
      contextTokens: 1_000_000,
    });
    const rig = await startRig({ model, plugins: [compaction()] }, backend);
    await speakLong(rig);
    expect(await rig.settle(rig.agent.followup('go').orThrow())).toBe('done');
    expect(model.requests.map(isSummary)).toEqual([false, false, true, false]);
    expect(recordsOf(await rig.events(), 'compaction.started')).toMatchObject([{ why: 'overflow' }]);
    expect(model.refused).toEqual([]);
  });

  test('A87 given a recovery, when it is retried, then the request has the summary and not the old text', async () => {
    const model = createScriptedModel(['noted', overflows, 'The user said a word often.', 'done']);
    const rig = await startRig({ model, plugins: [plain()] }, backend);
    await speakLong(rig);
    await rig.settle(rig.agent.followup('go').orThrow());
    const [before, after] = [textOf(model.requests[1]?.messages ?? []), textOf(model.requests[3]?.messages ?? [])];
    expect([before.includes('old old'), before.includes('The user said')]).toEqual([true, false]);
    expect([after.includes('old old'), after.includes('The user said a word often.')]).toEqual([false, true]);
    expect(model.requests[3]?.messages.at(-1)).toEqual({ role: 'user', content: [{ type: 'text', text: 'go' }] });
    // The request for the summary begins as the conversation's own did, so that the provider's cache serves.
    expect(model.requests[2]?.messages.slice(0, -1)).toEqual(model.requests[1]?.messages.slice(0, -1));
    expect(model.requests[2]?.system).toBe(model.requests[1]?.system);
  });

  test('given a kill between the start of a compaction and its end, when it is opened, then the record is inert and the session goes on', async () => {
    const stuck = createScriptedModel(['noted', overflows, [{ stall: true }]]);
    const rig = await startRig({ model: stuck, plugins: [plain()] }, backend);
    await speakLong(rig);
    void rig.agent.followup('go');
    await untilAsked(stuck, 3, rig);
    expect(recordsOf(await rig.events(), 'compaction.finished')).toEqual([]);
    const model = createScriptedModel([overflows, 'short', 'done', 'more']);
    const again = await rig.afterKill({ model, plugins: [plain()] });
    expect(recordsOf(await again.events(), 'compaction.started')).toHaveLength(1);
    expect(textOf(again.agent.history())).toContain('old old');
    expect(model.requests).toEqual([]);
    expect(await again.settle(again.agent.followup('on').orThrow())).toBe('done');
    expect(textOf(again.agent.history())).not.toContain('old old');
    expect(await again.settle(again.agent.followup('and').orThrow())).toBe('more');
    expect(model.refused).toEqual([]);
    rig.agent.cancel();
  });
});

describe('an overflow', () => {
  test('A86 given a thrown and an in-band overflow, when each occurs, then what follows is the same', async () => {
    const seen: unknown[] = [];
    const thrown = Object.assign(new Error(tooLong.message), { status: 400, type: tooLong.type });
    for (const step of [overflows, [{ throw: thrown }]] as const) {
      const model = createScriptedModel(['noted', step, 'short', 'done']);
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      const rig = await startRig({ model, plugins: [plain()] });
      // oxlint-disable-next-line no-await-in-loop
      await speakLong(rig);
      // oxlint-disable-next-line no-await-in-loop
      expect(await rig.settle(rig.agent.followup('go').orThrow())).toBe('done');
      // oxlint-disable-next-line no-await-in-loop
      const events = await rig.events();
      seen.push({ requests: model.requests, types: events.map(({ type }) => type), history: rig.agent.history() });
      // oxlint-disable-next-line no-await-in-loop
      await endRigs();
    }
    expect(seen[1]).toEqual(seen[0]);
  });

  test('A90 given a call and its results at the tail, when it is compacted, then the newest pair stays whole', async () => {
    const model = createScriptedModel(['noted', [{ call: 'read' }], overflows, 'short', 'done']);
    const rig = await startRig({ model, tools: [wordyTool('read', 10)], plugins: [plain()] });
    await speakLong(rig);
    expect(await rig.settle(rig.agent.followup(long('new')).orThrow())).toBe('done');
    const retried = model.requests.at(-1)?.messages ?? [];
    expect(retried.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool']);
    expect(retried.slice(1)).toEqual(model.requests[2]?.messages.slice(-2));
    expect(model.refused).toEqual([]);
  });

  test('A91 given the budget is used up, when the overflow recurs, then no model is asked for a summary', async () => {
    const model = createScriptedModel(['noted', overflows, 'short', overflows]);
    const rig = await startRig({ model, plugins: [plain()] });
    await speakLong(rig);
    const ended = await rig.settle(rig.agent.followup('go').ended);
    expect(ended).toMatchObject({ kind: 'failed', class: 'overflow', failure: tooLong });
    expect(model.requests.map(isSummary)).toEqual([false, false, true, false]);
    expect(recordsOf(await rig.events(), 'context-irreducible')).toHaveLength(1);
  });

  test('A92 given a budget of 0, when an overflow occurs, then it is terminal; pressure is eased nevertheless', async () => {
    const model = createScriptedModel([counted('noted', 100), overflows, counted('full', 900), 'short', 'done'], {
      contextTokens: 1_000,
    });
    const rig = await startRig({ model, plugins: [compaction({ overflow: 0 })] });
    await rig.settle(rig.agent.followup('go').orThrow());
    const ended = await rig.settle(rig.agent.followup('on').ended);
    expect(ended).toMatchObject({ kind: 'failed', class: 'overflow', failure: tooLong });
    expect(sorted(model.requests).summaries).toEqual([]);
    expect(recordsOf(await rig.events(), 'compaction.started')).toEqual([]);
    await rig.settle(rig.agent.followup(long('word', 2_000)).orThrow());
    expect(await rig.settle(rig.agent.followup('go on').orThrow())).toBe('done');
    expect(model.requests.map(isSummary)).toEqual([false, false, false, true, false]);
    expect(recordsOf(await rig.events(), 'compaction.started')).toMatchObject([{ why: 'pressure' }]);
  });

  test('A94 given a summary that is not smaller than its source, when it is proposed, then the history is unchanged', async () => {
    const model = createScriptedModel(['noted', overflows, long('summary', 20_000)]);
    const rig = await startRig({ model, plugins: [plain()] });
    await speakLong(rig);
    const ended = await rig.settle(rig.agent.followup('go').ended);
    expect(ended).toMatchObject({ kind: 'failed', failure: tooLong });
    const events = await rig.events();
    expect(events.filter(({ type }) => type === 'history.replaced')).toEqual([]);
    expect(recordsOf(events, 'compaction.failed')).toHaveLength(1);
    expect(rig.agent.history()).toEqual(model.requests[1]?.messages);
  });

  test('A95 given another change of the history during the summary, when it is committed, then it is rejected', async () => {
    const other = spy();
    const note = { role: 'user', content: [{ type: 'text', text: 'changed by another' }] } as const;
    const meanwhile = async (): Promise<ScriptedStep> => {
      const change = { generation: 0, from: 0, to: 1, messages: [note], because: 'a test' };
      expect(await other.host().replaceHistory(change)).toBe(true);
      return 'short';
    };
    const model = createScriptedModel(['noted', overflows, meanwhile, 'done']);
    const rig = await startRig({ model, plugins: [other, plain()] });
    await speakLong(rig);
    // The history did move on, so that it is tried again (2.6), with what the other one made of it.
    expect(await rig.settle(rig.agent.followup('go').orThrow())).toBe('done');
    const replaced = (await rig.events()).filter(({ type }) => type === 'history.replaced');
    expect(replaced.map(({ data }) => data)).toMatchObject([{ by: 'spy' }]);
    expect(model.requests[3]?.messages.map((message) => textOf([message]))).toEqual([
      'changed by another',
      'noted',
      'go',
    ]);
  });

  test('A95 given records of another plugin during the summary, when it is committed, then it is taken', async () => {
    const other = spy();
    const meanwhile = async (): Promise<ScriptedStep> => {
      await other.host().record('note', { n: 1 });
      return 'short';
    };
    const model = createScriptedModel(['noted', overflows, meanwhile, 'done']);
    const rig = await startRig({ model, plugins: [other, plain()] });
    await speakLong(rig);
    expect(await rig.settle(rig.agent.followup('go').orThrow())).toBe('done');
    const replaced = (await rig.events()).filter(({ type }) => type === 'history.replaced');
    expect(replaced.map(({ data }) => data)).toMatchObject([{ by: 'compaction' }]);
  });

  test('A96 given a recovery that replaced nothing, when it is reported, then the reason is the provider’s own error', async () => {
    const broken = { message: 'No summary today', status: 403, type: 'permission_error' };
    const model = createScriptedModel(['noted', overflows, [{ fail: broken }]]);
    const rig = await startRig({ model, plugins: [plain()] });
    await speakLong(rig);
    const ended = await rig.settle(rig.agent.followup('go').ended);
    expect(ended).toMatchObject({ kind: 'failed', turn: 2, class: 'overflow', failure: tooLong });
    const closed = (await rig.events()).findLast(({ type }) => type === 'turn.closed');
    expect(closed?.data).toMatchObject({ end: { reason: 'failed', failure: tooLong } });
    expect(rig.agent.history()).toEqual(model.requests[1]?.messages);
  });

  test('given a cancel during the summary, when it ends, then there is no retry and the reason is the cancel', async () => {
    const model = createScriptedModel(['noted', overflows, [{ stall: true }]]);
    const rig = await startRig({ model, plugins: [plain()] });
    await speakLong(rig);
    const ended = rig.agent.followup('go').ended;
    await untilAsked(model, 3, rig);
    rig.agent.cancel();
    expect(await rig.settle(ended)).toMatchObject({ kind: 'cancelled' });
    expect([model.requests.length, model.open]).toEqual([3, 0]);
  });
});

describe('disposal', () => {
  test('given a summary under way, when the agent is disposed, then no stream is open and nothing follows', async () => {
    const model = createScriptedModel(['noted', overflows, [{ stall: true }]]);
    const rig = await startRig({ model, plugins: [plain()] });
    await speakLong(rig);
    const ended = rig.agent.followup('go').ended;
    await untilAsked(model, 3, rig);
    await rig.settle(Promise.resolve(rig.agent[Symbol.asyncDispose]()));
    expect(await rig.settle(ended)).toMatchObject({ kind: 'cancelled' });
    await rig.clock.advance(3_600_000);
    expect([model.requests.length, model.open, rig.clock.pending()]).toEqual([3, 0, []]);
  });

  test('given a summary under way, when the plugin alone is unloaded, then the summary ends and the failure is the provider’s own', async () => {
    const model = createScriptedModel(['noted', overflows, [{ stall: true }], overflows]);
    const rig = await startRig({ model, plugins: [plain()] });
    await speakLong(rig);
    const ended = rig.agent.followup('go').ended;
    await untilAsked(model, 3, rig);
    await rig.settle(rig.agent.unload('compaction'));
    expect(await rig.settle(ended)).toMatchObject({ kind: 'failed', failure: tooLong });
    expect(await rig.settle(rig.agent.followup('on').ended)).toMatchObject({ kind: 'failed', failure: tooLong });
    expect(model.requests).toHaveLength(4);
  });
});

describe('budgets', () => {
  test('given an overflow, then a passing failure, then success, when it is over, then it took 3 requests and 1 summary, and the retry is numbered 1', async () => {
    const model = createScriptedModel([
      'noted',
      overflows,
      'short',
      [{ fail: { message: 'Overloaded', status: 529, type: 'overloaded_error' } }],
      'done',
    ]);
    const rig = await startRig({ model, plugins: [plain(), llmRetry({ jitter: 0 })] });
    await speakLong(rig);
    expect(await rig.settle(rig.agent.followup('go').orThrow())).toBe('done');
    const { spoken, summaries } = sorted(model.requests.slice(1));
    expect([spoken.length, summaries.length]).toEqual([3, 1]);
    expect(await rig.records('llm-retry')).toMatchObject([{ retry: 1, turn: 3 }]);
  });

  test('R52 given a window that is always too small, when a prompt runs, then compactions are few, it is said that nothing helps, and the error is the provider’s own', async () => {
    const tool = wordyTool('read', 3_000);
    const model = createScriptedModel(
      (request, nth) => {
        if (isSummary(request)) return long('summary', 400);
        // Whatever is done, the provider counts more than the window; after a while it refuses.
        if (nth < 60) return [{ call: 'read' }, { finish: 'calls', usage: { inputTokens: 43_000 } }];
        return overflows;
      },
      { contextTokens: 33_000 },
    );
    const rig = await startRig({ model, tools: [tool], plugins: [compaction({ perPrompt: 5 })] });
    const ended = await rig.settle(rig.agent.followup('go').ended);
    expect(ended).toMatchObject({ kind: 'failed', class: 'overflow', failure: tooLong });
    const events = await rig.events();
    const begun = recordsOf(events, 'compaction.started').length;
    expect(begun).toBeGreaterThan(0);
    expect(begun).toBeLessThanOrEqual(5);
    expect(recordsOf(events, 'context-irreducible')).toHaveLength(1);
    expect(model.refused).toEqual([]);
    const calls = tool.inputs.length;
    await rig.clock.advance(3_600_000);
    expect([tool.inputs.length, rig.agent.status]).toEqual([calls, 'idle']);
  });

  test('given less is old than what frames a summary, when it overflows, then no model is asked for one', async () => {
    const model = createScriptedModel([[{ call: 'read' }], overflows]);
    const rig = await startRig({ model, tools: [wordyTool('read', 10)], plugins: [plain()] });
    const ended = await rig.settle(rig.agent.followup('go').ended);
    expect(ended).toMatchObject({ kind: 'failed', class: 'overflow', failure: tooLong });
    expect(model.requests).toHaveLength(2);
    expect(recordsOf(await rig.events(), 'context-irreducible')).toHaveLength(1);
  });

  test('given a limit that leaves no request, when one overflows, then no summary is asked for, and the context is not called irreducible', async () => {
    const model = createScriptedModel(['noted', overflows]);
    const rig = await startRig({ model, plugins: [plain()], limits: { session: { attempts: 2 } } });
    await speakLong(rig);
    const ended = await rig.settle(rig.agent.followup('go').ended);
    expect(ended).toMatchObject({ kind: 'failed', class: 'overflow', failure: tooLong });
    const events = await rig.events();
    expect(recordsOf(events, 'compaction.failed')).toHaveLength(1);
    expect(recordsOf(events, 'context-irreducible')).toEqual([]);
    expect(model.requests).toHaveLength(2);
  });

  test('R52 given every request overflows, when a prompt runs, then one compaction is tried and no tool runs', async () => {
    const model = createScriptedModel((request) => (isSummary(request) ? 'short' : overflows));
    const rig = await startRig({ model, plugins: [plain()] });
    const ended = await rig.settle(rig.agent.followup(long('old')).ended);
    expect(ended).toMatchObject({ kind: 'failed', class: 'overflow', failure: tooLong });
    const events = await rig.events();
    expect(recordsOf(events, 'context-irreducible')).toHaveLength(1);
    expect(recordsOf(events, 'compaction.started').length).toBeLessThanOrEqual(1);
    expect(model.requests.length).toBeLessThanOrEqual(3);
  });

  test('R53 given compaction switched off, when a request overflows, then nothing is compacted, and a bigger model goes on with the session', async () => {
    const off = { pressure: false, overflow: 0 } as const;
    const small = createScriptedModel(['noted', overflows], { contextTokens: 100 });
    const rig = await startRig({ model: small, plugins: [compaction(off)] });
    await speakLong(rig);
    const ended = await rig.settle(rig.agent.followup('go').ended);
    expect(ended).toMatchObject({ kind: 'failed', class: 'overflow', failure: tooLong });
    expect([small.requests.length, await rig.records('compaction')]).toEqual([2, []]);
    const big = createScriptedModel(['done'], { id: 'scripted/big', contextTokens: 1_000_000 });
    const again = await rig.afterKill({ model: big, plugins: [compaction(off)] });
    expect(await again.settle(again.agent.followup('on').orThrow())).toBe('done');
    expect(textOf(big.requests[0]?.messages ?? [])).toContain(long('old'));
    expect([big.refused, await again.records('compaction')]).toEqual([[], []]);
  });

  test('R55 given two overflows far apart in one prompt, when it runs, then there are two compactions and it ends well', async () => {
    const call: ScriptedStep = [{ call: 'read' }];
    const model = createScriptedModel([
      'noted',
      call,
      overflows,
      'short',
      call,
      call,
      call,
      overflows,
      'shorter',
      call,
      'done',
    ]);
    const tool = wordyTool('read', 3_000);
    const rig = await startRig({ model, tools: [tool], plugins: [plain()] });
    await speakLong(rig);
    expect(await rig.settle(rig.agent.followup('go').orThrow())).toBe('done');
    expect(model.requests.map(isSummary).flatMap((is, nth) => (is ? [nth] : []))).toEqual([3, 8]);
    expect(recordsOf(await rig.events(), 'compaction.finished')).toHaveLength(2);
    expect([tool.inputs.length, model.refused]).toEqual([5, []]);
  });
});
