import { describe, expect, onTestFinished, test } from 'vitest';
import { planMode } from '../../../src/agent/plugins/plan-mode/index.ts';
import { answerQuestion, listQuestions } from '../../../src/effects/index.ts';
import { systemClock } from '../../../src/processes/index.ts';
import { type Agent, createAgent } from '../../../src/library/agent/index.ts';
import { createMemoryJournal } from '../../../src/stores/memory/index.ts';
import { createGate, createScriptedModel } from '../../../src/testing/index.ts';
import { until } from '../../e2e/cli/support/until.ts';
import { recordingTool } from '../agent-plugins/loop-rig.ts';
import { cwd, startRig } from './support/rig.ts';

const pick = (optionId: string) => ({ outcome: { outcome: 'selected' as const, optionId } });
const asking = { ...recordingTool('shell'), approval: { version: 'v1', text: () => 'May it run?' } };

const entries = (status: string): unknown =>
  ['read it', 'change it'].map((content) => ({ content, priority: 'medium', status }));

describe('sessions over ACP', () => {
  test('a load replays the conversation and nothing else; what comes then is told once; a resume replays nothing', async () => {
    const first = await startRig({
      model: createScriptedModel([[{ thinking: 'hm' }, 'I look', { call: 'read', input: { path: 'a' } }], 'it says a']),
      tools: [recordingTool('read')],
    });
    const id = await first.newSession();
    await first.editor.prompt(id, 'what is in a?');
    await first.editor.agent.request('session/close', { sessionId: id });

    const model = createScriptedModel(['more', 'and more']);
    const second = await startRig({ model, journal: first.journal });
    await second.editor.agent.request('session/load', { sessionId: id, cwd, mcpServers: [] });
    const replay = second.editor.updates.map((update) => [
      update.sessionUpdate,
      'content' in update && 'text' in (update.content as object)
        ? (update.content as { text: string }).text
        : 'status' in update
          ? update.status
          : '',
    ]);
    expect(replay).toEqual([
      ['user_message_chunk', 'what is in a?'],
      ['agent_thought_chunk', 'hm'],
      ['agent_message_chunk', 'I look'],
      ['tool_call', 'pending'],
      ['tool_call_update', 'in_progress'],
      ['tool_call_update', 'completed'],
      ['agent_message_chunk', 'it says a'],
    ]);
    await second.editor.prompt(id, 'more');
    expect(second.editor.updates.slice(replay.length)).toMatchObject([{ content: { text: 'more' } }]);
    await second.editor.agent.request('session/close', { sessionId: id });

    const third = await startRig({ model, journal: first.journal });
    await third.editor.agent.request('session/resume', { sessionId: id, cwd });
    expect(third.editor.updates).toEqual([]);
    await third.editor.prompt(id, 'more');
    expect(third.editor.texts()).toEqual(['and more']);
    expect(model.refused).toEqual([]);
  });

  test('one that is open may be loaded again: the history comes once more, and then each new thing once', async () => {
    const { editor, newSession, agents } = await startRig({ model: createScriptedModel(['one', 'two']) });
    const id = await newSession();
    await editor.prompt(id, 'a');
    await editor.agent.request('session/load', { sessionId: id, cwd, mcpServers: [] });
    await editor.prompt(id, 'b');
    expect(editor.texts()).toEqual(['one', 'one', 'two']);
    expect(agents).toHaveLength(1);
  });

  test('a list has the newest first, with folder and title, page by page, of one folder if asked', async () => {
    const { editor, newSession, log } = await startRig({ model: createScriptedModel(() => 'yes') });
    const ids: string[] = [];
    for (let count = 0; count < 53; count++) {
      // oxlint-disable-next-line no-await-in-loop -- in order
      ids.unshift(await newSession());
      // oxlint-disable-next-line no-await-in-loop
      await editor.prompt(ids[0] ?? '', '  fix\nthe   bug ');
    }
    const page = await editor.agent.request('session/list', {});
    expect(page.sessions).toHaveLength(50);
    expect(page.sessions[0]).toMatchObject({ sessionId: ids[0], cwd, title: 'fix the bug' });
    const rest = await editor.agent.request('session/list', { cursor: page.nextCursor ?? '' });
    expect([...page.sessions, ...rest.sessions].map(({ sessionId }) => sessionId)).toEqual(ids);
    expect(rest.nextCursor).toBeUndefined();
    expect((await editor.agent.request('session/list', { cwd: '/elsewhere' })).sessions).toEqual([]);
    expect(log).toEqual([]);
  });

  test('one that another process holds is refused, and says so', async () => {
    const first = await startRig({ model: createScriptedModel(['yes']) });
    const id = await first.newSession();
    await first.editor.prompt(id, 'hi');
    const second = await startRig({ model: createScriptedModel([]), journal: first.journal });
    await expect(
      second.editor.agent.request('session/load', { sessionId: id, cwd, mcpServers: [] }),
    ).rejects.toMatchObject({ code: -32_603, data: { code: 'session/held' } });
  });

  test('a close answers the prompt in flight, and frees the session', async () => {
    const { editor, newSession, journal } = await startRig({ model: createScriptedModel([[{ stall: true }]]) });
    const id = await newSession();
    const sent = editor.prompt(id, 'hi');
    await until('it is accepted', async () => (await journal.read(`session:${id}`)).length > 1);
    await editor.agent.request('session/close', { sessionId: id });
    expect((await sent).stopReason).toBe('cancelled');
    await editor.agent.request('session/load', { sessionId: id, cwd, mcpServers: [] });
    expect(editor.texts('user_message_chunk')).toEqual(['hi']);
  });

  test('a client that goes away in mid-prompt loses nothing that was complete, and the session is free', async () => {
    const gate = createGate();
    const model = createScriptedModel([['kept', { call: 'read' }], [{ gate }, 'never'], 'again']);
    const first = await startRig({ model, tools: [recordingTool('read')] });
    const id = await first.newSession();
    const sent = first.editor.prompt(id, 'hi');
    sent.catch(() => undefined);
    await gate.entered;
    first.editor.close();
    await first.served;
    const second = await startRig({ model, tools: [recordingTool('read')], journal: first.journal });
    await second.editor.agent.request('session/load', { sessionId: id, cwd, mcpServers: [] });
    expect([second.editor.texts('user_message_chunk'), second.editor.texts()]).toEqual([['hi'], ['kept']]);
    await second.editor.prompt(id, 'go on');
    expect(second.editor.texts()).toEqual(['kept', 'again']);
    expect(model.refused).toEqual([]);
  });

  test('an agent that is made while the client goes away is ended, too', async () => {
    const gate = createGate();
    const journal = createMemoryJournal({ clock: systemClock });
    const made: Agent[] = [];
    const rig = await startRig({
      model: createScriptedModel([]),
      journal,
      serve: {
        sessions: {
          create: async () => {
            await gate.wait();
            made.push(await createAgent({ model: createScriptedModel([]), journal }));
            return made[0] as Agent;
          },
          open: async () => await Promise.reject(new Error('not here')),
          cwdIn: () => undefined,
        },
      },
    });
    const asked = rig.newSession();
    await gate.entered;
    await rig.end();
    gate.open();
    await expect(asked).rejects.toMatchObject({ code: -32_600 });
    await rig.served;
    expect(made.map(({ status }) => status)).toEqual(['disposed']);
  });

  test('nothing of a session is told before the answer that opens it', async () => {
    const agent = await createAgent({ model: createScriptedModel([]) });
    onTestFinished(async () => await agent[Symbol.asyncDispose]());
    const talking = {
      id: agent.id,
      async *events() {
        const delta = { turn: 1, step: 1, block: 0, kind: 'thinking' as const, n: 1, text: 'at once' };
        yield await Promise.resolve({ type: 'live.delta' as const, ...delta });
      },
      [Symbol.asyncDispose]: async () => await Promise.resolve(),
    } as unknown as Agent;
    const rig = await startRig({
      model: createScriptedModel([]),
      serve: {
        sessions: {
          create: async () => await Promise.resolve(talking),
          open: async () => await Promise.reject(new Error('not here')),
          cwdIn: () => undefined,
        },
      },
    });
    await rig.newSession();
    await rig.editor.until('it is told', () => rig.editor.texts('agent_thought_chunk').length === 1);
    const kinds = rig.lines.map((line) => ('id' in (JSON.parse(line) as object) ? 'answer' : 'update'));
    expect(kinds).toEqual(['answer', 'answer', 'update']);
  });
});

