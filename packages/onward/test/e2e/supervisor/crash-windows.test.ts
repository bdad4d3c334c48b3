import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { appendTask, healthy, overloadedThenWell, type Play, taskSteps } from '../../../src/lab/fake-cli/index.ts';
import { until } from '../../unit/processes/support.ts';
import { checkInvariants } from '../../unit/supervisor/support/invariants.ts';
import { makePlace, type Place } from './support/place.ts';

const task = appendTask();

/** The first process does its work and then goes on living; whoever comes later looks at what is there. */
function staysAfter(...steps: Play['attempts'][number]['steps']): Play {
  return { attempts: [{ steps: [...steps, { do: 'hang' }] }, { steps: taskSteps(task, 'checker') }] };
}

async function dataOf<Data>(place: Place, id: string, type: string): Promise<readonly Data[]> {
  return (await place.events(id)).filter((event) => event.type === type).map((event) => event.data as Data);
}

async function modes(place: Place, id: string): Promise<readonly string[]> {
  return (await dataOf<{ mode: string }>(place, id, 'attempt.started')).map(({ mode }) => mode);
}

async function expectDone(place: Place, id: string, effects = ['one']): Promise<void> {
  checkInvariants(await place.events(id));
  expect(place.effects()).toEqual(effects);
  await until('no process is left', async () => (await place.left()).length === 0);
}

