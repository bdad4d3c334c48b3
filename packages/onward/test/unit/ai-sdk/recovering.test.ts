import {
  APICallError,
  type LanguageModelV4,
  type LanguageModelV4CallOptions,
  type LanguageModelV4StreamPart,
} from '@ai-sdk/provider';
import { streamText } from 'ai';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isModelFailed, recovering, type RecoveringOptions, type RetryNotice } from '../../../src/ai-sdk/index.ts';
import { createFakeClock, type FakeClock } from '../../../src/testing/index.ts';
import { type Act, finish, opening, says, scriptedModel, type ScriptedModel } from './support/scripted-model.ts';

const overloaded = (headers: Record<string, string> = {}): APICallError =>
  new APICallError({
    message: 'Overloaded',
    url: 'lab',
    requestBodyValues: { secret: 'prompt' },
    statusCode: 529,
    responseHeaders: headers,
  });
const good: readonly Act[] = [opening, ...says('Hello'), finish()];
const prompt: LanguageModelV4CallOptions['prompt'] = [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }];

interface Set {
  readonly clock: FakeClock;
  readonly notices: RetryNotice[];
  readonly model: LanguageModelV4;
}

function wrap(inner: ScriptedModel, options: RecoveringOptions = {}): Set {
  const clock = createFakeClock();
  const notices: RetryNotice[] = [];
  const random = { next: () => 0.5 };
  const model = recovering(inner, {
    clock,
    random,
    onRetry: (notice) => notices.push(notice),
    surface: 'throw',
    ...options,
  });
  return { clock, notices, model };
}

interface Answer {
  readonly parts: readonly LanguageModelV4StreamPart[];
  readonly text: string;
  readonly error: unknown;
}

async function readAll(model: LanguageModelV4, abortSignal?: AbortSignal): Promise<Answer> {
  const parts: LanguageModelV4StreamPart[] = [];
  let error: unknown;
  try {
    const { stream } = await model.doStream({ prompt, ...(abortSignal && { abortSignal }) });
    for await (const part of stream) parts.push(part);
  } catch (thrown) {
    error = thrown;
  }
  const text = parts.map((part) => (part.type === 'text-delta' ? part.delta : '')).join('');
  return { parts, text, error };
}

/** Lets time pass until the call is over, however often it waits. */
async function run<Result>(clock: FakeClock, call: Promise<Result>, stepMs = 1_000): Promise<Result> {
  let over = false;
  const done = call.finally(() => (over = true));
  done.catch(() => undefined);
  for (let step = 0; step < 2_000; step += 1) {
    await clock.advance(stepMs);
    if (over) return await done;
  }
  throw new Error('the call does not end');
}

describe('waiting', () => {
  test('doubles from 0.5 s to 10 s, five times, and then the failure surfaces with how often it was tried', async () => {
    const inner = scriptedModel([{ throws: overloaded() }]);
    const { clock, notices, model } = wrap(inner);
    const { error } = await run(clock, readAll(model));
    expect(notices.map(({ delayMs }) => delayMs)).toEqual([500, 1_000, 2_000, 4_000, 8_000]);
    expect(notices[0]).toMatchObject({
      retry: 1,
      of: 5,
      class: 'transient',
      failure: { message: 'Overloaded', status: 529 },
    });
    expect(inner.calls).toHaveLength(6);
    expect(error).toMatchObject({ requests: 6, isRetryable: false, statusCode: 529, code: 'ai-sdk/model-failed' });
    expect(clock.pending()).toEqual([]);
  });

  test('begins the next request when the wait is over, and not a moment before', async () => {
    const inner = scriptedModel([{ throws: overloaded() }], good);
    const { clock, model } = wrap(inner);
    const call = readAll(model);
    await clock.advance(499);
    expect(inner.calls).toHaveLength(1);
    await clock.advance(1);
    expect(inner.calls).toHaveLength(2);
    expect((await call).text).toBe('Hello');
    expect(clock.pending()).toEqual([]);
  });

  test('is never shorter than the server asked, and a wait above the cap is not begun', async () => {
    const asked = wrap(scriptedModel([{ throws: overloaded({ 'retry-after': '7' }) }], good));
    expect((await run(asked.clock, readAll(asked.model))).text).toBe('Hello');
    expect(asked.notices[0]?.delayMs).toBeGreaterThanOrEqual(7_000);
    const inner = scriptedModel([{ throws: overloaded({ 'retry-after': '61' }) }]);
    const over = wrap(inner);
    const { error } = await readAll(over.model);
    expect(error).toMatchObject({ requests: 1, retryAt: over.clock.now() + 61_000 });
    expect(over.notices).toEqual([]);
    expect(over.clock.pending()).toEqual([]);
  });

  test('no retries are no retries, and what an observer throws changes nothing', async () => {
    const none = scriptedModel([{ throws: overloaded() }]);
    expect((await readAll(wrap(none, { retries: 0 }).model)).error).toMatchObject({ requests: 1 });
    const { clock, model } = wrap(scriptedModel([{ throws: overloaded() }], good), {
      onRetry: () => {
        throw new Error('mine');
      },
    });
    expect((await run(clock, readAll(model))).text).toBe('Hello');
  });
});

