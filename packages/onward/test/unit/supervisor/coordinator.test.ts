import { describe, expect, test } from 'vitest';
import { resolvePolicy } from '../../../src/kernel/policy.ts';
import { accept, createRig, hash } from './support/rig.ts';
import type { AgentScript } from './support/scripted-agent.ts';

const overloaded = { type: 'overloaded_error', status: 529, message: 'Overloaded' };
const fails =
  (n: number): AgentScript =>
  (agent) =>
    agent.fail({ ...overloaded, message: `Overloaded, take ${n}` });
const finishes: AgentScript = (agent) => agent.answer('done');
const notDone: AgentScript = (agent) => {
  agent.call(`c${agent.pid}`, `step ${agent.pid}`, 'ok');
  agent.fail({ type: 'error_max_turns', message: 'not done' });
};
const denied: AgentScript = (agent) =>
  agent.fail({ message: 'denied', denied: [{ tool: 'Bash', summary: 'rm' }] }, 'I could not run it.');
const idle: AgentScript = (agent) => {
  agent.text(`m${agent.pid}`, 'I am still working on it.');
  agent.fail({ type: 'error_max_turns', message: 'not done' });
};

describe('a run without trouble', () => {
  test('sends the prompt once and ends done, with the answer', async () => {
    const rig = createRig({
      scripts: [
        async (agent) => {
          agent.session(agent.spec.launch.argv.at(-1) ?? '');
          expect(await agent.heard(0)).toBe('do the task');
          agent.text('m1', 'working');
          agent.call('c1', 'ls', 'a b');
          agent.answer('all done');
        },
      ],
    });
    const { id, result } = await rig.start();
    expect(await rig.until(result)).toEqual({ status: 'done', run: id, text: 'all done', attempts: 1 });
    expect(rig.machine.scriptErrors).toEqual([]);
    expect(await rig.types(id)).toEqual([
      'run.accepted',
      'attempt.started',
      'attempt.spawned',
      'attempt.session',
      'message.committed',
      'call.started',
      'call.finished',
      'attempt.committed',
      'run.ended',
    ]);
  });

  test('announces the attempt durably before it starts a process', async () => {
    const rig = createRig({ scripts: [finishes] });
    const at: (readonly string[])[] = [];
    const id = await accept(rig.own.deps);
    rig.machine.beforeStart = async () => void at.push(await rig.types(id));
    await rig.until(rig.own.attach(id).result);
    expect(at).toEqual([['run.accepted', 'attempt.started']]);
  });

  test('keeps the accepted command, prompt, piped text, place and account, but no value of a variable', async () => {
    const rig = createRig({ scripts: [finishes] });
    const { id, result } = await rig.start({ command: ['agent', 'task', '--mode', 'fast'], stdin: 'piped' });
    await rig.until(result);
    const [accepted] = await rig.data(id, 'run.accepted');
    expect(accepted).toMatchObject({
      agent: 'scripted',
      program: 'agent',
      binary: '/bin/agent',
      version: '1.2.3',
      command: { options: ['--mode', 'fast'] },
      prompt: { text: 'task\npiped' },
      cwd: '/project',
      identity: { account: 'account-1' },
      variables: ['API_TOKEN', 'PATH'],
      host: 'here',
    });
    expect(JSON.stringify(await rig.events(id))).not.toContain('tok-very-secret-value');
  });

  test('takes messages of any length and hands out the whole answer', async () => {
    const long = 'x'.repeat(300_000);
    const rig = createRig({
      scripts: [
        (agent) => {
          agent.text('m1', long);
          agent.answer(long);
        },
      ],
    });
    const { result, seen } = await rig.start();
    expect(await rig.until(result)).toMatchObject({ status: 'done', text: long });
    expect(seen.find((event) => event.type === 'message.committed')?.data).toMatchObject({ body: { text: long } });
    expect(seen.find((event) => event.type === 'attempt.committed')?.data).toMatchObject({ text: { text: long } });
  });
});