describe('kill -9 of onward', () => {
  test('after run.accepted: attempt 1 is started with the prompt', async () => {
    const place = await makePlace(healthy(task));
    const first = await place.run({ do: 'run', at: { commit: 'run.accepted', when: 'after', signal: 'SIGKILL' } });
    expect(first.signal).toBe('SIGKILL');
    const id = (await place.onlyRun()) ?? '';
    expect(await place.run({ do: 'attach', id })).toMatchObject({ result: { status: 'done', attempts: 1 } });
    expect(place.starts().map((start) => start.prompts)).toEqual([['do the task']]);
    await expectDone(place, id);
  });

  test.each(['claude', 'codex'] as const)(
    'after attempt.started and before the process of %s: it is started with the prompt, once',
    async (name) => {
      const place = await makePlace(healthy(task), name);
      await place.run({ do: 'run', at: { commit: 'attempt.started', when: 'after', signal: 'SIGKILL' } });
      const id = (await place.onlyRun()) ?? '';
      expect(place.starts()).toEqual([]);
      expect(await place.run({ do: 'attach', id })).toMatchObject({ result: { status: 'done', attempts: 2 } });
      expect(await modes(place, id)).toEqual(['first', 'restart']);
      expect(place.starts()).toHaveLength(1);
      await expectDone(place, id);
    },
  );

  test('with a process that has printed nothing: resume is tried first, then the prompt under an id that is free', async () => {
    const play: Play = {
      attempts: [{ steps: [{ do: 'hang' }], opening: 'none' }, { steps: taskSteps(task, 'checker') }],
    };
    const place = await makePlace(play);
    await place.run({ do: 'run', at: { commit: 'attempt.started', when: 'act', signal: 'SIGKILL' } });
    const id = (await place.onlyRun()) ?? '';
    expect(await place.run({ do: 'attach', id })).toMatchObject({ result: { status: 'done', attempts: 3 } });
    expect(await modes(place, id)).toEqual(['first', 'continue', 'restart']);
    expect(place.starts().map((start) => start.refused !== undefined)).toEqual([false, true, false]);
    await expectDone(place, id);
  });

  test('before the id of a Codex thread is known: the outcome is unknown, and the prompt is not sent again', async () => {
    const place = await makePlace({ attempts: [{ steps: [{ do: 'hang' }], opening: 'none' }] }, 'codex');
    await place.run({ do: 'run', at: { commit: 'attempt.started', when: 'act', signal: 'SIGKILL' } });
    const id = (await place.onlyRun()) ?? '';
    expect(await place.run({ do: 'attach', id })).toMatchObject({
      result: { status: 'paused', reason: 'needs-human' },
    });
    expect(place.starts()).toHaveLength(1);
    await until('no process is left', async () => (await place.left()).length === 0);
  });

  test('with the id of a Codex thread printed but not recorded: it is read from the spool and continued', async () => {
    const place = await makePlace(staysAfter({ do: 'request' }), 'codex');
    await place.run({ do: 'run', at: { commit: 'attempt.session', when: 'before', signal: 'SIGKILL' } });
    const id = (await place.onlyRun()) ?? '';
    expect(await place.run({ do: 'attach', id })).toMatchObject({ result: { status: 'done', attempts: 2 } });
    expect(await modes(place, id)).toEqual(['first', 'continue']);
    await expectDone(place, id);
  });

  test('R67 with a tool result printed but not recorded: it is read before anything is decided', async () => {
    const play = staysAfter({ do: 'request' }, { do: 'tool', command: task.command, id: 'toolu_1' });
    const place = await makePlace(play);
    await place.run({ do: 'run', at: { commit: 'call.finished', when: 'before', signal: 'SIGKILL' } });
    const id = (await place.onlyRun()) ?? '';
    expect(await place.run({ do: 'attach', id })).toMatchObject({ result: { status: 'done', attempts: 2 } });
    const types = (await place.events(id)).map((event) => event.type);
    expect(types.indexOf('call.finished')).toBeGreaterThan(0);
    expect(types.indexOf('call.finished')).toBeLessThan(types.indexOf('attempt.failed'));
    for (const start of place.starts()) expect(start.argv).not.toContain('--continue');
    await expectDone(place, id);
  });

  test('with a success printed but not recorded: it is finished, and nothing is started', async () => {
    const place = await makePlace(healthy(task));
    await place.run({ do: 'run', at: { commit: 'attempt.committed', when: 'before', signal: 'SIGKILL' } });
    const id = (await place.onlyRun()) ?? '';
    expect(await place.run({ do: 'attach', id })).toMatchObject({
      result: { status: 'done', attempts: 1, text: task.answer },
    });
    expect(place.starts()).toHaveLength(1);
    await expectDone(place, id);
  });

  test('while it waits: what is left is waited for, and no more', async () => {
    const place = await makePlace(overloadedThenWell(1, task));
    const policy = { retry: { scheduleMs: [3_000], jitter: 0 } };
    await place.run({ do: 'run', policy, at: { commit: 'recovery.decided', when: 'after', signal: 'SIGKILL' } });
    const id = (await place.onlyRun()) ?? '';
    const { at } = (await dataOf<{ decision: { at: number } }>(place, id, 'recovery.decided'))[0]?.decision ?? {
      at: 0,
    };
    expect(at).toBeGreaterThan(0);
    expect(await place.run({ do: 'attach', id })).toMatchObject({ result: { status: 'done', attempts: 2 } });
    const second = (await place.events(id)).filter((event) => event.type === 'attempt.started').at(-1)?.at ?? 0;
    expect(second).toBeGreaterThanOrEqual(at);
    await expectDone(place, id);
  });

  test('R70 in the middle of a turn, three times: positions go on without a gap, and the task is done once', async () => {
    const hang = { steps: [{ do: 'request' }, { do: 'text', text: 'I work.' }, { do: 'hang' }] } as const;
    const place = await makePlace({ attempts: [hang, hang, hang, { steps: taskSteps(task) }] });
    const kill = { commit: 'attempt.session', when: 'after', signal: 'SIGKILL' } as const;
    await place.run({ do: 'run', at: kill });
    const id = (await place.onlyRun()) ?? '';
    for (let more = 0; more < 2; more++) await place.run({ do: 'attach', id, at: kill });
    expect(await place.run({ do: 'attach', id })).toMatchObject({ result: { status: 'done', attempts: 4 } });
    await expectDone(place, id);
  });
});

