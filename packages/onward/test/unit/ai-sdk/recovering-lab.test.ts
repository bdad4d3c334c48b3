import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { generateText, isStepCount, streamText, tool } from 'ai';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { isModelFailed, recovering, type RecoveringOptions } from '../../../src/ai-sdk/index.ts';
import { isOnwardError } from '../../../src/kernel/error.ts';
import type { Fault, FaultRule, ModelServer, Place, Script } from '../../../src/lab/index.ts';
import { effectStep, startModelServer } from '../../../src/lab/index.ts';
import { modelOf, type Wire, WIRES } from './support/wires.ts';

/** Waits of no length: what is tested is whether and what, never how long. */
const QUICK: RecoveringOptions = { initialMs: 0, maxMs: 0, surface: 'throw' };
const STEP = effectStep('one', 1);
const FINAL = 'All steps are done: one.';

function scriptOf(faults: readonly FaultRule[]): Script {
  return { task: { steps: [STEP] }, temperament: 'naive', faults };
}

function lab(faults: readonly FaultRule[] = []): Promise<ModelServer> {
  return startModelServer({ script: scriptOf(faults) });
}

/** Counts its runs: a second one would be a second side effect. */
function shell(): { runs: string[]; tools: { bash: ReturnType<typeof bashTool> } } {
  const runs: string[] = [];
  return { runs, tools: { bash: bashTool(runs) } };
}

function bashTool(runs: string[]) {
  return tool({
    description: 'Runs a command.',
    inputSchema: z.object({ command: z.string() }),
    execute: ({ command }) => {
      runs.push(command);
      return Promise.resolve(command.split('echo ').at(-1) ?? '');
    },
  });
}

interface Played {
  readonly text: string;
  readonly runs: readonly string[];
  /** What `result.text` rejected with; `undefined` for a success. */
  readonly error: unknown;
  /** What `result.text` and `result.finishReason` resolved to. */
  readonly result?: string;
  readonly finish?: string;
  /** What `onError` heard. */
  readonly heard: readonly unknown[];
}

async function stream(server: ModelServer, wire: Wire, options: RecoveringOptions = QUICK): Promise<Played> {
  const { runs, tools } = shell();
  const heard: unknown[] = [];
  const result = streamText({
    model: recovering(modelOf(wire, server.url), options),
    prompt: 'Do the task.',
    tools,
    stopWhen: isStepCount(10),
    onError: ({ error }) => void heard.push(error),
  });
  let text = '';
  try {
    for await (const delta of result.textStream) text += delta;
    return { text, runs, error: undefined, result: await result.text, finish: await result.finishReason, heard };
  } catch (thrown) {
    return { text, runs, error: thrown, heard };
  }
}

async function generate(server: ModelServer, wire: Wire, options: RecoveringOptions = QUICK): Promise<Played> {
  const { runs, tools } = shell();
  try {
    const model = recovering(modelOf(wire, server.url), options);
    const { text } = await generateText({ model, prompt: 'Do the task.', tools, stopWhen: isStepCount(10) });
    return { text, runs, error: undefined, heard: [] };
  } catch (error) {
    return { text: '', runs, error, heard: [] };
  }
}

const error = (name: Extract<Fault, { kind: 'error' }>['error']): Fault => ({ kind: 'error', error: name });
const early: readonly [string, Fault][] = [
  ['an overload', error('overloaded')],
  ['a 503', error('unavailable')],
  ['a rate limit', error('rate-limited')],
  ['a bad gateway with a page of HTML', error('bad-gateway')],
  ['a reset connection', { kind: 'reset' }],
  ['an empty body', { kind: 'empty-body' }],
  ['an empty answer', { kind: 'empty-answer' }],
  ['a reset right after the headers', { kind: 'cut', at: 'start', how: 'rst' }],
  ['a clean end right after the headers', { kind: 'cut', at: 'start', how: 'fin' }],
  ['an error event before the first word', { kind: 'error-event', at: 'start', error: 'overloaded' }],
];
const places: readonly Place[] = ['start', 'text', 'after-text', 'tool-json', 'after-call'];
const late: readonly [string, Fault][] = places.flatMap((at): [string, Fault][] => [
  [`a reset at ${at}`, { kind: 'cut', at, how: 'rst' }],
  [`a clean end at ${at}`, { kind: 'cut', at, how: 'fin' }],
  [`an error event at ${at}`, { kind: 'error-event', at, error: 'overloaded' }],
  [`a malformed chunk at ${at}`, { kind: 'malformed-chunk', at }],
]);