describe('a failing attempt', () => {
  test('is followed by a continuation in the same conversation, with all the user’s options', async () => {
    const rig = createRig({ scripts: [fails(1), finishes] });
    const { result } = await rig.start({ command: ['agent', 'task', '--mode', 'fast'] });
    expect(await rig.until(result)).toMatchObject({ status: 'done', attempts: 2 });
    const [first, second] = rig.machine.launches;
    expect(first).toMatchObject({ mode: 'create', prompt: 'task', command: { options: ['--mode', 'fast'] } });
    expect(second).toMatchObject({ mode: 'resume', command: { options: ['--mode', 'fast'] } });
    expect(second?.sessionId).toBe(first?.sessionId);
    expect(second?.prompt).toMatch(/^Your previous attempt ended before the task was finished\./);
    expect(second?.prompt).not.toContain('task\n');
  });

  test('R112 its facts and the decision are one append, and say whether and when it goes on', async () => {
    const rig = createRig({ scripts: [fails(1), finishes] });
    const { id, result, seen } = await rig.start();
    await rig.until(result);
    const batch = rig.own.journal.appends.find((appends) =>
      appends.some((append) => append.events.some((event) => event.type === 'attempt.failed')),
    );
    expect(batch?.flatMap((append) => append.events.map((event) => event.type))).toEqual([
      'attempt.failed',
      'recovery.decided',
    ]);
    const failed = seen.find((event) => event.type === 'attempt.failed');
    const [decided] = await rig.data(id, 'recovery.decided');
    expect(failed).toMatchObject({ attempt: 1, willRetry: true, nextAt: (failed?.at ?? 0) + 10_000 });
    expect(decided).toMatchObject({ n: 1, decision: { action: 'continue', at: failed?.nextAt } });
    for (const event of seen)
      expect(Object.keys(event)).toEqual(expect.arrayContaining(['willRetry', 'attempt', 'nextAt']));
  });

  test('R112 the last failure says that nothing follows', async () => {
    const rig = createRig({ scripts: [fails(1)] });
    const { result, seen } = await rig.start({ policy: { retry: { enabled: false } } });
    await rig.until(result);
    expect(seen.find((event) => event.type === 'attempt.failed')).toMatchObject({ willRetry: false, nextAt: null });
  });

  test('waits as scheduled: never earlier, in order, once for each failure in a row', async () => {
    const rig = createRig({ scripts: [fails(1), fails(2), fails(3), finishes] });
    const starts: number[] = [];
    rig.machine.beforeStart = () => void starts.push(rig.clock.now());
    const { id, result } = await rig.start({ policy: { retry: { scheduleMs: [3_000, 7_000, 11_000] } } });
    await rig.until(result);
    const ends = (await rig.state(id)).attempts.map((attempt) => attempt.endedAt ?? 0);
    const waits = starts.slice(1).map((start, index) => start - (ends[index] ?? 0));
    expect(waits).toEqual([3_000, 7_000, 11_000]);
  });

  test('is not seen before its last word: what failed is withheld until it is decided', async () => {
    const rig = createRig({ scripts: [(agent) => agent.fail(overloaded, 'half an answer'), finishes] });
    const { result, seen } = await rig.start();
    await rig.until(result);
    expect(JSON.stringify(seen)).not.toContain('half an answer');
    expect(seen.filter((event) => event.type === 'attempt.failed')).toHaveLength(1);
  });
});