/** A ping every 30 s, and nothing else. */
function pings(clock: FakeClock, signal: AbortSignal | undefined): ReadableStream<LanguageModelV4StreamPart> {
  return new ReadableStream<LanguageModelV4StreamPart>(
    {
      async pull(controller) {
        await clock.sleep(30_000, signal);
        controller.enqueue({ type: 'ping' });
      },
    },
    { highWaterMark: 0 },
  );
}

describe('silence', () => {
  test.each(['silence', 'deaf silence'] as const)(
    '%s instead of headers is given up after 60 s and asked again',
    async (act) => {
      const inner = scriptedModel([act], good);
      const { clock, notices, model } = wrap(inner);
      const call = readAll(model);
      await clock.advance(59_999);
      expect(inner.calls[0]?.abortSignal?.aborted).toBe(false);
      await clock.advance(1);
      expect(inner.calls[0]?.abortSignal?.aborted).toBe(true);
      expect((await run(clock, call)).text).toBe('Hello');
      expect(notices).toMatchObject([{ class: 'transient', failure: { type: 'timeout_error' } }]);
      expect(clock.pending()).toEqual([]);
    },
  );

  test.each(['silence', 'deaf silence'] as const)(
    '%s in an answer is given up after 120 s, whatever keeps the connection warm',
    async (act) => {
      const inner = scriptedModel([opening, { type: 'ping' }, { type: 'ping' }, act], good);
      const { clock, model } = wrap(inner);
      const call = readAll(model);
      await clock.advance(119_999);
      expect(inner.calls).toHaveLength(1);
      await clock.advance(501);
      expect((await call).text).toBe('Hello');
      expect(clock.pending()).toEqual([]);
    },
  );

  test('that is broken by keep-alive pings alone is silence', async () => {
    const inner = scriptedModel(good);
    const { clock, model } = wrap({
      ...inner,
      async doStream(call) {
        if (inner.calls.length > 0) return await inner.doStream(call);
        inner.calls.push(call);
        return { stream: pings(clock, call.abortSignal) };
      },
    });
    const call = readAll(model);
    await clock.advance(120_500);
    expect((await call).text).toBe('Hello');
    expect(clock.pending()).toEqual([]);
  });

  test('after the first word is an error within 120 s', async () => {
    const { clock, model } = wrap(scriptedModel([opening, ...says('Hel').slice(0, 2), 'deaf silence']));
    const { parts, error } = await run(clock, readAll(model));
    expect(parts.at(-1)).toEqual({ type: 'error', error });
    expect(error).toMatchObject({ class: 'transient', forwarded: true, requests: 1 });
    expect(clock.pending()).toEqual([]);
  });

  test('of a reader is not silence of the provider', async () => {
    const { clock, model } = wrap(scriptedModel(good));
    const { stream } = await model.doStream({ prompt });
    await clock.advance(600_000);
    const parts = [];
    for await (const part of stream) parts.push(part.type);
    expect(parts.at(-1)).toBe('finish');
  });

  test('where a whole answer is expected is given up after ten minutes', async () => {
    const inner = scriptedModel(['deaf silence'], good);
    const { clock, model } = wrap(inner);
    const call = Promise.resolve(model.doGenerate({ prompt }));
    await clock.advance(599_999);
    expect(inner.calls).toHaveLength(1);
    const { content } = await run(clock, call);
    expect(content).toEqual([{ type: 'text', text: 'Hello' }]);
    expect(clock.pending()).toEqual([]);
  });
});

