import { describe, expect, test } from 'vitest';
import { createRig } from './support/rig.ts';
import type { AgentScript } from './support/scripted-agent.ts';

const overloaded = { type: 'overloaded_error', status: 529, message: 'Overloaded' };
const unknownSession = { type: 'session_not_found', message: 'No conversation found with that id' };
const fails: AgentScript = (agent) => agent.fail(overloaded);
const finishes: AgentScript = (agent) => agent.answer('done');
const works: AgentScript = (agent) => {
  agent.session(agent.spec.launch.argv.at(-1) ?? '');
  agent.text('m1', 'I have looked at the files.');
  agent.call('c1', 'make', 'built');
  agent.fail(overloaded);
};
const dies: AgentScript = (agent) => agent.exit(null, 'SIGSEGV');
const step: AgentScript = (agent) => {
  agent.call(`c${agent.pid}`, `step ${agent.pid}`, 'ok');
  agent.fail(overloaded);
};
const same: AgentScript = (agent) => {
  agent.text(`m${agent.pid}`, `now really, ${agent.pid}`);
  agent.call(`c${agent.pid}`, 'the same step', 'ok');
  agent.fail(overloaded);
};
const quick = { retry: { scheduleMs: [1_000, 1_000, 1_000] } };

describe('the conversation', () => {
  test('is known as soon as the failing attempt has told it', async () => {
    const rig = createRig({
      preassignsId: false,
      scripts: [
        (agent) => {
          agent.session('told-late');
          agent.fail(overloaded);
        },
        finishes,
      ],
    });
    const { id, result } = await rig.start({ policy: quick });
    expect(await rig.until(result)).toMatchObject({ status: 'done', attempts: 2 });
    expect(rig.machine.launches[0]).not.toHaveProperty('sessionId');
    expect(rig.machine.launches[1]).toMatchObject({ mode: 'resume', sessionId: 'told-late' });
    expect((await rig.data(id, 'attempt.failed'))[0]).toMatchObject({ sessionId: 'told-late', continuable: 'same' });
  });

  test('that nobody can name after something was said is not guessed: a person is asked', async () => {
    const rig = createRig({
      preassignsId: false,
      scripts: [
        (agent) => {
          agent.text('m1', 'I begin.');
          agent.fail(overloaded);
        },
      ],
    });
    const { result } = await rig.start({ policy: quick });
    expect(await rig.until(result)).toMatchObject({ status: 'paused', reason: 'needs-human', attempts: 1 });
  });

  test('is copied before each continuation, as it was then', async () => {
    const rig = createRig({
      scripts: [
        (agent) => {
          rig.machine.sessions.set(agent.spec.launch.argv.at(-1) ?? '', 'version 1');
          agent.fail(overloaded);
        },
        (agent) => {
          expect(rig.machine.copies).toHaveLength(1);
          rig.machine.sessions.set(agent.spec.launch.argv.at(-1) ?? '', 'version 2');
          agent.fail(overloaded);
        },
        finishes,
      ],
    });
    const { id, result } = await rig.start({ policy: quick });
    await rig.until(result);
    expect(rig.machine.scriptErrors).toEqual([]);
    expect(rig.machine.copies).toEqual([
      { marker: `${id}.2`, content: 'version 1' },
      { marker: `${id}.3`, content: 'version 2' },
    ]);
    expect((await rig.data(id, 'attempt.started')).map((start) => start['copy'])).toEqual([
      undefined,
      `copy:${id}.2`,
      `copy:${id}.3`,
    ]);
  });

  test('cannot be copied: then it is not continued, and the error says why', async () => {
    const rig = createRig({ scripts: [fails] });
    rig.machine.beforeStart = () => void rig.machine.sessions.set(rig.machine.launches[0]?.sessionId ?? '', 'x');
    rig.machine.beforeCopy = () => {
      throw new Error('ENOSPC: no space left');
    };
    const { result } = await rig.start({ policy: quick });
    await expect(rig.until(result)).rejects.toMatchObject({ code: 'run/no-copy' });
    expect(rig.machine.agents).toHaveLength(1);
  });
});