describe('settings', () => {
  test.each([
    ['retries are switched off', { retry: { enabled: false } }],
    ['the schedule is empty', { retry: { scheduleMs: [] } }],
    ['one attempt in all', { retry: { total: 1 } }],
  ])('when %s the failure surfaces at once', async (_what, policy) => {
    const rig = createRig({ scripts: [fails(1)] });
    const { result } = await rig.start({ policy });
    const ended = await rig.until(result);
    expect(ended).toMatchObject({ status: 'paused', attempts: 1, failure: { message: 'Overloaded, take 1' } });
    expect(rig.machine.agents).toHaveLength(1);
  });

  test('without any settings, retries are on', async () => {
    const rig = createRig({ scripts: [fails(1), finishes] });
    expect(await rig.until((await rig.start()).result)).toMatchObject({ status: 'done' });
  });

  test('an unknown strategy is refused before anything is recorded', async () => {
    const rig = createRig();
    await expect(accept(rig.own.deps, { policy: { retry: { strategy: 'exponential' } } })).rejects.toMatchObject({
      code: 'config/bad-value',
    });
    expect(await rig.store.streams('run:')).toEqual([]);
  });

  test('a zero stays a zero through acceptance, journal and launch', async () => {
    const rig = createRig({ scripts: [fails(1)] });
    const zeros = { retry: { inner: 0, unclassified: 0, auth: 0, fallbacks: 0 }, timeouts: { idleMs: 0, wallMs: 0 } };
    const { id, result } = await rig.start({ policy: { ...zeros, retry: { ...zeros.retry, scheduleMs: [0] } } });
    await rig.until(result).catch(() => undefined);
    const { policy } = (await rig.state(id)).accepted.policy;
    expect(policy).toMatchObject({ ...zeros, retry: { ...zeros.retry, scheduleMs: [0] } });
    expect(rig.machine.launches[0]?.innerRetries).toBe(0);
  });

  test('later configuration changes nothing for accepted work', async () => {
    const rig = createRig({ scripts: [fails(1), fails(2), finishes] });
    const policy = resolvePolicy([{ source: 'user', values: { retry: { scheduleMs: [5_000, 6_000] } } }], hash);
    const changing = { ...policy, policy: { ...policy.policy, retry: { ...policy.policy.retry } } };
    const { id, result } = await rig.start({ policy: { retry: { scheduleMs: [5_000, 6_000] } } });
    Object.assign(changing.policy.retry, { enabled: false, scheduleMs: [] });
    expect(await rig.until(result)).toMatchObject({ status: 'done', attempts: 3 });
    expect((await rig.state(id)).accepted.policy).toEqual(
      resolvePolicy([{ source: 'flag', values: { retry: { scheduleMs: [5_000, 6_000] } } }], hash),
    );
  });
});

