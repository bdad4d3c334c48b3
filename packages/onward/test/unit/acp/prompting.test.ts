import { describe, expect, test } from 'vitest';
import { llmRetry } from '../../../src/agent/plugins/llm-retry/index.ts';
import type { Plugin, PluginHost } from '../../../src/agent/plugin.ts';
import { createGate, createScriptedModel } from '../../../src/testing/index.ts';
import { recordingTool } from '../agent-plugins/loop-rig.ts';
import { until } from '../../e2e/cli/support/until.ts';
import { startRig } from './support/rig.ts';

const down = { fail: { message: 'down', status: 503 } } as const;
const quick = llmRetry({ initialMs: 1, maxMs: 1 });

describe('a prompt over ACP', () => {
  test('ends with end_turn, its text in one piece, thinking as it came', async () => {
    const model = createScriptedModel([
      [
        { thinking: 'hm hm', pieces: 2 },
        { text: 'hello you', pieces: 3 },
      ],
    ]);
    const { editor, newSession } = await startRig({ model });
    const id = await newSession();
    const answer = await editor.prompt(id, 'hi');
    expect(answer.stopReason).toBe('end_turn');
    expect(editor.texts()).toEqual(['hello you']);
    expect(editor.texts('agent_thought_chunk').join('')).toBe('hm hm');
  });

  test('stays pending while a retry turn runs, and shows the text once; the failed attempt is a notice', async () => {
    const model = createScriptedModel([['never s', down], 'said once']);
    const { editor, newSession } = await startRig({ model, plugins: [quick], notices: true });
    const answer = await editor.prompt(await newSession(), 'hi');
    expect(answer.stopReason).toBe('end_turn');
    expect(editor.texts()).toEqual(['said once']);
    const notices = editor.updates.filter(({ sessionUpdate }) => sessionUpdate === 'notice');
    expect(notices).toEqual([
      { sessionUpdate: 'notice', severity: 'warning', title: 'A model request failed', description: 'down (503)' },
      expect.objectContaining({ severity: 'info', title: 'Retry 1 of 5 in 0.0 s' }),
    ]);
  });

  test('a client without notices is told nothing of a failed attempt', async () => {
    const model = createScriptedModel([['never s', down], 'said once']);
    const { editor, newSession } = await startRig({ model, plugins: [quick] });
    await editor.prompt(await newSession(), 'hi');
    expect(editor.updates.map(({ sessionUpdate }) => sessionUpdate)).toEqual(['agent_message_chunk']);
  });

  test('A136 without a retry it rejects once, with the message of the failure and what it means', async () => {
    const model = createScriptedModel([[{ fail: { message: 'slow down', status: 429, retryAfterMs: 5_000 } }]]);
    const { editor, newSession, lines } = await startRig({ model, retry: false });
    const id = await newSession();
    const sent = editor.prompt(id, 'hi');
    await expect(sent).rejects.toMatchObject({
      code: -32_603,
      message: 'slow down',
      data: { class: 'throttled', retryable: true, status: 429, message: 'slow down' },
    });
    const data = await sent.then(
      () => undefined,
      (error: unknown) => (error as { data: { retryAfter: number } }).data,
    );
    expect(data?.retryAfter).toBeGreaterThan(0);
    expect(data?.retryAfter).toBeLessThanOrEqual(5_000);
    expect(lines.filter((line) => line.includes('"error"'))).toHaveLength(1);
  });

  test.each([
    ['max_tokens', [['cut', { finish: 'length' as const }]], {}],
    ['max_turn_requests', [[{ call: 'look' }]], { limits: { turn: { attempts: 1 } } }],
  ])('ends with %s when that is what stopped it', async (stopReason, script, more) => {
    const model = createScriptedModel(script);
    const { editor, newSession } = await startRig({ model, retry: false, tools: [recordingTool('look')], ...more });
    const answer = await editor.prompt(await newSession(), 'hi');
    expect(answer.stopReason).toBe(stopReason);
    expect(editor.texts()).toEqual(stopReason === 'max_tokens' ? ['cut'] : []);
  });

  test('ends with refusal when it was not admitted, since it is no part of the conversation', async () => {
    const guard: Plugin = {
      name: 'guard',
      setup: (host) => void host.on('agent/prompt-admission', () => ({ kind: 'block', because: 'not today' })),
    };
    const { editor, newSession } = await startRig({ model: createScriptedModel([]), plugins: [guard] });
    const answer = await editor.prompt(await newSession(), 'hi');
    expect(answer).toEqual({ stopReason: 'refusal', _meta: { onward: { because: 'not today' } } });
  });

  test('A137 a second one is refused while one is in flight; after one that could not be sent the slot is free', async () => {
    const gate = createGate();
    const model = createScriptedModel([[{ gate }, 'one'], 'two']);
    const { editor, newSession } = await startRig({ model });
    const id = await newSession();
    await expect(editor.agent.request('session/prompt', { sessionId: id, prompt: [] })).rejects.toMatchObject({
      code: -32_602,
    });
    const first = editor.prompt(id, 'first');
    await gate.entered;
    await expect(editor.prompt(id, 'second')).rejects.toMatchObject({
      code: -32_600,
      data: { code: 'acp/prompt-in-flight' },
    });
    gate.open();
    expect((await first).stopReason).toBe('end_turn');
    expect((await editor.prompt(id, 'second')).stopReason).toBe('end_turn');
    expect(editor.texts()).toEqual(['one', 'two']);
  });

  test('A138 a cancelled prompt is answered at once, and its turn, which closes late, settles nothing of the next', async () => {
    const body = createGate();
    const tool = { ...recordingTool('slow'), run: async () => await body.wait().then(() => 'late') };
    const model = createScriptedModel([['first', { call: 'slow' }], 'second']);
    const { editor, newSession } = await startRig({ model, tools: [tool] });
    const id = await newSession();
    const first = editor.prompt(id, 'one');
    await body.entered;
    await editor.until('the call is shown', () => editor.updates.length === 2);
    await editor.agent.notify('session/cancel', { sessionId: id });
    expect((await first).stopReason).toBe('cancelled');
    expect(editor.updates.at(-1)).toMatchObject({ sessionUpdate: 'tool_call_update', status: 'failed' });
    const told = editor.updates.length;

    const state = { over: false };
    const second = editor.prompt(id, 'two').finally(() => (state.over = true));
    await editor.agent.request('session/list', {});
    expect(state.over).toBe(false);
    body.open();
    expect((await second).stopReason).toBe('end_turn');
    // Nothing more of the first was told after its answer.
    expect(editor.updates.slice(told)).toEqual([
      { sessionUpdate: 'agent_message_chunk', messageId: '2.1', content: { type: 'text', text: 'second' } },
    ]);
  });

  test('A139 a turn that a plugin began ends while the prompt of the client stays pending', async () => {
    const gates = [createGate(), createGate()] as const;
    let host: PluginHost | undefined;
    const plugin: Plugin = { name: 'auto', setup: (given) => void (host = given) };
    const model = createScriptedModel([
      [{ gate: gates[0] }, 'of its own'],
      [{ gate: gates[1] }, 'for you'],
    ]);
    const { editor, newSession } = await startRig({ model, plugins: [plugin] });
    const id = await newSession();
    host?.followup('go on');
    await gates[0].entered;
    const state = { over: false };
    const sent = editor.prompt(id, 'hi').finally(() => (state.over = true));
    gates[0].open();
    await gates[1].entered;
    await editor.until('its text is there', () => editor.texts().length === 1);
    await editor.agent.request('session/list', {});
    expect([state.over, editor.texts()]).toEqual([false, ['of its own']]);
    gates[1].open();
    expect((await sent).stopReason).toBe('end_turn');
    expect(editor.texts()).toEqual(['of its own', 'for you']);
  });

  test('tells of calls as they begin and end, each under an id of its own', async () => {
    const model = createScriptedModel([
      ['looking', { call: 'read', id: 'x', input: { path: 'a.txt' } }],
      [{ call: 'read', id: 'x', input: { path: 'gone.txt' } }],
      'done',
    ]);
    let count = 0;
    const tool = {
      ...recordingTool('read'),
      run: () => {
        count += 1;
        if (count === 2) throw new Error('no such file');
        return 'content';
      },
    };
    const { editor, newSession } = await startRig({ model, tools: [tool] });
    await editor.prompt(await newSession(), 'hi');
    const calls = editor.updates.filter(({ sessionUpdate }) => sessionUpdate.startsWith('tool_call'));
    expect(calls).toMatchObject([
      { toolCallId: '1.1.x', title: 'read a.txt', kind: 'read', locations: [{ path: '/home/me/project/a.txt' }] },
      { toolCallId: '1.1.x', status: 'in_progress' },
      { toolCallId: '1.1.x', status: 'completed', content: [{ content: { text: 'content' } }] },
      { toolCallId: '1.2.x', title: 'read gone.txt', status: 'pending' },
      { toolCallId: '1.2.x', status: 'in_progress' },
      { toolCallId: '1.2.x', status: 'failed' },
    ]);
    expect(editor.texts()).toEqual(['looking', 'done']);
  });

  test('cancels find the prompt right before them, also where all came in one piece', async () => {
    const { raw, lines, agents, journal } = await startRig({
      model: createScriptedModel([[{ stall: true }], 'never'], { strict: false }),
      bare: true,
    });
    await raw('{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}\n');
    await raw('{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"/a","mcpServers":[]}}\n');
    await until('the session is there', () => lines.length === 2);
    const sessionId = agents[0]?.id ?? '';
    const prompt = (id: number): string =>
      `${JSON.stringify({ jsonrpc: '2.0', id, method: 'session/prompt', params: { sessionId, prompt: [{ type: 'text', text: `p${id}` }] } })}\n`;
    const cancel = `${JSON.stringify({ jsonrpc: '2.0', method: 'session/cancel', params: { sessionId } })}\n`;
    await raw(prompt(3) + cancel + prompt(4) + cancel);
    await until('both are answered', () => lines.length === 4);
    expect(lines.slice(2).map((line) => JSON.parse(line) as unknown)).toMatchObject([
      { id: 3, result: { stopReason: 'cancelled' } },
      { id: 4, result: { stopReason: 'cancelled' } },
    ]);
    await agents[0]?.whenIdle();
    expect(agents[0]?.queued()).toEqual([]);
    expect((await journal.read(`session:${sessionId}`)).filter(({ type }) => type === 'answer.completed')).toEqual([]);
  });

  test('a request that is cancelled by its id is a prompt that is cancelled', async () => {
    const model = createScriptedModel([[{ stall: true }], 'next']);
    const { editor, newSession } = await startRig({ model });
    const sessionId = await newSession();
    const stop = new AbortController();
    const sent = editor.agent.request(
      'session/prompt',
      { sessionId, prompt: [{ type: 'text', text: 'hi' }] },
      { cancellationSignal: stop.signal },
    );
    await until('the model is asked', () => model.requests.length === 1);
    stop.abort();
    expect(await sent).toEqual({ stopReason: 'cancelled' });
    expect((await editor.prompt(sessionId, 'next')).stopReason).toBe('end_turn');
  });

  test('what somebody else says in the session is shown, and what the client said itself is not repeated', async () => {
    const { editor, newSession, agents } = await startRig({ model: createScriptedModel(['one', 'two']) });
    const id = await newSession();
    await editor.prompt(id, 'mine');
    await agents[0]?.followup('not mine').ended;
    await editor.until('it is told', () => editor.texts().length === 2);
    expect(editor.texts('user_message_chunk')).toEqual(['not mine']);
  });

  test('secrets are redacted in what is told and in errors', async () => {
    const secret = `sk-ant-${'a1'.repeat(20)}`;
    const model = createScriptedModel([
      [`the key is ${secret}`, { call: 'look', input: { path: secret } }],
      [{ fail: { message: `bad key ${secret}`, status: 401 } }],
    ]);
    const { editor, newSession, lines } = await startRig({ model, tools: [recordingTool('look')] });
    await expect(editor.prompt(await newSession(), 'hi')).rejects.toMatchObject({ data: { class: 'auth' } });
    expect(editor.texts()).toEqual(['the key is [redacted]']);
    expect(lines.join('\n')).not.toContain(secret);
  });
});
