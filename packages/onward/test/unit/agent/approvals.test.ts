import { afterEach, describe, expect, test } from 'vitest';
import type { AnyTool } from '../../../src/agent/tool.ts';
import { answerQuestion, listQuestions } from '../../../src/effects/index.ts';
import type { Journal } from '../../../src/kernel/journal.ts';
import type { QuestionState } from '../../../src/kernel/question.ts';
import type { ModelScript, ScriptFunction } from '../../../src/testing/index.ts';
import { faultyJournal, stores } from './faulty-journal.ts';
import { endStores, sessionStore, type SessionStore, storeNames } from './session-stores.ts';
import {
  endTestAgents,
  outline,
  rounds,
  startTestAgent,
  type TestAgent,
  type TestAgentOptions,
  testTool,
  until,
} from './start-test-agent.ts';

afterEach(async () => {
  await endTestAgents();
  await endStores();
});

/** Two tools with effects, one of them only with somebody's approval; they count what was done. */
function createWorld(): {
  readonly done: string[];
  tools(version?: string): readonly AnyTool[];
} {
  const done: string[] = [];
  return {
    done,
    tools: (version = 'v1') => [
      testTool('mail', () => done.push('mail'), { effect: 'untracked' }),
      testTool('deploy', () => done.push('deploy'), { effect: 'untracked', approval: { version } }),
    ],
  };
}

const deploys: ScriptFunction = ({ messages }) =>
  messages.at(-1)?.role === 'tool' ? 'deployed' : [{ call: 'mail' }, { call: 'deploy', input: { to: 'production' } }];

async function questionsOf(
  journal: Journal,
  state: QuestionState['state'] = 'open',
): Promise<readonly QuestionState[]> {
  return await listQuestions(journal, { state });
}

async function approve(rig: TestAgent, choice = 'approve'): Promise<void> {
  const open = await questionsOf(rig.journal);
  for (const { question } of open) {
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    const answered = await answerQuestion(rig.journal, question.id, { choice, by: 'ann' }, rig.clock);
    expect(answered).toEqual({ kind: 'taken' });
  }
}

const deploysTwice: ModelScript = ({ messages }) =>
  messages.filter(({ role }) => role === 'tool').length < 2 ? [{ call: 'deploy' }] : 'twice';

/** A session of one prompt that waits for the approval of its deployment. */
async function startWaiting(
  store: SessionStore,
  options: TestAgentOptions,
): Promise<{ readonly rig: TestAgent; readonly prompt: string; readonly kill: () => void }> {
  const journal = await store.open();
  const rig = await startTestAgent({ script: deploys, clock: store.clock, journal, ...options });
  const handle = rig.agent.followup('deploy it');
  expect((await handle.settled).kind).toBe('waiting');
  return { rig, prompt: handle.id, kill: () => journal.kill() };
}

async function reopen(store: SessionStore, options: TestAgentOptions): Promise<TestAgent> {
  return await startTestAgent({
    script: deploys,
    clock: store.clock,
    journal: await store.open(),
    reopen: true,
    ...options,
  });
}

