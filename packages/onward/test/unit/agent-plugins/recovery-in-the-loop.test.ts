import { afterEach, describe, expect, test } from 'vitest';
import type { Plugin } from '../../../src/agent/plugin.ts';
import { llmRetry, type RetryRecord } from '../../../src/agent/plugins/llm-retry/index.ts';
import type { Failure } from '../../../src/kernel/failure.ts';
import { createGate, createScriptedModel, type ScriptedItem, type ScriptedStep } from '../../../src/testing/index.ts';
import { backends, endRigs, recordingTool, startRig } from './loop-rig.ts';

const fails = (failure: Failure): readonly ScriptedItem[] => [{ fail: failure }];
const overloaded: Failure = { message: 'Overloaded', status: 529, type: 'overloaded_error' };
const limited: Failure = { message: 'Slow down', status: 429 };
const steady = { jitter: 0 } as const;

afterEach(endRigs);

describe.each(backends)('a request that fails in passing, with the journal in %s', (backend) => {
  test('A77 is retried, and the record is the same when it is loaded, and adds nothing that the model sees', async () => {
    const model = createScriptedModel([fails(overloaded), 'done']);
    const rig = await startRig({ model, plugins: [llmRetry(steady)] }, backend);
    const seen: unknown[] = [];
    const watching = (async () => {
      for await (const event of rig.agent.events())
        if (event.type === 'plugin.recorded') {
          seen.push(event.data.data);
          return;
        }
    })();
    expect(await rig.settle(rig.agent.followup('go').orThrow())).toBe('done');
    await rig.settle(watching);
    const record = {
      turn: 1,
      step: 1,
      model: 'scripted/model',
      retry: 1,
      max: 5,
      delayMs: 500,
      class: 'transient',
      rule: 'kernel/1:overloaded',
      failure: overloaded,
    };
    expect(await rig.records('llm-retry')).toEqual([record]);
    expect(seen).toEqual([record]);
    expect(model.requests[1]).toEqual(model.requests[0]);
    expect(rig.agent.history()).toHaveLength(2);
    const again = await rig.afterKill({ model, plugins: [llmRetry(steady)] });
    expect(await again.records('llm-retry')).toEqual([record]);
    expect(again.agent.history()).toEqual(rig.agent.history());
  });

  test('A67 is retried within its budget, and the turn then ends with the last failure', async () => {
    const model = createScriptedModel([1, 2, 3].map((nth) => fails({ ...overloaded, message: `down ${nth}` })));
    const rig = await startRig({ model, plugins: [llmRetry({ retries: 2 })] }, backend);
    const ended = await rig.settle(rig.agent.followup('go').ended);
    expect(ended).toMatchObject({ kind: 'failed', turn: 3, class: 'transient', failure: { message: 'down 3' } });
    expect([model.requests.length, (await rig.records('llm-retry')).length]).toEqual([3, 2]);
  });
});