describe('questions over ACP', () => {
  test('a question is a permission request with its choices, and the answer lets the call run', async () => {
    const model = createScriptedModel([[{ call: 'shell', id: 'x', input: { command: 'ls' } }], 'done']);
    const rig = await startRig({ model, tools: [asking], onPermission: () => pick('approve') });
    const answer = await rig.editor.prompt(await rig.newSession(), 'hi');
    expect(answer.stopReason).toBe('end_turn');
    expect(rig.editor.permissions).toMatchObject([
      {
        toolCall: { toolCallId: '1.1.x', title: 'May it run?', rawInput: { tool: 'shell', input: { command: 'ls' } } },
        options: [
          { optionId: 'approve', name: 'Allow', kind: 'allow_once' },
          { optionId: 'deny', name: 'Deny', kind: 'reject_once' },
        ],
      },
    ]);
    expect(await listQuestions(rig.journal)).toMatchObject([
      { state: 'used', answer: { choice: 'approve', by: 'user' } },
    ]);
    expect(rig.editor.updates.map((update) => ('status' in update ? update.status : update.sessionUpdate))).toEqual([
      'pending',
      'in_progress',
      'completed',
      'agent_message_chunk',
    ]);
  });

  test('a denied call fails, and the model goes on', async () => {
    const model = createScriptedModel([[{ call: 'shell' }], 'then not']);
    const rig = await startRig({ model, tools: [asking], onPermission: () => pick('deny') });
    await rig.editor.prompt(await rig.newSession(), 'hi');
    expect(rig.editor.updates).toContainEqual(expect.objectContaining({ status: 'failed' }));
    expect(rig.editor.texts()).toEqual(['then not']);
  });

  test('an answer that is given elsewhere wins: the request is withdrawn, and what it says later does not count', async () => {
    const withdrawn = Promise.withResolvers<void>();
    const model = createScriptedModel([[{ call: 'shell' }], 'done']);
    const rig = await startRig({
      model,
      tools: [asking],
      onPermission: async (_request, signal) => {
        await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
        withdrawn.resolve();
        return pick('deny');
      },
    });
    const sent = rig.editor.prompt(await rig.newSession(), 'hi');
    await rig.editor.until('it is asked', () => rig.editor.permissions.length === 1);
    const [open] = await listQuestions(rig.journal, { state: 'open' });
    await answerQuestion(rig.journal, open?.question.id ?? '', { choice: 'approve', by: 'me' }, systemClock);
    await withdrawn.promise;
    expect((await sent).stopReason).toBe('end_turn');
    expect(rig.editor.updates).toContainEqual(expect.objectContaining({ status: 'completed' }));
    expect(await listQuestions(rig.journal)).toMatchObject([
      { state: 'used', answer: { choice: 'approve', by: 'me' } },
    ]);
  });

  test('one that is dismissed stays open, for whoever answers elsewhere, and a cancel ends the wait', async () => {
    const model = createScriptedModel([[{ call: 'shell' }]]);
    const rig = await startRig({ model, tools: [asking] });
    const id = await rig.newSession();
    const sent = rig.editor.prompt(id, 'hi');
    await rig.editor.until('it is asked', () => rig.editor.permissions.length === 1);
    await rig.editor.agent.request('session/list', {});
    expect(await listQuestions(rig.journal)).toMatchObject([{ state: 'open' }]);
    await rig.editor.agent.notify('session/cancel', { sessionId: id });
    expect((await sent).stopReason).toBe('cancelled');
    await until('it is expired', async () => (await listQuestions(rig.journal))[0]?.state === 'expired');
  });

  test('one that is open when a session is loaded is asked again, and its call goes on', async () => {
    const script = createScriptedModel([[{ call: 'shell' }], 'done']);
    const first = await startRig({ model: script, tools: [asking] });
    const id = await first.newSession();
    const sent = first.editor.prompt(id, 'hi');
    sent.catch(() => undefined);
    await first.editor.until('it is asked', () => first.editor.permissions.length === 1);
    // As after a kill: another journal with what this one holds now.
    const journal = createMemoryJournal({ clock: systemClock });
    for (const stream of await first.journal.streams('')) {
      // oxlint-disable-next-line no-await-in-loop -- one stream after the other
      const events = (await first.journal.read(stream)).map(({ type, v, data }) => ({ type, v, data }));
      // oxlint-disable-next-line no-await-in-loop
      await journal.append([{ stream, expected: 0, events }]);
    }
    const second = await startRig({ model: script, tools: [asking], journal, onPermission: () => pick('approve') });
    await second.editor.agent.request('session/load', { sessionId: id, cwd, mcpServers: [] });
    await second.editor.until('it goes on', () => second.editor.texts().length === 1);
    expect([second.editor.texts(), second.editor.permissions.length]).toEqual([['done'], 1]);
  });

  test('a proposed plan is a plan of ACP: pending, under way once it is approved, and gone when it is denied', async () => {
    const call = { call: 'propose_plan', input: { plan: 'So:\n1. read it\n2. change it\n' } };
    const answers = [pick('deny'), pick('approve')];
    const plan = planMode();
    const rig = await startRig({
      model: createScriptedModel([[call], [call], 'done']),
      plugins: [plan],
      tools: [...plan.tools],
      onPermission: () => answers.shift() ?? pick('deny'),
    });
    await rig.editor.prompt(await rig.newSession(), 'hi');
    expect(rig.editor.updates.filter(({ sessionUpdate }) => sessionUpdate === 'plan')).toEqual([
      { sessionUpdate: 'plan', entries: entries('pending') },
      { sessionUpdate: 'plan', entries: [] },
      { sessionUpdate: 'plan', entries: entries('pending') },
      { sessionUpdate: 'plan', entries: entries('in_progress') },
    ]);
  });
});
