import { afterEach, expect, test } from 'vitest';
import type { SessionEvent } from '../../../src/agent/session-events.ts';
import { endTestAgents, overloaded, startTestAgent } from './start-test-agent.ts';

afterEach(endTestAgents);

const types: readonly SessionEvent['type'][] = [
  'turn.opened',
  'input.committed',
  'step.opened',
  'header.set',
  'block.closed',
  'answer.completed',
  'step.closed',
  'turn.closed',
  'message.dropped',
  'plugin.recorded',
];

test.each(types)(
  'given a plugin whose fold throws at %s, when a prompt is sent, then it ends, the agent comes to rest, and can be disposed',
  async (type) => {
    const rig = await startTestAgent({
      script: (_, nth) => (nth === 1 ? [{ fail: overloaded }] : 'done'),
      on: {
        'agent/prompt-admission': async (_, next) =>
          type === 'message.dropped' ? { kind: 'block', because: 'a test' } : await next(),
      },
      plugins: [
        {
          name: 'broken',
          setup(host) {
            host.fold(0, (count, event) => {
              if (event.type === type) throw new Error('This fold is broken.');
              return count + 1;
            });
            host.on('agent/request-error', async () => {
              await host.record('seen', {});
              return { kind: 'retry' };
            });
          },
        },
      ],
    });
    const first = await rig.ask('first');
    const said = first.kind === 'failed' ? first.failure.message : first.kind;
    expect(said).toMatch(/^(This fold is broken\.|done)$/);
    await rig.agent.whenIdle();
    const second = rig.agent.followup('second');
    await rig.agent.whenIdle();
    expect(rig.agent.status).toMatch(/^(idle|parked)$/);
    await rig.agent[Symbol.asyncDispose]();
    expect(await second.ended).toHaveProperty('kind');
  },
);
