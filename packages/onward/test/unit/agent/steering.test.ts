import { afterEach, expect, test } from 'vitest';
import { endTestAgents, outline, overloaded, startTestAgent, type TestAgent } from './start-test-agent.ts';

afterEach(endTestAgents);

test('R51 given a listener that is never content and always says the same, when the turn is about to end, then it costs two answers and not more, and the failure names the listener', async () => {
  const rig = await startTestAgent({
    script: () => 'done',
    plugins: [
      {
        name: 'stop-hook',
        setup: (host) =>
          void host.on('agent/turn-stopping', async (_, next) => {
            host.steer('exit 127: lint: command not found');
            await next();
          }),
      },
    ],
  });
  const ended = await rig.ask('a');
  expect(ended).toMatchObject({ kind: 'failed', turn: 1, failure: { code: 'agent/steered-twice' } });
  expect(ended).toHaveProperty('failure.message', expect.stringMatching(/stop-hook.*exit 127/));
  expect(rig.model.requests).toHaveLength(2);
  await rig.agent.whenIdle();
  expect(outline(rig.agent.history())).toHaveLength(4);
  const next = await rig.ask('b');
  expect([next.kind, rig.model.requests.length]).toEqual(['failed', 4]);
  expect(outline(rig.agent.history()).filter((line) => line.includes('127'))).toHaveLength(2);
});

test('R51 given a listener that always says the same and requests that fail in between, when they are retried, then the count goes on', async () => {
  const rig: TestAgent = await startTestAgent({
    script: (_, nth) => (nth % 2 === 0 ? [{ fail: overloaded }] : 'done'),
    on: {
      'agent/request-error': () => ({ kind: 'retry' }),
      'agent/turn-stopping': async (_, next) => {
        rig.host.steer('not good enough');
        await next();
      },
    },
  });
  expect(await rig.ask('a')).toMatchObject({ kind: 'failed', failure: { code: 'agent/steered-twice' } });
  expect(rig.model.requests).toHaveLength(3);
});

test('R51 given a listener whose findings change, when it steers, then each of them is worth an answer', async () => {
  const findings = ['3 errors', '2 errors', '1 error'];
  const rig: TestAgent = await startTestAgent({
    on: {
      'agent/turn-stopping': async (_, next) => {
        const finding = findings.shift();
        if (finding !== undefined) rig.host.steer(finding);
        await next();
      },
    },
  });
  expect((await rig.ask('a')).kind).toBe('done');
  expect(rig.model.requests).toHaveLength(4);
});

test('R51 given a listener that throws, when the turn is about to end, then the turn fails with what it threw, after one answer', async () => {
  const rig = await startTestAgent({
    on: {
      'agent/turn-stopping': () => {
        throw new Error('lint: command not found');
      },
    },
  });
  expect(await rig.ask('a')).toMatchObject({ kind: 'failed', failure: { message: 'lint: command not found' } });
  expect(rig.model.requests).toHaveLength(1);
});

test('R51 given a user who says the same twice, when each reaches the turn under way, then it is taken each time', async () => {
  let times = 0;
  const rig: TestAgent = await startTestAgent({
    on: {
      'agent/turn-stopping': async (_, next) => {
        times += 1;
        if (times <= 2) rig.agent.steer('go on');
        await next();
      },
    },
  });
  expect(await rig.ask('a')).toMatchObject({ kind: 'done', turn: 1 });
  expect(rig.model.requests).toHaveLength(3);
});