describe('two processes', () => {
  test('R73 that race to take a dead one’s run: one goes on, the other learns who has it', async () => {
    const place = await makePlace(
      staysAfter({ do: 'request' }, { do: 'text', text: 'I work.' }, { do: 'end-message' }),
    );
    await place.run({ do: 'run', at: { commit: 'usage.reported', when: 'after', signal: 'SIGKILL' } });
    const id = (await place.onlyRun()) ?? '';
    const reports = await Promise.all([1, 2, 3].map(() => place.run({ do: 'attach', id })));
    const done = reports.filter((report) => report.result?.status === 'done');
    const held = reports.filter((report) => report.error?.code === 'run/held');
    expect(done.length).toBeGreaterThanOrEqual(1);
    expect(done.length + held.length).toBe(3);
    expect(place.starts()).toHaveLength(2);
    await expectDone(place, id);
  });

  test('R73 one that is stopped between announcement and process: the one that took over did the work, the late one starts nothing', async () => {
    const place = await makePlace(healthy(task));
    const late = place.start({ do: 'run', at: { commit: 'attempt.started', when: 'after', signal: 'SIGSTOP' } });
    await until('it is stopped', () => stateOf(late.pid) === 'T');
    const id = await until('the run is on record', () => place.onlyRun());
    // Its lease runs out while it is stopped; for the other the time has passed already.
    const over = await place.run({ do: 'attach', id, aheadMs: 20_000 });
    expect(over, over.stderr).toMatchObject({ result: { status: 'done', attempts: 2 } });
    expect(place.starts()).toHaveLength(1);
    late.kill('SIGCONT');
    expect((await late.report).error).toMatchObject({ code: 'run/held' });
    expect(place.starts()).toHaveLength(1);
    await expectDone(place, id);
  });

  test('R73 one that is stopped with its agent alive: the one that takes over waits until it lets go, then goes on', async () => {
    const place = await makePlace(staysAfter({ do: 'request' }));
    const late = place.start({ do: 'run', at: { commit: 'attempt.session', when: 'after', signal: 'SIGSTOP' } });
    await until('it is stopped', () => stateOf(late.pid) === 'T');
    const id = await until('the run is on record', () => place.onlyRun());
    const over = place.start({ do: 'attach', id, aheadMs: 20_000 });
    await until('the other waits', () => over.events.some((event) => event.type === 'notice'));
    expect(place.starts()).toHaveLength(1);
    late.kill('SIGCONT');
    expect((await late.report).error).toMatchObject({ code: 'run/held' });
    expect(await over.report).toMatchObject({ result: { status: 'done', attempts: 2 } });
    await expectDone(place, id);
  });
});

describe('the copy of a conversation', () => {
  test('R68 is whole, and can be put back, when the agent ruins its own file on resume', async () => {
    const place = await makePlace({
      attempts: [
        {
          steps: [
            { do: 'request' },
            { do: 'tool', command: task.command },
            { do: 'request' },
            { do: 'fail', with: 'overloaded' },
          ],
        },
        { steps: [{ do: 'damage-session', how: 'truncate' }, { do: 'request' }, { do: 'fail', with: 'overloaded' }] },
        { steps: taskSteps(task, 'checker') },
      ],
    });
    const { id = '', result } = await place.run({ do: 'run' });
    expect(result).toMatchObject({ status: 'done' });
    const [, { copy = '' } = {}] = await dataOf<{ copy?: string }>(place, id, 'attempt.started');
    expect(copy.startsWith(join(place.root, 'state'))).toBe(true);
    const lines = readFileSync(copy, 'utf8').split('\n').slice(0, -1);
    expect(lines.length).toBeGreaterThan(3);
    for (const line of lines) expect(() => JSON.parse(line) as unknown).not.toThrow();
    expect(lines.join('\n')).toContain('EFFECT_OK');
    await expectDone(place, id);
  });
});

function stateOf(pid: number): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.[0];
  } catch {
    return undefined;
  }
}
