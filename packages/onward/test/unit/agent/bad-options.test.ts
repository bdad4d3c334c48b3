import { afterEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { type SessionEvent, sessionStream } from '../../../src/agent/session-events.ts';
import type { AnyTool } from '../../../src/agent/tool.ts';
import type { NewEvent } from '../../../src/kernel/envelope.ts';
import { createAgent, createMemoryJournal, openAgent } from '../../../src/library/agent/index.ts';
import { createFakeClock, createScriptedModel } from '../../../src/testing/index.ts';
import { endTestAgents, startTestAgent, type TestAgentOptions, testTool } from './start-test-agent.ts';

afterEach(endTestAgents);

const model = createScriptedModel([]);
const justOverAYear = 365 * 24 * 3_600_000 + 1;

/** Numbers that no count and no time can be. */
const noNumbers: readonly unknown[] = [-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, '5', null, 10n, {}];

const numbers: readonly {
  readonly path: string;
  readonly most?: number;
  readonly options: (value: never) => TestAgentOptions;
}[] = [
  { path: 'parallelCalls', most: 1_001, options: (parallelCalls) => ({ parallelCalls }) },
  { path: 'watchdogs.headersMs', most: justOverAYear, options: (headersMs) => ({ watchdogs: { headersMs } }) },
  { path: 'watchdogs.idleMs', most: justOverAYear, options: (idleMs) => ({ watchdogs: { idleMs } }) },
  { path: 'limits.turn.attempts', options: (attempts) => ({ limits: { turn: { attempts } } }) },
  { path: 'limits.turn.toolCalls', options: (toolCalls) => ({ limits: { turn: { toolCalls } } }) },
  { path: 'limits.turn.wallMs', most: justOverAYear, options: (wallMs) => ({ limits: { turn: { wallMs } } }) },
  { path: 'limits.session.tokens', options: (tokens) => ({ limits: { session: { tokens } } }) },
  { path: 'settings.maxOutputTokens', options: (maxOutputTokens) => ({ settings: { maxOutputTokens } }) },
  {
    path: 'tools[0].deadlineMs',
    most: justOverAYear,
    options: (deadlineMs) => ({ tools: [testTool('a', undefined, { deadlineMs })] }),
  },
  {
    path: 'tools[0].effect.settleMs',
    most: justOverAYear,
    options: (settleMs) => ({ tools: [testTool('a', undefined, { effect: { settleMs } })] }),
  },
  {
    path: 'tools[0].effect.keyLifetimeMs',
    most: justOverAYear,
    options: (keyLifetimeMs) => ({ tools: [testTool('a', undefined, { effect: { keyLifetimeMs } })] }),
  },
];

const cells = numbers.flatMap(({ path, most, options }) =>
  [...noNumbers, ...(most === undefined ? [] : [most])].map((value) => ({ path, value, options })),
);

async function refusalOf(options: TestAgentOptions): Promise<unknown> {
  return await startTestAgent(options).then(
    () => 'it was taken',
    (error: unknown) => error,
  );
}

describe('a bad option is refused when the agent is made', () => {
  test.each(cells.map((cell) => ({ ...cell, shown: `${typeof cell.value} ${String(cell.value)}` })))(
    '$path of $shown, with its path',
    async ({ path, value, options }) => {
      expect(await refusalOf(options(value as never))).toMatchObject({
        code: expect.stringMatching(/^agent\/bad-(option|tool)$/) as string,
        place: path,
        message: expect.stringContaining(path) as string,
      });
    },
  );

  test.each<{ readonly path: string; readonly options: unknown }>([
    { path: 'limits.turn.usd', options: { limits: { turn: { usd: -0.01 } } } },
    { path: 'limits.turn.usd', options: { limits: { turn: { usd: Number.NaN } } } },
    { path: 'limits.turn.tokenz', options: { limits: { turn: { tokenz: 5 } } } },
    { path: 'limits.session.wallMs', options: { limits: { session: { wallMs: 5 } } } },
    { path: 'limits.steps', options: { limits: { steps: { attempts: 5 } } } },
    { path: 'limits.within', options: { limits: { within: {} } } },
    { path: 'watchdogs.idle', options: { watchdogs: { idle: 5 } } },
    { path: 'settings.temperature', options: { settings: { temperature: Number.NaN } } },
    { path: 'settings.temperature', options: { settings: { temperature: -1 } } },
    { path: 'settings.toolChoice', options: { settings: { toolChoice: 'any' } } },
    { path: 'settings.topK', options: { settings: { topK: 5 } } },
    { path: 'settings.providerOptions.x.n', options: { settings: { providerOptions: { x: { n: Number.NaN } } } } },
    { path: 'name', options: { name: 'half \ud83d' } },
    { path: 'instructions', options: { instructions: 'half \ud83d' } },
    { path: 'instructions', options: { instructions: 5 } },
    { path: 'tools', options: { tools: {} } },
    { path: 'plugins', options: { plugins: 'llm-retry' } },
    { path: 'onStatus', options: { onStatus: true } },
    { path: 'model', options: { model: undefined } },
    { path: 'model', options: { model: {} } },
    { path: 'model', options: { model: { ...model, id: '' } } },
    { path: 'model.contextTokens', options: { model: { ...model, contextTokens: Number.NaN } } },
    { path: 'model.contextTokens', options: { model: { ...model, contextTokens: 0.5 } } },
  ])('$path, with its path', async ({ path, options }) => {
    const made = createAgent({ model, ...(options as object) });
    await expect(made).rejects.toMatchObject({ code: 'agent/bad-option', place: path });
  });

  test('nothing of it was written', async () => {
    const journal = createMemoryJournal({ clock: createFakeClock() });
    await expect(createAgent({ id: 's', model, journal, parallelCalls: 0 })).rejects.toMatchObject({});
    expect(await journal.streams('')).toEqual([]);
  });

  test.each(['', 'a/b', '../x', ' ', 'ä', 'x'.repeat(201), 5, null])('the id %j', async (id) => {
    await expect(createAgent({ model, id: id as string })).rejects.toMatchObject({ code: 'agent/bad-id', place: 'id' });
  });
});

const standard = (more: object) => ({ '~standard': { version: 1, vendor: 'test', ...more } });
const one = testTool('one');

describe('a bad tool is refused when the agent is made', () => {
  test.each<{ readonly what: string; readonly path: string; readonly tool: unknown }>([
    { what: 'null', path: 'tools[1]', tool: null },
    { what: 'a function', path: 'tools[1]', tool: () => 1 },
    { what: 'a name with a blank', path: 'tools[1].name', tool: { ...one, name: 'a b' } },
    { what: 'a name of 65 characters', path: 'tools[1].name', tool: { ...one, name: 'x'.repeat(65) } },
    { what: 'no name', path: 'tools[1].name', tool: { ...one, name: undefined } },
    { what: 'a name that is taken', path: 'tools[1].name', tool: testTool('first') },
    { what: 'no description', path: 'tools[1].description', tool: { ...one, description: undefined } },
    { what: 'no body', path: 'tools[1].run', tool: { ...one, run: 'rm' } },
    { what: 'no schema', path: 'tools[1].input', tool: { ...one, input: undefined } },
    { what: 'a JSON Schema for a schema', path: 'tools[1].input', tool: { ...one, input: { type: 'object' } } },
    { what: 'a schema that cannot check', path: 'tools[1].input', tool: { ...one, input: standard({}) } },
    {
      what: 'a schema without a JSON Schema',
      path: 'tools[1].inputSchema',
      tool: { ...one, input: standard({ validate: () => ({ value: 1 }) }) },
    },
    { what: 'a schema that JSON Schema cannot say', path: 'tools[1].inputSchema', tool: { ...one, input: z.date() } },
    {
      what: 'a JSON Schema that is none',
      path: 'tools[1].inputSchema',
      tool: { ...one, inputSchema: () => 1 },
    },
    { what: 'another effect', path: 'tools[1].effect', tool: { ...one, effect: 'some' } },
    { what: 'no effect at all', path: 'tools[1].effect', tool: { ...one, effect: null } },
    { what: 'an action that is no text', path: 'tools[1].effect.action', tool: { ...one, effect: { action: 5 } } },
    { what: 'a lookup that is none', path: 'tools[1].effect.lookup', tool: { ...one, effect: { lookup: 'GET' } } },
    { what: 'another scope', path: 'tools[1].effect.scope', tool: { ...one, effect: { scope: 'turn' } } },
    { what: 'nameless people', path: 'tools[1].effect.mayAnswer', tool: { ...one, effect: { mayAnswer: [''] } } },
    { what: 'an approval without a version', path: 'tools[1].approval.version', tool: { ...one, approval: {} } },
    {
      what: 'an approval whose rule is no function',
      path: 'tools[1].approval.when',
      tool: { ...one, approval: { version: '1', when: true } },
    },
    { what: 'parallel as a word', path: 'tools[1].parallel', tool: { ...one, parallel: 'yes' } },
  ])('with $what, with its path', async ({ path, tool }) => {
    const tools = [testTool('first'), tool as AnyTool];
    expect(await refusalOf({ tools })).toMatchObject({ code: 'agent/bad-tool', place: path });
  });

  test('two plugins of one name', async () => {
    const plugin = { name: 'twin', setup: () => undefined };
    expect(await refusalOf({ plugins: [plugin, plugin] })).toMatchObject({ code: 'agent/bad-plugin', place: 'twin' });
    expect(await refusalOf({ plugins: [{ name: ' ', setup: () => undefined }] })).toMatchObject({
      code: 'agent/bad-plugin',
    });
  });
});

/** A session whose last event is replaced by what another program wrote. */
async function storedWith(event: NewEvent) {
  const clock = createFakeClock();
  const journal = createMemoryJournal({ clock });
  const rig = await startTestAgent({ journal, clock });
  await rig.ask('a');
  await rig.agent[Symbol.asyncDispose]();
  const stream = sessionStream('s');
  const claimed = await journal.claim(stream, { id: 'x', host: 'x', pid: 1, startedAt: '' }, 1);
  if (!claimed.ok) throw new Error('It is held.');
  const expected = (await journal.read(stream)).length;
  await journal.append([{ stream, expected, epoch: claimed.lease.epoch, events: [event] }]);
  await journal.release(claimed.lease);
  return { journal, clock, at: expected + 1 };
}

describe('a stored session', () => {
  test.each<{ readonly what: string; readonly code: string; readonly event: NewEvent }>([
    { what: 'an unknown event', code: 'journal/newer-version', event: { type: 'dream.dreamt', v: 1, data: {} } },
    {
      what: 'a newer version of a known event',
      code: 'journal/newer-version',
      event: { type: 'turn.opened', v: 2, data: {} },
    },
    {
      what: 'an event that cannot follow',
      code: 'journal/bad-event',
      event: { type: 'turn.closed', v: 1, data: { turn: 9, chain: 9, end: { reason: 'completed' } } },
    },
    {
      what: 'a message accepted twice',
      code: 'journal/bad-event',
      event: {
        type: 'input.committed',
        v: 1,
        data: { items: [{ id: 'nobody' }] },
      },
    },
  ])('with $what is refused with the place, and nothing is written to it', async ({ event, code }) => {
    const { journal, clock, at } = await storedWith(event);
    await expect(startTestAgent({ journal, clock, reopen: true })).rejects.toMatchObject({
      code,
      place: `session:s@${at}`,
    });
    expect(await journal.read(sessionStream('s'))).toHaveLength(at);
    // Nobody else is kept out by the attempt.
    expect((await journal.lease(sessionStream('s')))?.expiresAt ?? 0).toBeLessThanOrEqual(clock.now());
  });

  test('with an unknown event that its writer marked as ignorable is opened, and goes on', async () => {
    const { journal, clock } = await storedWith({ type: 'dream.dreamt', v: 1, data: {}, ignorable: true });
    const rig = await startTestAgent({ journal, clock, reopen: true });
    expect(await rig.ask('b')).toMatchObject({ kind: 'done' });
    const stored: readonly SessionEvent[] = await rig.stored();
    expect(stored.at(-1)).toMatchObject({ type: 'turn.closed' });
    await rig.agent[Symbol.asyncDispose]();
    const again = await startTestAgent({ journal, clock, reopen: true, series: 'c' });
    expect(again.agent.history()).toHaveLength(4);
  });

  test('that is not there, or is there already, or is open elsewhere, is refused by name', async () => {
    const journal = createMemoryJournal({ clock: { now: Date.now } });
    await expect(openAgent('s', { model, journal })).rejects.toMatchObject({ code: 'session/unknown', place: 's' });
    const agent = await createAgent({ id: 's', model, journal });
    agent.followup('hello');
    await agent.whenIdle();
    await expect(createAgent({ id: 's', model, journal })).rejects.toMatchObject({ code: 'session/held' });
    await expect(openAgent('s', { model, journal })).rejects.toMatchObject({ code: 'session/held', place: 's' });
    await agent[Symbol.asyncDispose]();
    await expect(createAgent({ id: 's', model, journal })).rejects.toMatchObject({ code: 'session/exists' });
  });
});
