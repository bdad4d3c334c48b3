import { afterEach, describe, expect, test } from 'vitest';
import type { Plugin } from '../../../src/agent/plugin.ts';
import { failover } from '../../../src/agent/plugins/failover/index.ts';
import { llmRetry } from '../../../src/agent/plugins/llm-retry/index.ts';
import type { SessionEvent } from '../../../src/agent/session-events.ts';
import type { Failure } from '../../../src/kernel/failure.ts';
import type { Model } from '../../../src/models/model.ts';
import {
  createGate,
  createScriptedModel,
  type ModelScript,
  type ScriptedItem,
  type ScriptedModel,
} from '../../../src/testing/index.ts';
import { backends, endRigs, recordingTool, startRig } from './loop-rig.ts';

afterEach(endRigs);

const fails = (failure: Failure): readonly ScriptedItem[] => [{ fail: failure }];
const noCredit: Failure = { message: 'no credit', status: 402, type: 'billing_error' };
const longLimit: Failure = { message: 'Slow down', status: 429, retryAfterMs: 7_200_000 };

const firstModel = (script: ModelScript): ScriptedModel => createScriptedModel(script, { id: 'a/first' });
const secondModel = (script: ModelScript): ScriptedModel => createScriptedModel(script, { id: 'b/second' });

/** For each request on record: the model of its barrier, and the one that the header in force names. */
function recordedModels(events: readonly SessionEvent[]): readonly (readonly [string, string])[] {
  const pairs: (readonly [string, string])[] = [];
  let header = '';
  for (const [index, event] of events.entries()) {
    if (event.type === 'header.set') header = event.data.model;
    if (event.type !== 'step.opened') continue;
    const next = events[index + 1];
    pairs.push([event.data.model, next?.type === 'header.set' ? next.data.model : header]);
  }
  return pairs;
}

describe.each(backends)('a second model in the loop, with the journal in %s', (backend) => {
  test('R143 takes over after tools have run: with the transcript, and no tool runs again', async () => {
    const read = recordingTool('read');
    const calls = [1, 2, 3].map((nth): readonly ScriptedItem[] => [
      { thinking: `look at ${nth}`, opaque: { signature: 'only a/first reads this' } },
      { call: 'read', input: { nth } },
    ]);
    const first = firstModel([...calls, fails(longLimit)]);
    const second = secondModel(['done']);
    const rig = await startRig(
      { model: first, tools: [read], plugins: [failover({ to: second }), llmRetry()] },
      backend,
    );
    expect(await rig.settle(rig.agent.followup('go').orThrow())).toBe('done');
    expect(read.inputs).toEqual([{ nth: 1 }, { nth: 2 }, { nth: 3 }]);
    const history = second.requests[0]?.messages ?? [];
    expect(history.map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'tool',
      'assistant',
      'tool',
      'assistant',
      'tool',
    ]);
    expect(JSON.stringify(history)).toContain('result 3');
    // What only the first model can read is left out for the second, which would refuse it.
    expect(JSON.stringify(history)).not.toContain('signature');
    expect([first.refused, second.refused]).toEqual([[], []]);
    expect(await rig.records('failover')).toMatchObject([{ from: 'a/first', to: 'b/second', class: 'throttled' }]);
  });
});

describe('a second model in the loop', () => {
  test('is used from then on, also by the next prompt and after a restart', async () => {
    const first = firstModel([fails(noCredit)]);
    const second = secondModel(['one', 'two', 'three']);
    const plugins = [failover({ to: second }), llmRetry()];
    const rig = await startRig({ model: first, plugins });
    await rig.settle(rig.agent.followup('go').orThrow());
    await rig.settle(rig.agent.followup('on').orThrow());
    const again = await rig.afterKill({ model: first, plugins });
    expect(await again.settle(again.agent.followup('and on').orThrow())).toBe('three');
    expect([first.requests.length, second.requests.length]).toEqual([1, 3]);
  });

  test('comes after the retries of the first, and has retries of its own, which end', async () => {
    const first = firstModel(() => fails({ message: 'down', status: 503 }));
    const second = secondModel(() => fails({ message: 'down too', status: 503 }));
    const rig = await startRig({ model: first, plugins: [failover({ to: second }), llmRetry({ retries: 2 })] });
    const ended = await rig.settle(rig.agent.followup('go').ended);
    expect(ended).toMatchObject({ kind: 'failed', failure: { message: 'down too' } });
    expect([first.requests.length, second.requests.length]).toEqual([3, 3]);
  });

  test('does not take over what a cancel ended', async () => {
    const gate = createGate();
    const first = firstModel([[{ gate }, ...fails(noCredit)]]);
    const second = secondModel(['never']);
    const rig = await startRig({ model: first, plugins: [failover({ to: second })] });
    const { ended } = rig.agent.followup('go');
    await gate.entered;
    rig.agent.cancel();
    gate.open();
    expect(await rig.settle(ended)).toMatchObject({ kind: 'cancelled' });
    expect([second.requests, await rig.records('failover')]).toEqual([[], []]);
  });

  test('R144 a switch while a request stalls: each attempt is wholly of one model, on record as at the provider', async () => {
    const first = firstModel(['hello', ['partly', { stall: true }]]);
    const second = secondModel(['done']);
    const chosen: { model: Model } = { model: first };
    const route: Plugin = {
      name: 'route',
      setup: (host) => void host.on('agent/request', async (_, next) => ({ ...(await next()), model: chosen.model })),
    };
    const failedModels: string[] = [];
    const watch: Plugin = {
      name: 'watch',
      setup: (host) =>
        void host.on('agent/request-error', async ({ model }, next) => {
          failedModels.push(model);
          return await next();
        }),
    };
    const rig = await startRig({
      model: first,
      plugins: [route, watch, llmRetry()],
      watchdogs: { idleMs: 30_000 },
    });
    await rig.settle(rig.agent.followup('hi').orThrow());
    const ended = rig.agent.followup('go').orThrow();
    await rig.clock.advance(10_000);
    expect(first.open).toBe(1);
    chosen.model = second;
    expect(await rig.settle(ended)).toBe('done');
    expect(failedModels).toEqual(['a/first']);
    expect([first.requests.length, second.requests.length, first.open]).toEqual([2, 1, 0]);
    expect(recordedModels(await rig.events())).toEqual([
      ['a/first', 'a/first'],
      ['a/first', 'a/first'],
      ['b/second', 'b/second'],
    ]);
    expect(rig.agent.history().at(-1)).toMatchObject({ role: 'assistant', model: 'b/second' });
  });

  test('A81 both models are retried, each within its own budget', async () => {
    const first = firstModel([fails({ message: 'down', status: 503 }), fails(noCredit)]);
    const second = secondModel([fails({ message: 'down', status: 503 }), 'done']);
    const rig = await startRig({ model: first, plugins: [failover({ to: second }), llmRetry({ retries: 1 })] });
    expect(await rig.settle(rig.agent.followup('go').orThrow())).toBe('done');
    expect(await rig.records('llm-retry')).toMatchObject([
      { model: 'a/first', retry: 1, max: 1 },
      { model: 'b/second', retry: 1, max: 1 },
    ]);
  });
});