describe('a conversation that the agent does not know', () => {
  test('and in which nothing was ever said, is made anew with the prompt, under the id that was never used', async () => {
    const rig = createRig({ scripts: [fails, (agent) => agent.fail(unknownSession), finishes] });
    const { id, result } = await rig.start({ policy: quick });
    expect(await rig.until(result)).toMatchObject({ status: 'done', attempts: 3 });
    const [first, second, third] = rig.machine.launches;
    expect(second).toMatchObject({ mode: 'resume', sessionId: first?.sessionId });
    expect(third).toMatchObject({ mode: 'create', prompt: 'do the task', sessionId: first?.sessionId });
    expect((await rig.data(id, 'attempt.started')).map((start) => start['mode'])).toEqual([
      'first',
      'continue',
      'restart',
    ]);
  });

  test('R67 R69 R71 after work was done: one fresh conversation with a summary from the journal, labelled; then an end', async () => {
    const rig = createRig({
      scripts: [works, (agent) => agent.fail(unknownSession), works, (agent) => agent.fail(unknownSession)],
    });
    const { id, result } = await rig.start({ policy: quick });
    expect(await rig.until(result)).toMatchObject({ status: 'failed', attempts: 4 });
    const [first, second, third] = rig.machine.launches;
    expect(second).toMatchObject({ mode: 'resume', sessionId: first?.sessionId });
    expect(third).toMatchObject({ mode: 'create' });
    expect(third?.sessionId).not.toBe(first?.sessionId);
    expect(third?.prompt).toMatch(/^This conversation is new\./);
    for (const part of ['do the task', 'I have looked at the files.', 'make', 'built'])
      expect(third?.prompt).toContain(part);
    const modes = (await rig.data(id, 'attempt.started')).map((start) => start['mode']);
    expect(modes).toEqual(['first', 'continue', 'rebuild', 'continue']);
    expect(modes.filter((mode) => mode === 'rebuild')).toHaveLength(1);
    expect((await rig.data(id, 'recovery.decided'))[1]).toMatchObject({ decision: { action: 'rebuild' } });
  });

  test('no fallback where none is allowed', async () => {
    const rig = createRig({ scripts: [works, (agent) => agent.fail(unknownSession)] });
    const { result } = await rig.start({ policy: { retry: { ...quick.retry, fallbacks: 0 } } });
    expect(await rig.until(result)).toMatchObject({ status: 'failed', attempts: 2 });
  });

  test('another conversation than the one asked for is no continuation', async () => {
    const swapped = { type: 'session_changed', message: 'it went on in another session' };
    const rig = createRig({ scripts: [works, (agent) => agent.fail(swapped), finishes] });
    const { id, result } = await rig.start({ policy: quick });
    expect(await rig.until(result)).toMatchObject({ status: 'done', attempts: 3 });
    expect((await rig.data(id, 'attempt.started')).map((start) => start['mode'])).toEqual([
      'first',
      'continue',
      'rebuild',
    ]);
  });

  test('a fresh conversation that is interrupted by an overload goes on as itself', async () => {
    const rig = createRig({ scripts: [works, (agent) => agent.fail(unknownSession), works, finishes] });
    const { result } = await rig.start({ policy: quick });
    expect(await rig.until(result)).toMatchObject({ status: 'done', attempts: 4 });
    const [, , third, fourth] = rig.machine.launches;
    expect(fourth).toMatchObject({ mode: 'resume', sessionId: third?.sessionId });
    expect(fourth?.prompt).not.toMatch(/^This conversation is new\./);
  });

  test('a fresh conversation that could not be started is not the one fallback: it is tried again', async () => {
    const rig = createRig({ scripts: [works, (agent) => agent.fail(unknownSession), finishes] });
    let starts = 0;
    rig.machine.beforeStart = () => {
      starts += 1;
      if (starts === 3) rig.machine.startFails = { code: 'EAGAIN', message: 'no more processes' };
    };
    const { id, result } = await rig.start({ policy: quick });
    expect(await rig.until(result)).toMatchObject({ status: 'done', attempts: 4 });
    expect((await rig.data(id, 'attempt.started')).map((start) => start['mode'])).toEqual([
      'first',
      'continue',
      'rebuild',
      'rebuild',
    ]);
  });
});