describe.each(WIRES)('%s', (wire) => {
  test.each(early)('%s before the first part costs one request, and the text comes once', async (_name, fault) => {
    await using server = await lab([{ from: 2, fault }]);
    const played = await stream(server, wire);
    expect(played).toMatchObject({
      text: expect.stringMatching(new RegExp(`^[^.]*\\.${FINAL}$`)) as string,
      error: undefined,
    });
    expect(played.runs).toHaveLength(1);
    expect(server.requests).toHaveLength(3);
  });

  test.each(late)(
    'held back as a whole, %s is recovered with the text once and the tool run once',
    async (_name, fault) => {
      await using server = await lab([{ from: 1, fault }]);
      const played = await stream(server, wire, { ...QUICK, hold: 'whole' });
      expect(played).toMatchObject({ text: `Now step one of the task.${FINAL}`, error: undefined });
      expect(played.runs).toHaveLength(1);
      expect(server.requests).toHaveLength(3);
    },
  );

  test.each([...early, ...late.slice(0, 1)])('generateText goes on over %s', async (_name, fault) => {
    await using server = await lab([{ from: 2, fault }]);
    const played = await generate(server, wire);
    expect(played).toMatchObject({ text: FINAL, error: undefined });
    expect(played.runs).toHaveLength(1);
    expect(server.requests.length).toBeLessThanOrEqual(3);
  });

  const brokenText: FaultRule = { from: 2, fault: { kind: 'error-event', at: 'text', error: 'overloaded' } };

  test('R81 what breaks after the first part is an error for all who look, and never logged as a success', async () => {
    await using server = await lab([brokenText]);
    const thrown = await stream(server, wire);
    expect(thrown.error).toMatchObject({ class: 'transient', forwarded: true, isRetryable: false });
    expect(thrown.heard).toEqual([thrown.error]);
    expect(isModelFailed(thrown.error) && isOnwardError(thrown.error, 'ai-sdk/model-failed')).toBe(true);
    expect(server.requests).toHaveLength(2);

    server.setScript(scriptOf([brokenText]));
    const part = await stream(server, wire, { ...QUICK, surface: 'part' });
    expect(part).toMatchObject({ error: undefined, finish: 'error', heard: [{ class: 'transient', forwarded: true }] });
  });

  test('a later step that fails before its first word does not pass for the answer of the step before', async () => {
    await using server = await lab([{ from: 2, to: null, fault: error('unauthorised') }]);
    const played = await stream(server, wire, { ...QUICK, surface: 'part' });
    expect(played).toMatchObject({
      result: '',
      finish: 'error',
      heard: [{ class: 'auth', statusCode: 401, requests: 1 }],
    });
  });

  test('a route that pipes a broken answer tells the page, and lives', async () => {
    await using server = await lab([brokenText]);
    const route = createServer((_request, response) => {
      const model = recovering(modelOf(wire, server.url), { initialMs: 0, maxMs: 0 });
      const { tools } = shell();
      const result = streamText({
        model,
        prompt: 'Do the task.',
        tools,
        stopWhen: isStepCount(10),
        onError: () => undefined,
      });
      // As the documentation of `ai` has it: nobody waits for it.
      void result.pipeUIMessageStreamToResponse(response, {
        onError: (thrown) => (isModelFailed(thrown) ? thrown.class : ''),
      });
    });
    await new Promise<void>((resolve) => void route.listen(0, '127.0.0.1', resolve));
    const body = await (await fetch(`http://127.0.0.1:${(route.address() as AddressInfo).port}`)).text();
    await new Promise<unknown>((resolve) => void route.close(resolve));
    expect(body).toContain('{"type":"error","errorText":"transient"}');
    expect(body).toContain('"finishReason":"error"');
  });

  test('R80 an error event after tool results repeats the model call and no tool', async () => {
    await using server = await lab([{ from: 2, fault: { kind: 'error-event', at: 'text', error: 'overloaded' } }]);
    const played = await stream(server, wire, { ...QUICK, hold: 'whole' });
    expect(played).toMatchObject({ text: `Now step one of the task.${FINAL}`, error: undefined });
    expect(played.runs).toHaveLength(1);
    expect(server.requests).toHaveLength(3);
  });

  test.each([
    ['unauthorised', 'auth', 401],
    ['bad-request', 'input', 400],
    ['context-overflow', 'overflow', 400],
    ['billing', 'billing', wire === 'anthropic' ? 400 : 429],
  ] as const)('%s takes one request, and its class and status surface', async (name, kind, status) => {
    await using server = await lab([{ from: 1, to: null, fault: error(name) }]);
    for (const play of [stream, generate]) {
      const before = server.requests.length;
      const played = await play(server, wire);
      expect(played.error).toMatchObject({ class: kind, isRetryable: false, requests: 1, forwarded: false });
      expect(played.error).toMatchObject({ statusCode: status });
      expect(server.requests.length - before).toBe(1);
    }
  });

  test('the retries of the SDK do not multiply ours: after 1 + 2 requests there is no other', async () => {
    await using server = await lab([{ from: 1, to: null, fault: error('overloaded') }]);
    for (const play of [stream, generate]) {
      const before = server.requests.length;
      const played = await play(server, wire, { ...QUICK, retries: 2 });
      expect(played.error).toMatchObject({ class: 'transient', requests: 3, isRetryable: false });
      expect(server.requests.length - before).toBe(3);
    }
  });

  test('a server that asks for more than the cap is not waited for: the time surfaces with one request', async () => {
    await using server = await lab([
      { from: 1, to: null, fault: { kind: 'error', error: 'rate-limited', retryAfterSeconds: 90 } },
    ]);
    const before = Date.now();
    const played = await stream(server, wire);
    expect(played.error).toMatchObject({ class: 'throttled', requests: 1, statusCode: 429 });
    const { retryAt } = played.error as { retryAt: number };
    expect(retryAt - before).toBeGreaterThanOrEqual(89_000);
    expect(server.requests).toHaveLength(1);
  });
});
