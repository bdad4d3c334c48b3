import { describe, expect, test } from 'vitest';
import type { Json } from '../../../src/kernel/json.ts';
import { createRig } from './support/rig.ts';
import type { AgentScript } from './support/scripted-agent.ts';

const finishes: AgentScript = (agent) => agent.answer('done');
const quick = { retry: { scheduleMs: [1_000, 1_000] } };

describe('whatever breaks inside an attempt is a failure of the attempt', () => {
  test('a process that cannot be started', async () => {
    const rig = createRig({ scripts: [finishes] });
    rig.machine.startFails = { code: 'EAGAIN', message: 'no more processes' };
    const { id, result } = await rig.start({ policy: quick });
    expect(await rig.until(result)).toMatchObject({ status: 'done', attempts: 2 });
    expect((await rig.data(id, 'attempt.failed'))[0]).toMatchObject({
      classification: { class: 'crash' },
      continuable: 'nothing-accepted',
    });
    expect(rig.machine.launches.map((launch) => launch.mode)).toEqual(['create', 'create']);
  });

  test('a start that throws', async () => {
    const rig = createRig({ scripts: [finishes] });
    rig.machine.startThrows = new Error('the folder is read-only');
    const { id, result } = await rig.start({ policy: quick });
    expect(await rig.until(result)).toMatchObject({ status: 'done', attempts: 2 });
    expect(JSON.stringify(await rig.data(id, 'attempt.failed'))).toContain('the folder is read-only');
  });

  test('a crash, and an end of the output without a last word', async () => {
    const rig = createRig({
      scripts: [(agent) => agent.exit(null, 'SIGSEGV'), (agent) => agent.exit(0), (agent) => agent.answer('done')],
    });
    const { id, result } = await rig.start({ policy: quick });
    expect(await rig.until(result)).toMatchObject({ status: 'done', attempts: 3 });
    const classes = (await rig.data(id, 'attempt.failed')).map((data) => data['classification']);
    expect(classes).toEqual([expect.objectContaining({ class: 'crash' }), expect.objectContaining({ class: 'crash' })]);
  });

  test('a line on which the adapter throws is rejected and recorded; the run goes on', async () => {
    const rig = createRig({
      scripts: [
        (agent) => {
          agent.line({ throws: 'cannot read this' });
          agent.raw('not JSON at all');
          agent.text('m1', 'after it');
          agent.answer('done');
        },
      ],
    });
    const { id, result } = await rig.start();
    expect(await rig.until(result)).toMatchObject({ status: 'done', attempts: 1 });
    const rejected = await rig.data(id, 'line.rejected');
    expect(rejected).toHaveLength(2);
    expect(JSON.stringify(rejected)).toContain('cannot read this');
    expect(await rig.data(id, 'message.committed')).toHaveLength(1);
  });

  test('an ending that the adapter cannot read', async () => {
    const rig = createRig({
      scripts: [
        (agent) => {
          rig.machine.endingFails = true;
          agent.answer('lost in the adapter');
        },
        (agent) => {
          rig.machine.endingFails = false;
          agent.answer('done');
        },
      ],
    });
    const { id, result } = await rig.start({ policy: quick });
    expect(await rig.until(result)).toMatchObject({ status: 'done', text: 'done', attempts: 2 });
    expect(JSON.stringify(await rig.data(id, 'attempt.failed'))).toContain('cannot read this ending');
  });

  test('an unreadable credential file and a failing git do not lose the record of an attempt', async () => {
    const rig = createRig({
      scripts: [
        (agent) => {
          rig.machine.identifyFails = true;
          rig.machine.fingerprintFails = true;
          agent.fail({ status: 401, message: 'Invalid API key' });
        },
      ],
    });
    const { result } = await rig.start();
    expect(await rig.until(result)).toMatchObject({ status: 'paused', reason: 'needs-human', attempts: 1 });
  });

  test('processes that cannot be ended stop everything, with their numbers', async () => {
    const rig = createRig({
      scripts: [
        (agent) => {
          agent.immortal = [4711];
          agent.fail({ type: 'overloaded_error' });
        },
      ],
    });
    const { id, result } = await rig.start();
    expect(await rig.until(result)).toMatchObject({
      status: 'paused',
      reason: 'needs-human',
      attempts: 1,
      because: expect.stringContaining('4711'),
    });
    expect((await rig.types(id)).at(-1)).toBe('run.paused');
  });
});

