import { describe, expect, test } from 'vitest';
import { createRig } from './support/rig.ts';
import type { AgentScript } from './support/scripted-agent.ts';

const refused = [{ tool: 'Bash', summary: 'make deploy' }];
const overloaded = { type: 'overloaded_error', status: 529, message: 'Overloaded' };

const deniedAndOverloaded: AgentScript = (agent) => {
  agent.session(agent.spec.launch.argv.at(-1) ?? '');
  agent.text('m1', 'Trying to deploy.');
  agent.line({ end: { ok: false, failure: overloaded, denied: refused }, observations: [{ kind: 'result' }] });
  agent.exit(1);
};
const overloadedOnly: AgentScript = (agent) => agent.fail(overloaded);
const saysDone: AgentScript = (agent) => agent.answer('done');
const lost: AgentScript = (agent) => agent.fail({ type: 'session_not_found', message: 'no such session' });

describe('calls that were denied in an attempt which failed for another reason', () => {
  test('still count when the same conversation says that it is done', async () => {
    const rig = createRig({ scripts: [deniedAndOverloaded, overloadedOnly, saysDone] });
    const { id, result } = await rig.start();
    expect(await rig.until(result)).toMatchObject({
      status: 'paused',
      reason: 'needs-human',
      attempts: 3,
      classification: { class: 'policy' },
      failure: { denied: refused },
    });
    const failed = await rig.data(id, 'attempt.failed');
    expect(failed.map((data) => data['denied'])).toEqual([refused, undefined, undefined]);
  });

  test('do not count where the user said so', async () => {
    const rig = createRig({ scripts: [deniedAndOverloaded, saysDone] });
    const { result } = await rig.start({ policy: { onDenied: 'ignore' } });
    expect(await rig.until(result)).toMatchObject({ status: 'done', text: 'done', attempts: 2 });
  });

  test('do not count for a fresh conversation, which asks anew', async () => {
    const rig = createRig({ scripts: [deniedAndOverloaded, lost, saysDone] });
    const { result } = await rig.start();
    expect(await rig.until(result)).toMatchObject({ status: 'done', attempts: 3 });
  });

  test('do not count after a person has resumed the run', async () => {
    const rig = createRig({ scripts: [deniedAndOverloaded, saysDone, saysDone] });
    const { id, result } = await rig.start();
    expect(await rig.until(result)).toMatchObject({ status: 'paused' });
    const again = await rig.own.resume(id);
    expect(await rig.until(again.result)).toMatchObject({ status: 'done', text: 'done' });
  });
});