describe('what counts as an answer', () => {
  const bad: readonly [string, readonly Act[]][] = [
    ['a stream that just ends', [opening]],
    ['a finish that was made up', [opening, finish('interrupted')]],
    ['a finish with an error', [opening, finish('error')]],
    ['an answer of nothing', [opening, ...says(''), finish()]],
    [
      'an error in the stream',
      [opening, { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }, ...says('x'), finish()],
    ],
    ['a stream that breaks', [opening, { throws: Object.assign(new Error('terminated'), { code: 'ECONNRESET' }) }]],
  ];
  test.each(bad)('%s is none, streamed or not', async (_name, acts) => {
    const streamed = wrap(scriptedModel(acts, good));
    expect((await run(streamed.clock, readAll(streamed.model))).text).toBe('Hello');
    expect(streamed.notices).toHaveLength(1);
    const whole = wrap(
      scriptedModel(
        acts.filter((act) => typeof act !== 'object' || !('type' in act) || act.type !== 'error'),
        good,
      ),
    );
    expect(await run(whole.clock, Promise.resolve(whole.model.doGenerate({ prompt })))).toMatchObject({
      content: [{ text: expect.any(String) as string }],
    });
  });

  test.each(['length', 'content-filter'] as const)(
    'an end by %s without a word is one: asking again changes nothing',
    async (unified) => {
      const inner = scriptedModel([opening, finish(unified)]);
      expect((await readAll(wrap(inner).model)).error).toBeUndefined();
      expect(inner.calls).toHaveLength(1);
    },
  );

  test('a call without a word is one, and nothing of it is held back', async () => {
    const call: LanguageModelV4StreamPart = { type: 'tool-call', toolCallId: 'c', toolName: 't', input: '{}' };
    const { parts } = await readAll(wrap(scriptedModel([opening, call, finish('tool-calls')])).model);
    expect(parts).toEqual([opening, call, finish('tool-calls')]);
  });
});

describe('whatever happens', () => {
  const part = fc.constantFrom<Act>(
    ...says('ab'),
    opening,
    { type: 'ping' },
    { type: 'reasoning-delta', id: '1', delta: 'hm' },
  );
  const ending = fc.constantFrom<readonly Act[]>(
    [finish()],
    [finish('interrupted')],
    [],
    [{ throws: overloaded() }],
    [{ type: 'error', error: 'x' }],
    ['silence'],
  );
  const attempt = fc.tuple(fc.array(part, { maxLength: 5 }), ending).map(([parts, end]) => [opening, ...parts, ...end]);

  test.each(['first-part', 'whole'] as const)(
    'holding back %s: the reader gets the parts of one attempt alone, a success is complete, and no timer stays',
    async (hold) => {
      await fc.assert(
        fc.asyncProperty(fc.array(attempt, { minLength: 1, maxLength: 4 }), async (attempts) => {
          const inner = scriptedModel(...attempts);
          const { clock, model } = wrap(inner, { hold, retries: 3 });
          const { parts, error } = await run(clock, readAll(model), 30_000);
          const last = attempts[Math.min(inner.calls.length, attempts.length) - 1] ?? [];
          const shown = parts.filter(({ type }) => type !== 'error' && type !== 'ping');
          const of = last.filter(
            (act) => typeof act === 'object' && 'type' in act && act.type !== 'error' && act.type !== 'ping',
          );
          expect(of.slice(0, shown.length)).toEqual(shown);
          expect(inner.calls.length).toBeLessThanOrEqual(4);
          const isComplete = parts.at(-1)?.type === 'finish';
          expect(isComplete).toBe(error === undefined);
          if (!isComplete) assertSurfaced(parts, error);
          if (hold === 'whole' && !isComplete) assertNothingShown(shown);
          expect(clock.pending()).toEqual([]);
        }),
        { numRuns: 150 },
      );
    },
  );
});

function assertSurfaced(parts: readonly LanguageModelV4StreamPart[], error: unknown): void {
  expect(isModelFailed(error)).toBe(true);
  expect(parts.at(-1)).toEqual({ type: 'error', error });
}

function assertNothingShown(shown: readonly LanguageModelV4StreamPart[]): void {
  expect(shown).toEqual([]);
}

describe('a cancel', () => {
  const reason = new Error('enough');

  test('before the call makes no request', async () => {
    const inner = scriptedModel(good);
    const { model } = wrap(inner);
    expect((await readAll(model, AbortSignal.abort(reason))).error).toBe(reason);
    await expect(Promise.resolve(model.doGenerate({ prompt, abortSignal: AbortSignal.abort(reason) }))).rejects.toBe(
      reason,
    );
    expect(inner.calls).toEqual([]);
  });

  test.each([
    ['while it waits for headers', [['deaf silence']], 'first-part'],
    ['while it waits for a part', [[opening, 'deaf silence']], 'first-part'],
    ['while it waits to retry', [[{ throws: overloaded() }]], 'first-part'],
    ['after the first part', [[opening, ...says('Hel'), 'deaf silence']], 'first-part'],
    ['while the whole is held back', [[opening, ...says('Hel'), 'deaf silence']], 'whole'],
  ] as const)('%s ends the call with its reason, and nothing is left', async (_name, attempts, hold) => {
    const inner = scriptedModel(...attempts);
    const { clock, model } = wrap(inner, { hold });
    const stop = new AbortController();
    const call = readAll(model, stop.signal);
    await clock.advance(100);
    stop.abort(reason);
    expect((await call).error).toBe(reason);
    expect(inner.calls).toHaveLength(1);
    expect(inner.calls[0]?.abortSignal?.aborted).toBe(true);
    expect(clock.pending()).toEqual([]);
  });

  test('of the reader alone ends the request', async () => {
    const inner = scriptedModel([opening, ...says('Hel'), 'silence']);
    const { clock, model } = wrap(inner);
    const { stream } = await model.doStream({ prompt });
    await stream.cancel();
    expect(inner.calls[0]?.abortSignal?.aborted).toBe(true);
    expect(clock.pending()).toEqual([]);
  });

  test('leaves no listener at the signal of the caller, however often it was used', async () => {
    const stop = new AbortController();
    let listeners = 0;
    const { signal } = stop;
    const add = signal.addEventListener.bind(signal);
    const remove = signal.removeEventListener.bind(signal);
    signal.addEventListener = (...args: Parameters<typeof add>) => {
      listeners += 1;
      add(...args);
    };
    signal.removeEventListener = (...args: Parameters<typeof remove>) => {
      listeners -= 1;
      remove(...args);
    };
    const { clock, model } = wrap(scriptedModel([{ throws: overloaded() }], good));
    await run(clock, readAll(model, signal));
    expect(listeners).toBeLessThanOrEqual(0);
  });
});