describe('the end of patience', () => {
  test('R05 a fault that never ends ends the run after the schedule, with the last words of the provider', async () => {
    const rig = createRig({ scripts: [fails(1), fails(2), fails(3), fails(4)] });
    const { result, seen } = await rig.start();
    const ended = await rig.until(result);
    expect(ended).toMatchObject({
      status: 'paused',
      reason: 'provider',
      attempts: 4,
      failure: { message: 'Overloaded, take 4' },
    });
    expect(ended).toHaveProperty('because', expect.stringContaining('take 4'));
    expect(seen.filter((event) => event.type === 'run.paused')).toHaveLength(1);
  });

  test('R06 it can be resumed by its id, with the counting begun anew and the conversation kept', async () => {
    const rig = createRig({ scripts: [fails(1), fails(2), fails(3), fails(4), fails(5), finishes] });
    const first = await rig.start();
    await rig.until(first.result);
    const again = await rig.own.resume(first.id);
    expect(await rig.until(again.result)).toMatchObject({ status: 'done', attempts: 6 });
    const ids = rig.machine.launches.map((launch) => launch.sessionId);
    expect(new Set(ids).size).toBe(1);
    expect(rig.machine.launches.slice(1).every((launch) => launch.mode === 'resume')).toBe(true);
  });

  test('R138 R139 the number of processes is the number of configured attempts, and each lost one is on record', async () => {
    const waits = [1_000, 1_000, 1_000, 1_000, 1_000];
    const scripts = Array.from({ length: 6 }, (_, n): AgentScript => {
      return (agent) => {
        agent.say({ kind: 'usage', scope: 'own', inputTokens: 100, outputTokens: 0 });
        agent.fail({ ...overloaded, message: `take ${n}` });
      };
    });
    const rig = createRig({ scripts });
    const { id, result } = await rig.start({ policy: { retry: { scheduleMs: waits } } });
    await rig.until(result);
    expect(rig.machine.agents).toHaveLength(waits.length + 1);
    const { attempts } = await rig.state(id);
    expect(attempts.map((attempt) => attempt.usage?.inputTokens)).toEqual([100, 100, 100, 100, 100, 100]);
  });

  test('R01 an agent that retried nine times by itself is given longer waits, and the conversation goes on', async () => {
    const rig = createRig({
      scripts: [
        (agent) => {
          agent.text('m1', 'half the work');
          for (let n = 1; n <= 9; n++) agent.say({ kind: 'inner-retry', attempt: n, status: 529, delayMs: 500 });
          agent.fail(overloaded);
        },
        (agent) => {
          for (let n = 1; n <= 9; n++) agent.say({ kind: 'inner-retry', attempt: n, status: 529 });
          agent.fail(overloaded);
        },
        finishes,
      ],
    });
    const before = rig.clock.now();
    const { id, result } = await rig.start();
    expect(await rig.until(result)).toMatchObject({ status: 'done', attempts: 3 });
    const state = await rig.state(id);
    expect(state.attempts.map((attempt) => attempt.innerRetries)).toEqual([9, 9, 0]);
    expect(state.attempts[0]?.messages).toHaveLength(1);
    expect(new Set(state.attempts.map((attempt) => attempt.sessionId)).size).toBe(1);
    expect(rig.clock.now() - before).toBeLessThan(60_000);
  });

  test('R49 an agent that is never done is stopped by the number of attempts', async () => {
    const rig = createRig({ scripts: Array<AgentScript>(30).fill(notDone) });
    const { result } = await rig.start();
    expect(await rig.until(result)).toMatchObject({ status: 'paused', reason: 'limit', attempts: 20 });
    expect(rig.machine.agents).toHaveLength(20);
  });

  test('R49 and by the time of all attempts and waits together', async () => {
    const slow: AgentScript = async (agent) => {
      agent.call(`c${agent.pid}`, `step ${agent.pid}`, 'ok');
      await rig.clock.sleep(100_000);
      agent.fail({ type: 'error_max_turns', message: 'not done' });
    };
    const rig = createRig({ scripts: Array<AgentScript>(30).fill(slow) });
    const before = rig.clock.now();
    const { result } = await rig.start({ policy: { timeouts: { wallMs: 250_000 } } });
    expect(await rig.until(result)).toMatchObject({ status: 'paused', reason: 'limit', attempts: 3 });
    expect(rig.clock.now() - before).toBeLessThan(260_000);
  });

  test('R49 without progress, by the schedule', async () => {
    const rig = createRig({ scripts: Array<AgentScript>(10).fill(idle) });
    const { result } = await rig.start({ policy: { retry: { scheduleMs: [1_000, 1_000] } } });
    const ended = await rig.until(result);
    expect(ended.status).not.toBe('done');
    expect(ended.attempts).toBeLessThanOrEqual(4);
  });

  test('no process is started for time that is used up while waiting', async () => {
    const rig = createRig({ scripts: [fails(1), finishes] });
    const { result } = await rig.start({ policy: { retry: { scheduleMs: [60_000] }, timeouts: { wallMs: 30_000 } } });
    expect(await rig.until(result)).toMatchObject({ status: 'paused', reason: 'limit', attempts: 1 });
    expect(rig.machine.agents).toHaveLength(1);
  });
});