describe('a retry in the loop', () => {
  test('A61 comes when the wait is over and not before; the record is durable before the wait', async () => {
    const model = createScriptedModel([fails(overloaded), 'done']);
    const rig = await startRig({ model, plugins: [llmRetry(steady)] });
    const ended = rig.agent.followup('go').orThrow();
    await rig.clock.advance(499);
    expect([model.requests.length, (await rig.records('llm-retry')).length]).toEqual([1, 1]);
    await rig.clock.advance(1);
    expect(model.requests).toHaveLength(2);
    expect(await ended).toBe('done');
  });

  test('A68 is counted from 1 again for the next prompt', async () => {
    const model = createScriptedModel([fails(overloaded), 'one', fails(overloaded), 'two']);
    const rig = await startRig({ model, plugins: [llmRetry({ retries: 1 })] });
    await rig.settle(rig.agent.followup('go').orThrow());
    expect(await rig.settle(rig.agent.followup('on').orThrow())).toBe('two');
    const records = (await rig.records('llm-retry')) as readonly RetryRecord[];
    expect(records.map(({ turn, retry }) => [turn, retry])).toEqual([
      [1, 1],
      [3, 1],
    ]);
  });

  test('A79 follows an answer without content, which leaves no message behind', async () => {
    const model = createScriptedModel([[], 'done']);
    const rig = await startRig({ model, plugins: [llmRetry()] });
    expect(await rig.settle(rig.agent.followup('go').orThrow())).toBe('done');
    expect(rig.agent.history().map(({ role }) => role)).toEqual(['user', 'assistant']);
    expect(model.refused).toEqual([]);
  });

  test('follows an answer that the token limit cut inside a call, once, and the call is not made', async () => {
    const write = recordingTool('write');
    const cut: readonly ScriptedItem[] = [{ call: 'write', raw: '{"text":"ha', open: true }, { finish: 'length' }];
    const model = createScriptedModel([cut, cut, 'never']);
    const rig = await startRig({ model, tools: [write], plugins: [llmRetry()] });
    expect(await rig.settle(rig.agent.followup('go').ended)).toMatchObject({ kind: 'failed', class: 'incomplete' });
    expect([write.inputs, model.requests.length]).toEqual([[], 2]);
  });

  test('R08 follows a stream that breaks in the middle of its JSON, from the durable history', async () => {
    const write = recordingTool('write');
    const broken: readonly ScriptedItem[] = [
      { text: 'I shall write this', pieces: 3 },
      { call: 'write', raw: '{"text":"half', open: true },
      { fail: { message: 'Unexpected end of JSON input', type: 'malformed_chunk' } },
    ];
    const model = createScriptedModel([broken, 'done']);
    const rig = await startRig({ model, tools: [write], plugins: [llmRetry()] });
    expect(await rig.settle(rig.agent.followup('go').orThrow())).toBe('done');
    const opened = (await rig.events()).filter(({ type }) => type === 'turn.opened');
    expect(opened.map(({ data }) => data)).toMatchObject([
      { turn: 1, trigger: { kind: 'prompt' } },
      { turn: 2, chain: 1, trigger: { kind: 'retry', of: 1 } },
    ]);
    expect(model.requests[1]).toEqual(model.requests[0]);
    expect([write.inputs, model.refused]).toEqual([[], []]);
  });

  test('R12 repeats one model call and not the run: what came before call 8 is done once', async () => {
    const read = recordingTool('read');
    const steps: ScriptedStep[] = Array.from({ length: 9 }, (_, nth) => [{ call: 'read', input: { nth: nth + 1 } }]);
    steps.splice(7, 0, fails(limited));
    const model = createScriptedModel([...steps, 'done']);
    const rig = await startRig({ model, tools: [read], plugins: [llmRetry()] });
    expect(await rig.settle(rig.agent.followup('go').orThrow())).toBe('done');
    expect(read.inputs).toEqual(Array.from({ length: 9 }, (_, nth) => ({ nth: nth + 1 })));
    expect(model.requests).toHaveLength(11);
    expect(model.requests[8]).toEqual(model.requests[7]);
  });

  test('R07 is made for what passes by itself, and nothing else is asked twice', async () => {
    const table: readonly (readonly [Failure, number])[] = [
      [{ message: 'reset', code: 'ECONNRESET' }, 2],
      [{ message: 'oops', status: 500 }, 2],
      [{ message: 'busy', status: 529, type: 'overloaded_error' }, 2],
      [limited, 2],
      [{ message: 'empty', type: 'empty_answer' }, 2],
      [{ message: 'who are you', status: 401 }, 1],
      [{ message: 'no credit', status: 402, type: 'billing_error' }, 1],
      [{ message: 'five hours', status: 429, type: 'usage_limit_reached', resetsAt: Date.UTC(2030, 0, 2) }, 1],
      [{ message: 'too long', status: 400, type: 'context_length_exceeded' }, 1],
      [{ message: 'bad', status: 400, type: 'invalid_request_error' }, 1],
      [{ message: 'no', stop: 'refusal' }, 1],
      [{ message: 'what is this' }, 1],
    ];
    for (const [failure, requests] of table) {
      const model = createScriptedModel([fails(failure), 'done']);
      // oxlint-disable-next-line no-await-in-loop -- one agent after the other
      const rig = await startRig({ model, plugins: [llmRetry()] });
      // oxlint-disable-next-line no-await-in-loop
      const ended = await rig.settle(rig.agent.followup('go').ended);
      expect([failure.message, model.requests.length, ended.kind]).toEqual([
        failure.message,
        requests,
        requests === 2 ? 'done' : 'failed',
      ]);
    }
  });

  test('R31 is not made for a hint of three hours: it surfaces with its time, and no attempt is spent', async () => {
    const model = createScriptedModel([fails({ ...limited, retryAfterMs: 11_180_000 }), 'later']);
    const rig = await startRig({ model, plugins: [llmRetry()] });
    const began = rig.clock.now();
    const ended = await rig.settle(rig.agent.followup('go').ended);
    expect(ended).toMatchObject({ kind: 'failed', class: 'throttled', retryAt: began + 11_180_000 });
    expect([rig.clock.now() - began, model.requests.length, await rig.records('llm-retry')]).toEqual([0, 1, []]);
  });

  test('R33 waits as long as it is told or not at all, and for a bare 429 only briefly', async () => {
    const sticky = createScriptedModel([
      fails({ message: 'quota', type: 'usage_limit_reached', status: 429, resetsAt: Date.UTC(2030, 0, 1, 12, 34) }),
    ]);
    const parked = await startRig({ model: sticky, plugins: [llmRetry()] });
    expect(await parked.settle(parked.agent.followup('go').ended)).toMatchObject({
      kind: 'failed',
      class: 'quota',
      retryAt: Date.UTC(2030, 0, 1, 12, 34),
    });
    expect(sticky.requests).toHaveLength(1);
    const bare = createScriptedModel([fails(limited), 'done']);
    const brief = await startRig({ model: bare, plugins: [llmRetry()] });
    const began = brief.clock.now();
    expect(await brief.settle(brief.agent.followup('go').orThrow())).toBe('done');
    expect(brief.clock.now() - began).toBeLessThan(1_000);
  });

  test('R13 keeps the whole prompt within its deadline, with fast errors as with silence', async () => {
    const limits = { turn: { wallMs: 60_000 } };
    const options = { limits, plugins: [llmRetry({ retries: 100, maxMs: 5_000 })], watchdogs: { idleMs: 20_000 } };
    for (const answer of [fails({ message: 'down', status: 503 }), [{ stall: true }] as const]) {
      const model = createScriptedModel(() => answer);
      // oxlint-disable-next-line no-await-in-loop -- one agent after the other
      const rig = await startRig({ model, ...options });
      const began = rig.clock.now();
      // oxlint-disable-next-line no-await-in-loop
      const ended = await rig.settle(rig.agent.followup('go').ended);
      expect(ended).toMatchObject({ kind: 'limit', unit: 'wallMs', limit: 60_000 });
      expect(rig.clock.now() - began).toBe(60_000);
      expect(model.requests.length).toBeGreaterThan(1);
      expect(model.open).toBe(0);
    }
    const recovering = createScriptedModel([...[1, 2, 3].map(() => fails({ message: 'down', status: 503 })), 'done']);
    const rig = await startRig({ model: recovering, ...options });
    expect(await rig.settle(rig.agent.followup('go').orThrow())).toBe('done');
  });

  test('R44 stops under a 503 that never ends, and steps that each fail once end as well', async () => {
    const down = createScriptedModel(() => fails({ message: 'down', status: 503 }));
    const stopped = await startRig({ model: down, plugins: [llmRetry()] });
    expect(await stopped.settle(stopped.agent.followup('go').ended)).toMatchObject({ kind: 'failed' });
    expect(down.requests).toHaveLength(6);

    const read = recordingTool('read');
    const flaky = createScriptedModel((_, nth) => {
      if (nth % 2 === 1) return fails({ message: 'down', status: 503 });
      return nth === 400 ? 'done' : [{ call: 'read', input: { nth } }];
    });
    const rig = await startRig({
      model: flaky,
      tools: [read],
      plugins: [llmRetry({ initialMs: 0 })],
      limits: { turn: { attempts: 500 } },
    });
    expect(await rig.settle(rig.agent.followup('go').orThrow())).toBe('done');
    expect([flaky.requests.length, read.inputs.length]).toEqual([400, 199]);
  });

  test('can be the thousandth of its chain: the log grows by the same events for each', async () => {
    const count = 1_000;
    const model = createScriptedModel((_, nth) => (nth <= count ? fails(overloaded) : 'done'));
    const rig = await startRig({ model, plugins: [llmRetry({ retries: count, initialMs: 0 })] });
    expect(await rig.settle(rig.agent.followup('go').orThrow())).toBe('done');
    await rig.settle(rig.agent.whenIdle());
    expect([rig.agent.status, model.requests.length]).toEqual(['idle', count + 1]);
    const perRetry = (await rig.events()).length / count;
    expect(perRetry).toBeLessThan(6);
  });
});