describe.each(storeNames)('an approval that is waited for, with the journal in %s', (name) => {
  test('R103 given a kill while it waits, when another process lists and answers it, then the session that is opened again goes on to its end', async () => {
    const [store, world] = [sessionStore(name), createWorld()];
    const { prompt, kill } = await startWaiting(store, { tools: world.tools() });
    kill();
    const elsewhere = await store.open();
    const open = await questionsOf(elsewhere);
    expect(
      open.map(({ question }) => [question.subject, question.owner, question.policyVersion, question.details]),
    ).toEqual([
      ['approval', 'session:s', 'v1', { tool: 'deploy', input: { to: 'production' }, call: expect.any(String) }],
    ]);
    const answer = { choice: 'approve', by: 'ann' };
    const id = open[0]?.question.id ?? '';
    expect(await answerQuestion(elsewhere, id, answer, store.clock)).toEqual({ kind: 'taken' });
    const again = await reopen(store, { tools: world.tools() });
    expect(await again.agent.handle(prompt)?.ended).toMatchObject({ kind: 'done', turn: 1, text: 'deployed' });
    expect(world.done).toEqual(['mail', 'deploy']);
    expect(await questionsOf(again.journal, 'used')).toHaveLength(1);
    expect(again.model.refused).toEqual([]);
  });

  test('given a disposal while it waits, then the question stays open, and who opens the session next goes on with the answer', async () => {
    const [store, world] = [sessionStore(name), createWorld()];
    const { rig, prompt } = await startWaiting(store, { tools: world.tools() });
    const left = rig.agent.handle(prompt)?.ended;
    await rig.agent[Symbol.asyncDispose]();
    expect(await left).toEqual({ kind: 'cancelled', cause: 'disposed' });
    const again = await reopen(store, { tools: world.tools() });
    expect(await questionsOf(again.journal)).toHaveLength(1);
    await approve(again);
    expect(await again.agent.handle(prompt)?.ended).toMatchObject({ kind: 'done', turn: 1, text: 'deployed' });
    expect(world.done).toEqual(['mail', 'deploy']);
    expect(again.model.refused).toEqual([]);
  });

  test('R103 given a kill while it waits, when it is opened again and only then answered, then it goes on, and meanwhile it says that it waits', async () => {
    const [store, world] = [sessionStore(name), createWorld()];
    const { prompt, kill } = await startWaiting(store, { tools: world.tools() });
    kill();
    const again = await reopen(store, { tools: world.tools() });
    await until(() => again.agent.status === 'waiting');
    const handle = again.agent.handle(prompt);
    expect(await handle?.settled).toMatchObject({ kind: 'waiting', turn: 1, question: { subject: 'approval' } });
    await expect(handle?.orThrow()).rejects.toMatchObject({ code: 'agent/waiting' });
    await again.agent.whenIdle();
    await approve(again);
    expect(await handle?.ended).toMatchObject({ kind: 'done', text: 'deployed' });
    expect(world.done).toEqual(['mail', 'deploy']);
  });

  test('R107 given a kill while it waits, when the session goes on after the answer, then the next gated call reaches the approver under the same rule', async () => {
    const [store, world] = [sessionStore(name), createWorld()];
    const { prompt, kill } = await startWaiting(store, { tools: world.tools(), script: deploysTwice });
    kill();
    const again = await reopen(store, { tools: world.tools(), script: deploysTwice });
    await approve(again);
    await until(() => again.data('call.waiting').length === 1);
    await until(() => again.agent.status === 'waiting');
    const [second] = await questionsOf(again.journal);
    expect(second?.question).toMatchObject({ subject: 'approval', policyVersion: 'v1' });
    expect(world.done).toEqual(['deploy']);
    await approve(again);
    expect(await again.agent.handle(prompt)?.ended).toMatchObject({ kind: 'done', text: 'twice' });
    expect(world.done).toEqual(['deploy', 'deploy']);
  });

  test.each(['before', 'after'])(
    'R108 given a rule that changes during the wait, when the answer to the old one was given %s the session was opened again, then it is not used and a fresh one is asked for',
    async (when) => {
      const [store, world] = [sessionStore(name), createWorld()];
      const { rig, prompt, kill } = await startWaiting(store, { tools: world.tools('v1') });
      if (when === 'before') {
        kill();
        const elsewhere = await store.open();
        const [open] = await questionsOf(elsewhere);
        await answerQuestion(elsewhere, open?.question.id ?? '', { choice: 'approve', by: 'ann' }, rig.clock);
      } else kill();
      const again = await reopen(store, { tools: world.tools('v2') });
      if (when === 'after') {
        await until(() => again.agent.status === 'waiting');
        await approve(again);
      }
      await until(() => again.data('call.waiting').length === 1);
      const open = await questionsOf(again.journal);
      expect(open.map(({ question }) => question.policyVersion)).toEqual(['v2']);
      expect((await questionsOf(again.journal, 'expired')).map(({ question }) => question.policyVersion)).toEqual([
        'v1',
      ]);
      expect(world.done).toEqual(['mail']);
      await approve(again);
      expect(await again.agent.handle(prompt)?.ended).toMatchObject({ kind: 'done' });
      expect(world.done).toEqual(['mail', 'deploy']);
    },
  );

  test('R104 given an answer, when what should go on after it fails to start, then the answer is still there and the next start uses it, once', async () => {
    const [store, world] = [sessionStore(name), createWorld()];
    const { rig, prompt, kill } = await startWaiting(store, { tools: world.tools() });
    kill();
    const elsewhere = await store.open();
    const [open] = await questionsOf(elsewhere);
    await answerQuestion(elsewhere, open?.question.id ?? '', { choice: 'approve', by: 'ann' }, rig.clock);
    const broken = {
      name: 'broken',
      setup: (): never => {
        throw new Error('no configuration');
      },
    };
    await expect(reopen(store, { tools: world.tools(), plugins: [broken] })).rejects.toThrow('no configuration');
    expect(await questionsOf(elsewhere, 'answered')).toHaveLength(1);
    expect(world.done).toEqual(['mail']);
    // The next one starts, and dies at the moment of use.
    const dying = faultyJournal(await store.open(), (batch) => {
      if (stores(batch, 'question.used')) dying.kill();
    });
    const second = await startTestAgent({
      script: deploys,
      clock: store.clock,
      journal: dying,
      reopen: true,
      series: 'c',
      tools: world.tools(),
    });
    await until(() => dying.batches.some((batch) => stores(batch, 'question.used')));
    await rounds();
    expect([world.done, second.model.requests.length]).toEqual([['mail'], 0]);
    expect(await questionsOf(elsewhere, 'answered')).toHaveLength(1);
    const third = await reopen(store, { tools: world.tools(), series: 'd' });
    expect(await third.agent.handle(prompt)?.ended).toMatchObject({ kind: 'done' });
    expect([world.done, (await questionsOf(elsewhere, 'used')).length]).toEqual([['mail', 'deploy'], 1]);
  });

  test('R101 given an effect before the approval, when the session is opened again twice and then answered, then the effect happened once', async () => {
    const [store, world] = [sessionStore(name), createWorld()];
    const { prompt, kill } = await startWaiting(store, { tools: world.tools() });
    kill();
    for (const series of ['c', 'd']) {
      const journal = await store.open();
      const again = await startTestAgent({
        script: deploys,
        clock: store.clock,
        journal,
        reopen: true,
        series,
        tools: world.tools(),
      });
      await until(() => again.agent.status === 'waiting');
      journal.kill();
    }
    const last = await reopen(store, { tools: world.tools(), series: 'e' });
    await approve(last);
    expect(await last.agent.handle(prompt)?.ended).toMatchObject({ kind: 'done' });
    expect(world.done).toEqual(['mail', 'deploy']);
    expect(await questionsOf(last.journal, 'used')).toHaveLength(1);
  });

  test('R102 given an approved call that was done and then a request that fails, when the session goes on, then the effect happened once and its result is known', async () => {
    const [store, world] = [sessionStore(name), createWorld()];
    let down = true;
    const script: ModelScript = (request, nth) =>
      request.messages.some(({ role }) => role === 'tool') && down
        ? [{ fail: { message: 'Internal server error', status: 500 } }]
        : deploys(request, nth);
    const { rig, prompt, kill } = await startWaiting(store, { tools: world.tools(), script });
    await approve(rig);
    expect(await rig.agent.handle(prompt)?.ended).toMatchObject({ kind: 'failed', failure: { status: 500 } });
    expect(world.done).toEqual(['mail', 'deploy']);
    kill();
    down = false;
    const again = await reopen(store, { tools: world.tools(), script: ['it is deployed'] });
    expect(await again.ask('is it?')).toMatchObject({ kind: 'done', text: 'it is deployed' });
    expect(world.done).toEqual(['mail', 'deploy']);
    expect(outline(again.model.requests[0]?.messages ?? []).slice(-2)).toEqual([
      'tool: result mail: 1 | result deploy: 2',
      'user: is it?',
    ]);
    expect((await questionsOf(again.journal, 'used')).length).toBe(1);
  });
});

test('R104 given a denial, when the session goes on, then the call is not made, and the model hears who denied it', async () => {
  const [store, world] = [sessionStore('memory'), createWorld()];
  const { rig, prompt } = await startWaiting(store, { tools: world.tools() });
  await approve(rig, 'deny');
  expect(await rig.agent.handle(prompt)?.ended).toMatchObject({ kind: 'done' });
  expect(world.done).toEqual(['mail']);
  expect(outline(rig.agent.history())[2]).toContain('result deploy: [denied] Denied by ann');
});

test('given a handle that is asked for while its prompt waits, when the answer comes, then it first says that it waits, then how it ended', async () => {
  const [store, world] = [sessionStore('memory'), createWorld()];
  const { rig, prompt } = await startWaiting(store, { tools: world.tools() });
  const handle = rig.agent.handle(prompt);
  expect(await handle?.settled).toMatchObject({ kind: 'waiting' });
  await approve(rig);
  expect(await handle?.ended).toMatchObject({ kind: 'done' });
  expect(await rig.agent.handle(prompt)?.settled).toMatchObject({ kind: 'done' });
});