describe('calls that the agent’s own rules denied', () => {
  test('are no success: a person is asked', async () => {
    const rig = createRig({ scripts: [denied] });
    const ended = await rig.until((await rig.start()).result);
    expect(ended).toMatchObject({ status: 'paused', reason: 'needs-human', classification: { class: 'policy' } });
  });

  test('are accepted where the user said so', async () => {
    const rig = createRig({ scripts: [denied] });
    const ended = await rig.until((await rig.start({ policy: { onDenied: 'ignore' } })).result);
    expect(ended).toMatchObject({ status: 'done', text: 'I could not run it.' });
  });
});

describe('what may not be repeated by itself', () => {
  test('a refused login stops at once and asks a person', async () => {
    const rig = createRig({ scripts: [(agent) => agent.fail({ status: 401, message: 'Invalid API key' })] });
    const { result } = await rig.start();
    expect(await rig.until(result)).toMatchObject({ status: 'paused', reason: 'needs-human', attempts: 1 });
  });

  test('unless the credential source has changed since the attempt began: then once', async () => {
    const rig = createRig({
      scripts: [
        (agent) => {
          rig.machine.account = 'account-2';
          agent.fail({ status: 401, message: 'Invalid API key' });
        },
        (agent) => {
          rig.machine.account = 'account-3';
          agent.fail({ status: 401, message: 'Invalid API key' });
        },
      ],
    });
    const { result } = await rig.start();
    expect(await rig.until(result)).toMatchObject({ status: 'paused', reason: 'needs-human', attempts: 2 });
  });

  test('R99 a fault after the prompt was delivered, in a conversation that nobody knows, is no reason to send it again', async () => {
    const rig = createRig({
      preassignsId: false,
      scripts: [
        async (agent) => {
          await agent.heard(0);
          agent.fail({ message: 'something went wrong' });
        },
      ],
    });
    const { result } = await rig.start();
    const ended = await rig.until(result);
    expect(ended.status).not.toBe('done');
    expect(rig.machine.agents).toHaveLength(1);
    expect(rig.machine.agents[0]?.input).toEqual(['do the task']);
  });

  test('R99 the same for a crash: it is asked for a person, and said why', async () => {
    const rig = createRig({ preassignsId: false, scripts: [(agent) => agent.exit(null, 'SIGKILL')] });
    const { result } = await rig.start();
    expect(await rig.until(result)).toMatchObject({
      status: 'paused',
      reason: 'needs-human',
      because: expect.stringContaining('may have been accepted'),
    });
  });

  test('R21 a limit on the very first turn, before there was a conversation, keeps the prompt for later and says so', async () => {
    const rig = createRig({
      preassignsId: false,
      scripts: [(agent) => agent.fail({ status: 429, message: 'slow down', retryAfterMs: 5_000 }), finishes],
    });
    const { id, result } = await rig.start();
    expect(await rig.until(result)).toMatchObject({ status: 'done', attempts: 2 });
    expect(rig.machine.launches.map((launch) => launch.prompt)).toEqual(['do the task', 'do the task']);
    const starts = await rig.data(id, 'attempt.started');
    expect(starts.map((start) => start['mode'])).toEqual(['first', 'restart']);
    expect((await rig.data(id, 'attempt.failed'))[0]).toMatchObject({ continuable: 'nothing-accepted' });
  });

  test('R35 our own injected prompt, played back as the agent’s text, triggers nothing', async () => {
    const rig = createRig({
      scripts: [
        fails(1),
        async (agent) => {
          const prompt = await agent.heard(0);
          agent.text('m1', prompt);
          agent.text('m2', 'Rate limit detected. API Error: 529 Overloaded. You have hit your usage limit.');
          agent.call('c1', 'grep -rn "rate limit"', `${prompt} 429 overloaded_error`);
          agent.answer(prompt);
        },
      ],
    });
    const { result, seen } = await rig.start();
    expect(await rig.until(result)).toMatchObject({ status: 'done', attempts: 2 });
    expect(seen.filter((event) => event.type === 'attempt.failed')).toHaveLength(1);
  });
});