describe('a history that cannot be continued', () => {
  const refused = { type: 'invalid_request_error', status: 400, message: 'messages.3: tool_use without tool_result' };

  test('shows by a refusal right after a continuation: one fallback, then stop', async () => {
    const rig = createRig({ scripts: [works, (agent) => agent.fail(refused), works, (agent) => agent.fail(refused)] });
    const { id, result } = await rig.start({ policy: quick });
    expect(await rig.until(result)).toMatchObject({ status: 'failed', attempts: 4 });
    const modes = (await rig.data(id, 'attempt.started')).map((start) => start['mode']);
    expect(modes).toEqual(['first', 'continue', 'rebuild', 'continue']);
  });

  test('a refusal of the first prompt is final: nothing is tried again', async () => {
    const rig = createRig({ scripts: [(agent) => agent.fail(refused)] });
    expect(await rig.until((await rig.start({ policy: quick })).result)).toMatchObject({
      status: 'failed',
      attempts: 1,
    });
  });

  test('shows by the same crash after two continuations in a row without progress', async () => {
    const rig = createRig({ scripts: [works, dies, dies, finishes] });
    const { id, result } = await rig.start({ policy: quick });
    expect(await rig.until(result)).toMatchObject({ status: 'done', attempts: 4 });
    expect((await rig.data(id, 'attempt.started')).map((start) => start['mode'])).toEqual([
      'first',
      'continue',
      'continue',
      'rebuild',
    ]);
  });

  test('an overload that comes back is no such thing', async () => {
    const rig = createRig({ scripts: [works, fails, fails, finishes] });
    const { id, result } = await rig.start({ policy: quick });
    expect(await rig.until(result)).toMatchObject({ status: 'done', attempts: 4 });
    expect((await rig.data(id, 'attempt.started')).map((start) => start['mode'])).toEqual([
      'first',
      'continue',
      'continue',
      'continue',
    ]);
  });

  test('that our own process died twice is no such thing', async () => {
    const rig = createRig({
      scripts: [works, async (agent) => agent.stopRequested, async (agent) => agent.stopRequested, finishes],
    });
    const { id } = await rig.start({ policy: quick });
    for (const [n, pid] of [
      [2, 1],
      [3, 2],
    ] as const) {
      const process = pid === 1 ? rig.own : rig.process(pid);
      if (pid !== 1) process.attach(id);
      await rig.untilTrue(`attempt ${n} runs`, () => rig.machine.agents.length === n);
      process.kill();
    }
    const { result } = rig.process(3).attach(id);
    expect(await rig.until(result)).toMatchObject({ status: 'done', attempts: 4 });
    expect((await rig.data(id, 'attempt.started')).map((start) => start['mode'])).toEqual([
      'first',
      'continue',
      'continue',
      'continue',
    ]);
  });
});

describe('progress', () => {
  test('begins the schedule anew: a new call that finished', async () => {
    const rig = createRig({ scripts: [step, step, step, step, step, finishes] });
    const { result } = await rig.start({ policy: { retry: { scheduleMs: [1_000, 1_000] } } });
    expect(await rig.until(result)).toMatchObject({ status: 'done', attempts: 6 });
  });

  test('text and calls that had finished before are none', async () => {
    const rig = createRig({ scripts: [same, same, same, same, same] });
    const { result } = await rig.start({ policy: { retry: { scheduleMs: [1_000, 1_000] } } });
    expect(await rig.until(result)).toMatchObject({ status: 'paused', reason: 'provider', attempts: 3 });
  });

  test('a changed workspace is progress', async () => {
    const rig = createRig({
      scripts: [1, 2, 3, 4, 5].map((n): AgentScript => (agent) => {
        rig.machine.workspace = `tree ${n}`;
        agent.fail(overloaded);
      }),
    });
    rig.machine.scripts.push(finishes);
    const { result } = await rig.start({ policy: { retry: { scheduleMs: [1_000, 1_000] } } });
    expect(await rig.until(result)).toMatchObject({ status: 'done', attempts: 6 });
  });
});