describe('cancelling during a retry in the loop', () => {
  test('A73 before the policy is asked leaves no record', async () => {
    const model = createScriptedModel([fails(overloaded), 'never']);
    const outer: Plugin = {
      name: 'outer',
      setup: (host) =>
        void host.on('agent/request-error', async (_, next) => {
          rig.agent.cancel();
          return await next();
        }),
    };
    const rig = await startRig({ model, plugins: [outer, llmRetry()] });
    expect(await rig.settle(rig.agent.followup('go').ended)).toMatchObject({ kind: 'cancelled' });
    expect([model.requests.length, await rig.records('llm-retry')]).toEqual([1, []]);
  });

  test('A74 during the wait ends the turn as aborted and leaves no timer of the retry', async () => {
    const model = createScriptedModel([fails(overloaded), 'never']);
    const rig = await startRig({ model, plugins: [llmRetry()] });
    const idle = rig.clock.pending().length;
    const { ended } = rig.agent.followup('go');
    await rig.clock.advance(100);
    expect(rig.clock.pending()).toHaveLength(idle + 1);
    rig.agent.cancel('user');
    expect(await ended).toMatchObject({ kind: 'cancelled', cause: 'user' });
    expect(rig.clock.pending()).toHaveLength(idle);
    const closed = (await rig.events()).findLast(({ type }) => type === 'turn.closed');
    expect(closed?.data).toMatchObject({ end: { reason: 'aborted' } });
    await rig.clock.advance(60_000);
    expect(model.requests).toHaveLength(1);
  });

  test('A83 unloading waits for the recovery under way, which then retries nothing', async () => {
    const gate = createGate();
    const model = createScriptedModel([fails({ message: 'too long', type: 'context_length_exceeded' }), 'never']);
    const slow: Plugin = {
      name: 'slow',
      setup: (host) =>
        void host.on('agent/request-error', async () => {
          await gate.wait();
          return undefined;
        }),
    };
    const rig = await startRig({ model, plugins: [llmRetry(), slow] });
    const { ended } = rig.agent.followup('go');
    await gate.entered;
    let unloaded = false;
    let idle = false;
    const unloading = rig.agent.unload('llm-retry').then(() => (unloaded = true));
    const waiting = rig.agent.whenIdle().then(() => (idle = true));
    await rig.clock.advance(1_000);
    expect([unloaded, idle]).toEqual([false, false]);
    gate.open();
    await rig.settle(Promise.all([unloading, waiting, ended]));
    expect(model.requests).toHaveLength(1);
  });

  test('disposing during the wait ends it, and no request follows', async () => {
    const model = createScriptedModel([fails(overloaded), 'never']);
    const rig = await startRig({ model, plugins: [llmRetry()] });
    const { ended } = rig.agent.followup('go');
    await rig.clock.advance(100);
    await rig.agent[Symbol.asyncDispose]();
    expect(await ended).toMatchObject({ kind: 'cancelled', cause: 'disposed' });
    expect([rig.clock.pending(), model.requests.length]).toEqual([[], 1]);
  });
});