const play = async (
  model: LanguageModelV4,
): Promise<{ text: string; thrown: unknown; result: unknown; finish: unknown; heard: unknown[] }> => {
  const heard: unknown[] = [];
  const stream = streamText({ model, prompt: 'Hi', onError: ({ error }) => void heard.push(error) });
  let text = '';
  let thrown: unknown;
  try {
    for await (const delta of stream.textStream) text += delta;
  } catch (error) {
    thrown = error;
  }
  const result = await Promise.resolve(stream.text).catch((error: unknown) => error);
  const why = await Promise.resolve(stream.finishReason).catch((error: unknown) => error);
  return { text, thrown, result, finish: why, heard };
};

describe('what surfaces', () => {
  test('has the headers and the cause, and never the prompt', async () => {
    const { clock, model } = wrap(scriptedModel([{ throws: overloaded({ 'request-id': 'req_1' }) }]), { retries: 0 });
    const { error } = await run(clock, readAll(model));
    expect(error).toMatchObject({
      responseHeaders: { 'request-id': 'req_1' },
      failure: { requestId: 'req_1' },
      cause: { statusCode: 529 },
    });
    expect(JSON.stringify({ ...(error as object), cause: undefined })).not.toContain('prompt');
  });

  const breaks: readonly Act[] = [opening, ...says('Hel'), { throws: overloaded() }];

  test('is a part of a stream by default: onError hears of it, and the finish says so', async () => {
    const { text, thrown, finish: why, heard } = await play(wrap(scriptedModel(breaks), { surface: 'part' }).model);
    expect({ text, thrown, why }).toEqual({ text: 'Hel', thrown: undefined, why: 'error' });
    expect(heard).toMatchObject([{ code: 'ai-sdk/model-failed', forwarded: true }]);
  });

  test('rejects the text where it is asked to throw, with one and the same error everywhere', async () => {
    const { text, thrown, result, heard } = await play(wrap(scriptedModel(breaks)).model);
    expect(text).toBe('Hel');
    expect(isModelFailed(thrown)).toBe(true);
    expect(heard).toEqual([thrown]);
    expect(result).toBe(thrown);
  });

  test('before anything was shown rejects the text of a first step either way', async () => {
    for (const surface of ['part', 'throw'] as const) {
      const { result, heard } = await play(
        wrap(scriptedModel([{ throws: overloaded() }]), { surface, retries: 0 }).model,
      );
      expect(result).toBeInstanceOf(Error);
      expect(heard).toMatchObject([{ code: 'ai-sdk/model-failed', forwarded: false }]);
    }
  });
});

describe('misuse', () => {
  test.each([
    [{ retries: -1 }, 'retries'],
    [{ retries: 1.5 }, 'retries'],
    [{ retries: 101 }, 'retries'],
    [{ initialMs: Number.NaN }, 'initialMs'],
    [{ maxMs: Number.POSITIVE_INFINITY }, 'maxMs'],
    [{ initialMs: 2, maxMs: 1 }, 'initialMs'],
    [{ idleMs: '5' }, 'idleMs'],
    [{ hold: 'all' }, 'hold'],
    [{ surface: 'maybe' }, 'surface'],
    [{ onRetry: 1 }, 'onRetry'],
    [{ retry: 5 }, 'retry'],
    [{ policy: {} }, 'policy'],
  ])('%o is refused at once, with its place', (options, place) => {
    expect(() => recovering(scriptedModel(), options as never)).toThrow(
      expect.objectContaining({ code: 'ai-sdk/bad-option', place }) as Error,
    );
  });

  test.each([undefined, 'anthropic/claude', {}, { specificationVersion: 'v2' }])('%o is no model', (model) => {
    expect(() => recovering(model as never)).toThrow(expect.objectContaining({ code: 'ai-sdk/bad-model' }) as Error);
  });
});