describe('what a person sees', () => {
  test('R11 an overload right after a person has answered is weather: the answer is kept and not asked for again', async () => {
    const rig = createRig({
      scripts: [works, (agent) => agent.fail({ status: 401, message: 'login expired' }), fails, finishes],
    });
    const first = await rig.start({ policy: quick });
    expect(await rig.until(first.result)).toMatchObject({ status: 'paused', reason: 'needs-human', attempts: 2 });
    const again = await rig.own.resume(first.id);
    expect(await rig.until(again.result)).toMatchObject({ status: 'done', attempts: 4 });
    expect((await rig.types(first.id)).filter((type) => type === 'run.paused')).toHaveLength(1);
    expect(new Set(rig.machine.launches.map((launch) => launch.sessionId)).size).toBe(1);
  });

  test('R23 at a limit the command that goes on by hand, in the same place and conversation', async () => {
    const rig = createRig({
      scripts: [works, (agent) => agent.fail({ type: 'usage_limit_reached', message: 'limit' })],
    });
    const { id, result } = await rig.start({ policy: quick });
    expect(await rig.until(result)).toMatchObject({ status: 'paused', attempts: 2 });
    const state = await rig.state(id);
    const [adapter] = rig.own.deps.adapters;
    const sessionId = state.attempts.at(-1)?.sessionId ?? '';
    expect(sessionId).toBe(rig.machine.launches[0]?.sessionId);
    expect(state.accepted.cwd).toBe('/project');
    expect(adapter?.byHand(state.accepted.program, sessionId)).toBe(`agent --resume ${sessionId}`);
  });

  test('R141 each attempt reports its own status, request and hint: a success on the third is not one on the first', async () => {
    const rig = createRig({
      scripts: [
        (agent) => agent.fail({ status: 429, message: 'slow down', retryAfterMs: 4_000, requestId: 'req_1' }),
        (agent) => agent.fail({ status: 529, message: 'Overloaded', requestId: 'req_2' }),
        finishes,
      ],
    });
    const { id, result } = await rig.start({ policy: quick });
    await rig.until(result);
    const report = (await rig.state(id)).attempts.map((attempt) => {
      if (attempt.end?.kind !== 'failed') return { n: attempt.n, end: attempt.end?.kind };
      const { failure, classification, decision } = attempt.end;
      const { status, requestId, retryAfterMs } = failure;
      return {
        n: attempt.n,
        status,
        requestId,
        retryAfterMs,
        ...classification,
        decided: decision?.action,
        because: decision?.because,
      };
    });
    expect(report).toMatchInlineSnapshot(`
      [
        {
          "because": "failure 1 of 3 in a row that are retried, no earlier than the server asked",
          "class": "throttled",
          "decided": "continue",
          "evidence": "status=429",
          "n": 1,
          "requestId": "req_1",
          "retryAfterMs": 4000,
          "rule": "kernel/1:throttle-status",
          "status": 429,
        },
        {
          "because": "failure 2 of 3 in a row that are retried",
          "class": "transient",
          "decided": "continue",
          "evidence": "status=529",
          "n": 2,
          "requestId": "req_2",
          "retryAfterMs": undefined,
          "rule": "kernel/1:retry-status",
          "status": 529,
        },
        {
          "end": "committed",
          "n": 3,
        },
      ]
    `);
  });
});