async function killedDuringWait(retries: number): ReturnType<typeof startRig> {
  const model = createScriptedModel([fails(overloaded), 'never']);
  const rig = await startRig({ model, plugins: [llmRetry({ ...steady, retries })] });
  rig.agent.followup('go');
  await rig.clock.advance(100);
  expect(await rig.records('llm-retry')).toHaveLength(1);
  return rig;
}

describe('a process that dies during the wait of a retry', () => {
  test('A59 leaves a turn that is closed as interrupted, and nothing starts by itself', async () => {
    const model = createScriptedModel(['never']);
    const rig = await killedDuringWait(5);
    const again = await rig.afterKill({ model, plugins: [llmRetry(steady)] });
    await again.clock.advance(60_000);
    expect(model.requests).toEqual([]);
    expect((await again.events()).at(-1)?.data).toMatchObject({ end: { reason: 'interrupted' } });
  });

  test('goes on with that retry where the session is opened with recover, and counts it once', async () => {
    const model = createScriptedModel([fails(overloaded), 'done']);
    const rig = await killedDuringWait(2);
    const plugins = [llmRetry({ ...steady, retries: 2 })];
    const again = await rig.afterKill({ model, plugins, recover: true });
    await again.settle(again.agent.whenIdle());
    expect(again.agent.history().at(-1)).toMatchObject({ role: 'assistant', content: [{ text: 'done' }] });
    const records = (await again.records('llm-retry')) as readonly RetryRecord[];
    expect(records.map(({ turn, retry, max }) => [turn, retry, max])).toEqual([
      [1, 1, 2],
      [2, 2, 2],
    ]);
  });
});