describe('what an agent prints cannot break the record', () => {
  const nested = (levels: number): Json => (levels === 0 ? 'x' : [nested(levels - 1)]);
  const broken = '"broken \\ud83d text"';

  test.each([
    [
      'a lone surrogate in a call',
      `{"kind":"call-started","callId":${broken},"tool":${broken},"input":{"a":${broken}}}`,
    ],
    ['a lone surrogate in a message', `{"kind":"message","id":${broken},"text":${broken}}`],
    ['a lone surrogate in a session', `{"kind":"session","id":"s1","model":${broken}}`],
    ['a lone surrogate in a repeated request', `{"kind":"inner-retry","attempt":1,"category":${broken}}`],
    ['numbers that JSON loses', '{"kind":"call-started","callId":"c","tool":"t","input":{"a":-0,"b":1e999}}'],
    ['endless nesting', `{"kind":"call-started","callId":"c","tool":"t","input":${JSON.stringify(nested(600))}}`],
    ['a name of a megabyte', `{"kind":"call-started","callId":"c","tool":"${'t'.repeat(1_000_000)}","input":{}}`],
    ['an id of a megabyte', `{"kind":"message","id":"${'i'.repeat(1_000_000)}","text":"x"}`],
    ['an input of two megabytes', `{"kind":"call-started","callId":"c","tool":"t","input":"${'i'.repeat(2_000_000)}"}`],
  ])('%s', async (_what, observation) => {
    const rig = createRig({
      scripts: [
        (agent) => {
          agent.raw(`{"observations":[${observation}]}`);
          agent.answer('done');
        },
      ],
    });
    const { id, result } = await rig.start();
    expect(await rig.until(result)).toMatchObject({ status: 'done', attempts: 1 });
    expect((await rig.types(id)).length).toBeGreaterThan(4);
  });

  test('a failure of any size and shape is recorded with its signals', async () => {
    const rig = createRig({
      scripts: [
        (agent) =>
          agent.fail({
            type: 'overloaded_error',
            status: 529,
            message: `${'m'.repeat(600_000)}\ud83d`,
            requestId: 'r'.repeat(400_000),
          }),
        (agent) =>
          agent.fail({
            message: 'denied',
            denied: Array.from({ length: 5_000 }, (_, n) => ({ tool: `Bash${n}`, summary: 's'.repeat(400) })),
          }),
      ],
    });
    const { id, result } = await rig.start();
    expect(await rig.until(result)).toMatchObject({ status: 'paused', reason: 'needs-human', attempts: 2 });
    expect((await rig.data(id, 'attempt.failed')).map((data) => data['classification'])).toEqual([
      expect.objectContaining({ class: 'transient' }),
      expect.objectContaining({ class: 'policy' }),
    ]);
  });

  test('ten thousand lost calls fit into the record', async () => {
    const rig = createRig({
      scripts: [
        async (agent) => {
          for (let n = 0; n < 10_000; n++) agent.call(`call-with-a-rather-long-id-${n}`, `step ${n}`, 'ok');
          agent.exit(null, 'SIGKILL');
        },
        (agent) => agent.answer('done'),
      ],
    });
    const { id, result } = await rig.start({ policy: quick });
    expect(await rig.until(result)).toMatchObject({ status: 'done', attempts: 2 });
    expect((await rig.data(id, 'attempt.failed'))[0]?.['lost']).toHaveLength(1_000);
  });
});

describe('a broken journal', () => {
  test('ends the processes, starts nothing more, and is the error of the result', async () => {
    const rig = createRig({
      scripts: [
        async (agent) => {
          agent.text('m1', 'one');
          await agent.stopRequested;
        },
      ],
    });
    rig.own.journal.before = (batch) => {
      if (batch.some((append) => append.events.some((event) => event.type === 'message.committed')))
        throw new Error('the disk is full');
    };
    const { id, result } = await rig.start();
    await expect(rig.until(result)).rejects.toThrow('the disk is full');
    expect(rig.machine.alive()).toEqual([]);
    expect(rig.machine.locks.size).toBe(0);
    expect((await rig.state(id)).phase.kind).toBe('running');
    rig.own.journal.before = () => undefined;
    rig.machine.scripts[1] = (agent) => agent.answer('done');
    expect(await rig.until(rig.process(2).attach(id).result)).toMatchObject({ status: 'done', attempts: 2 });
  });

  test('also one that breaks while the agent goes on talking', async () => {
    const rig = createRig({
      scripts: [
        async (agent) => {
          agent.onStop = () => {
            for (let n = 0; n < 3_000; n++) agent.text(`late${n}`, 'still talking');
            agent.say({ kind: 'call-intended', callId: 'c', tool: 't', input: {}, reply: 'go' });
            agent.exit(143);
          };
          agent.text('m1', 'one');
          await agent.stopRequested;
        },
      ],
    });
    rig.own.journal.before = (batch) => {
      if (batch.some((append) => append.events.some((event) => event.type === 'message.committed')))
        throw new Error('the disk is full');
    };
    const { result } = await rig.start();
    await expect(rig.until(result)).rejects.toThrow('the disk is full');
    expect(rig.machine.agents[0]?.input).toEqual(['do the task']);
  });
});
