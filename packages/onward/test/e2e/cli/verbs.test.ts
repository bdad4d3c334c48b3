import { existsSync, mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { authFailure, healthy, neverEnds, overloadedThenWell, type Play, usageLimit } from '../../../src/lab/index.ts';
import { jsonLines, Place } from './support/place.ts';
import { until } from './support/until.ts';

const task = ['claude', '-p', 'Do it', '--allowedTools', 'Bash'];
const quick = ['--schedule', '20ms,20ms'];
const answer = 'The line is in effects.log.';

/** A place with one run that met an overload and was done. */
async function placeWithRun(): Promise<{ readonly place: Place; readonly id: string }> {
  const place = new Place();
  place.install(overloadedThenWell(1));
  const run = place.start(['run', ...quick, '--name', 'nightly', '--', ...task]);
  const id = await run.id();
  expect((await run.ended).code).toBe(0);
  return { place, id };
}

/** A place with a live run whose agent is silent, and a run of another directory. */
async function placeWithLiveRun(): Promise<{
  readonly place: Place;
  readonly id: string;
  readonly live: ReturnType<Place['start']>;
}> {
  const place = new Place();
  const agent = place.install(neverEnds());
  const live = place.start(['run', ...quick, '--', ...task]);
  const id = await live.id();
  await until('the agent works', () => agent.invocations().some(({ requests }) => requests > 0));
  return { place, id, live };
}

describe('run', () => {
  test('prints the answer alone on standard output, and all else on standard error', async () => {
    const place = new Place();
    place.install(overloadedThenWell(1));
    const { stdout, stderr, code } = await place.onward(['run', ...quick, '--', ...task]);
    expect(stdout).toBe(`${answer}\n`);
    expect(code).toBe(0);
    expect(stderr.split('\n')[0]).toMatch(
      /^Claude Code 2\.1\.197 in \/\S+\/work \| permissions: default, allowed: Bash \| billing: not logged in \| limits: waits 20 ms, 20 ms; 20 attempts; 12 h \| run [0-9a-f]{12}$/,
    );
    for (const line of stderr.trimEnd().split('\n').slice(1)) expect(line).toMatch(/^\d\d:\d\d:\d\d attempt \d /);
  });

  test('R112 --json prints events alone on standard output, each with its place, attempt, willRetry and nextAt', async () => {
    const place = new Place();
    place.install(overloadedThenWell(1));
    const run = place.start(['run', ...quick, '--json', '--', ...task]);
    expect((await run.ended).code).toBe(0);
    const events = run.events();
    for (const event of events)
      expect(Object.keys(event)).toEqual(['v', 'run', 'seq', 'at', 'type', 'attempt', 'willRetry', 'nextAt', 'data']);
    const recorded = events.filter(({ seq }) => seq !== null);
    expect(recorded.map(({ seq }) => seq)).toEqual(recorded.map((_, index) => index + 1));
    const failed = events.find(({ type }) => type === 'attempt.failed');
    expect(failed).toMatchObject({ attempt: 1, willRetry: true });
    expect(failed?.nextAt).toBeGreaterThan(failed?.at ?? Infinity);
    expect(events.at(-1)).toMatchObject({ type: 'run.ended', data: { outcome: 'done' } });
  });

  test('R23 keeps Codex going as well, and why has the command that continues its conversation by hand', async () => {
    const place = new Place();
    const agent = place.install(overloadedThenWell(1), 'codex');
    const command = ['codex', 'exec', '-s', 'workspace-write', '--skip-git-repo-check', 'Do it'];
    const { stdout, stderr, code } = await place.onward(['run', ...quick, '--', ...command]);
    expect([code, stdout], stderr).toEqual([0, `${answer}\n`]);
    expect(stderr).toMatch(
      /^Codex 0\.171\.0 in \/\S+\/work \| permissions: workspace-write \| billing: not logged in \| /,
    );
    const [page] = (await place.json(['why'])) as [{ byHand: string }];
    const byHand = page.byHand.replace('"PROMPT"', `--skip-git-repo-check 'Go on'`);
    const ended = await place.startProgram(['sh', '-c', byHand], { cwd: place.home }).ended;
    expect(ended.code, ended.stderr).toBe(0);
    const sessions = agent.invocations().flatMap(({ session }) => session ?? []);
    expect(sessions).toHaveLength(3);
    expect(new Set(sessions).size).toBe(1);
    expect(agent.invocations().at(-1)?.cwd).toBe(place.cwd);
  });

  test('--quiet says nothing about a run that is done', async () => {
    const place = new Place();
    place.install(overloadedThenWell(1));
    const { stdout, stderr } = await place.onward(['run', '-q', ...quick, '--', ...task]);
    expect(stdout).toBe(`${answer}\n`);
    expect(stderr).toBe('');
  });

  test('--verbose tells of calls and messages', async () => {
    const place = new Place();
    place.install(healthy());
    const { stderr } = await place.onward(['run', '-v', '--', ...task]);
    expect(stderr).toMatch(/attempt 1 tool Bash \{"command":"echo one >> /);
    expect(stderr).toContain('attempt 1 says: I look at what was done.');
  });

  test('--preview prints both command lines and what is added, and starts and records nothing', async () => {
    const place = new Place();
    const agent = place.install(healthy());
    const { stdout, code } = await place.onward(['run', '--preview', '--', ...task]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^attempt 1:\n {2}claude .*--allowedTools Bash.*\n/);
    expect(stdout).toMatch(/\na later attempt:\n {2}claude .*--resume SESSION/);
    expect(stdout).toContain('\nadded by onward:\n');
    const [preview] = await place.json(['run', '--preview', '--', ...task].toSpliced(2, 0, '--json'));
    expect(preview).toMatchObject({ first: { command: expect.stringContaining('claude') }, later: {}, added: {} });
    expect(agent.invocations()).toEqual([]);
    expect(existsSync(place.state)).toBe(false);
  });

  test('takes the short form, and a wrapper of one word after --', async () => {
    const place = new Place();
    const agent = place.install(healthy());
    expect((await place.onward(['run', '--agent', 'claude', 'Do it'])).stdout).toBe(`${answer}\n`);
    expect(agent.invocations().at(-1)?.prompts).toEqual(['Do it']);
    const { stderr } = await place.onward(['run', '--agent', 'claude', '--', 'claude']);
    expect(stderr).toContain('[run/command-refused');
  });
});

describe('ls', () => {
  test('lists all runs, newest first; --here only those of this directory', async () => {
    const { place, id } = await placeWithRun();
    mkdirSync(join(place.root, 'other'));
    place.install(healthy());
    await place.onward(['run', '--', ...task], { cwd: join(place.root, 'other') });
    const all = await place.onward(['ls']);
    expect(all.stdout).toMatch(
      new RegExp(
        `^[0-9a-f]{12}  run  claude  done  1 attempt   \\S+ \\S+  -        /.*/other\n${id}  run  claude  done  2 attempts  \\S+ \\S+  nightly  /.*/work\n$`,
      ),
    );
    const here = await place.onward(['ls', '--here']);
    expect(here.stdout.split('\n')).toHaveLength(2);
    expect(await place.json(['ls', '--here'])).toEqual([
      {
        run: id,
        id,
        kind: 'run',
        name: 'nightly',
        agent: 'claude',
        state: 'done',
        live: false,
        attempts: 2,
        cwd: place.cwd,
        acceptedAt: expect.any(Number) as number,
        because: 'the agent finished with evidence',
      },
    ]);
  });

  test('says so when there are none', async () => {
    const { code, stdout, stderr } = await new Place().onward(['ls']);
    expect([code, stdout]).toEqual([0, '']);
    expect(stderr).toContain('No runs yet. Start one: onward run -- claude');
  });
});

describe('show, why and tail', () => {
  test.each([['nothing'], ['id'], ['beginning'], ['name']])('find a run by %s', async (how) => {
    const { place, id } = await placeWithRun();
    const words = { nothing: [], id: [id], beginning: [id.slice(0, 4)], name: ['nightly'] }[how] ?? [];
    const { stdout, stderr, code } = await place.onward(['show', ...words]);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toContain(`run       ${id} (nightly)\nstate     done\n`);
    expect(stdout.endsWith(`\n\n${answer}\n`)).toBe(true);
  });

  test('show has state, prompt, policy, attempts and answer for machines', async () => {
    const { place, id } = await placeWithRun();
    expect(await place.json(['show'])).toEqual([
      expect.objectContaining({
        run: id,
        state: 'done',
        prompt: 'Do it',
        answer,
        policy: expect.objectContaining({
          provenance: expect.objectContaining({ 'retry.scheduleMs': 'flag' }) as object,
        }) as object,
        attempts: [expect.objectContaining({ n: 1 }), expect.objectContaining({ n: 2, mode: 'continue' })],
      }),
    ]);
  });

  test('R23 why has class, rule, evidence, wait, cost and a command by hand that continues the same conversation', async () => {
    const { place } = await placeWithRun();
    const { stdout, code } = await place.onward(['why']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/\n {2}class {5}transient, by \S+ on category=server_error\n/);
    expect(stdout).toMatch(/\n {2}decision {2}continue: failure 1 of 2 in a row that are retried\n/);
    expect(stdout).toMatch(/\ncost: useful \d+ tokens in, \d+ out, \$[\d.]+; lost /);
    const [page] = (await place.json(['why'])) as [{ byHand: string; attempts: { class: string | null }[] }];
    expect(page.attempts.map((attempt) => attempt.class)).toEqual(['transient', null]);
    const byHand = /\nby hand: (.+)\n$/.exec(stdout)?.[1] ?? '';
    expect(page.byHand).toBe(byHand);
    // The stand-in plays only -p; everything else of the line is run as it was printed, from somewhere else.
    const agent = place.install(healthy());
    const ended = await place.startProgram(['sh', '-c', `${byHand} -p 'Go on'`], { cwd: place.home }).ended;
    expect(ended.code, ended.stderr).toBe(0);
    const [events] = [await place.json(['tail'])] as [{ type: string; data: { id?: string } }[]];
    const session = events.find(({ type }) => type === 'attempt.session')?.data.id;
    expect(agent.invocations().at(-1)).toMatchObject({ cwd: place.cwd, session });
  });

  test('tail tells what happened on standard output and ends with the status of the run', async () => {
    const { place } = await placeWithRun();
    const { stdout, stderr, code } = await place.onward(['tail']);
    expect(code).toBe(0);
    expect(stderr).toBe('');
    expect(stdout.trimEnd().split('\n').at(-1)).toBe(answer);
    expect(stdout).toContain('attempt 1 failed, transient');
    const events = (await place.json(['tail'])) as { type: string; seq: number }[];
    expect(events[0]).toMatchObject({ type: 'run.accepted', seq: 1 });
    expect(events.at(-1)).toMatchObject({ type: 'run.ended', seq: events.length });
  });

  test('tail tells the whole story of a run that rested once and went on', async () => {
    const { place, id, live } = await placeWithLiveRun();
    live.signal('SIGINT');
    expect((await live.ended).code).toBe(130);
    expect((await place.onward(['resume', id])).code).toBe(0);
    const { code } = await place.onward(['tail', id]);
    expect(code).toBe(0);
    const events = (await place.json(['tail', id])) as { type: string }[];
    expect(events.map(({ type }) => type).filter((type) => type.startsWith('run.'))).toEqual([
      'run.accepted',
      'run.paused',
      'run.resumed',
      'run.ended',
    ]);
  });

  test('tail follows a run that another process keeps going, until its end', async () => {
    const { place, id, live } = await placeWithLiveRun();
    const tail = place.start(['tail', id, '--json']);
    await until('the tail has caught up', () => tail.events().some(({ type }) => type === 'attempt.session'));
    live.signal('SIGINT');
    expect((await tail.ended).code).toBe(130);
    expect(tail.events().at(-1)).toMatchObject({ type: 'run.paused', data: { reason: 'interrupted' } });
    expect((await live.ended).code).toBe(130);
  });

  test('tail does not wait for a run that nobody keeps going', async () => {
    const { place, id, live } = await placeWithLiveRun();
    live.signal('SIGKILL');
    await live.ended;
    const { code, stderr } = await place.onward(['tail', id]);
    expect(stderr).toContain('no live process keeps this run going');
    expect(stderr).toContain(`onward resume ${id}`);
    expect(code).toBe(3);
    expect(await place.json(['ls'])).toMatchObject([{ state: 'orphaned', live: false }]);
    expect((await place.onward(['show'])).stdout).toContain(
      'state     orphaned\nbecause   the process that kept it going is gone\n',
    );
  });

  test('a Ctrl-C ends tail and leaves the run alone', async () => {
    const { place, id, live } = await placeWithLiveRun();
    const tail = place.start(['tail', id]);
    await until('it follows', () => tail.stdout().includes('attempt 1 started'));
    tail.signal('SIGINT');
    expect((await tail.ended).code).toBe(130);
    expect(await place.json(['ls'])).toMatchObject([{ state: 'running', live: true }]);
    live.signal('SIGKILL');
  });
});

describe('resume', () => {
  test('asks a person when requests would go elsewhere or another account would pay, and takes --now for an answer', async () => {
    const changes = [{ ANTHROPIC_BASE_URL: 'http://127.0.0.1:9' }, { ANTHROPIC_API_KEY: 'another-key-of-mine' }];
    for (const change of changes) {
      const { place, id, live } = await placeWithLiveRun();
      live.signal('SIGINT');
      expect((await live.ended).code).toBe(130);
      const asked = await place.onward(['resume', id], { env: { ...place.env, ...change } });
      expect(asked.stderr).toContain('run/changed');
      expect(asked.stderr).not.toContain('another-key-of-mine');
      expect(asked.code).toBe(3);
      expect((await place.onward(['resume', id, '--now'], { env: { ...place.env, ...change } })).code).toBe(0);
    }
  });

  test('takes another login for the answer where a login was asked for', async () => {
    const place = new Place();
    place.install({ attempts: [authFailure().attempts[0], healthy().attempts[0]] } as Play);
    const run = place.start(['run', ...quick, '--', ...task]);
    const id = await run.id();
    expect((await run.ended).code).toBe(3);
    expect((await place.onward(['resume', id], { env: { ...place.env, ANTHROPIC_API_KEY: 'a-new-key' } })).code).toBe(
      0,
    );
  });

  test('of a run that is over is refused, and says where to look', async () => {
    const { place, id } = await placeWithRun();
    const { code, stderr, stdout } = await place.onward(['resume']);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain('The run is over (done) and cannot be resumed. [run/finished');
    expect(stderr).toContain(`onward show ${id}`);
  });

  test('of an unknown run, and in a directory without runs, is refused', async () => {
    const place = new Place();
    const nowhere = await place.onward(['resume']);
    expect(nowhere.stderr).toContain('Nothing was started in this directory. [run/none-here');
    const unknown = await place.onward(['resume', 'ffffffffffff']);
    expect(unknown.stderr).toContain('[run/unknown at ffffffffffff]');
    expect([nowhere.code, unknown.code]).toEqual([2, 2]);
  });

  test('R73 of one orphan by two processes at once: one goes on, the other exits 7', async () => {
    const { place, id, live } = await placeWithLiveRun();
    live.signal('SIGKILL');
    await live.ended;
    const both = await Promise.all([place.onward(['resume', id]), place.onward(['resume', id])]);
    expect(
      both.map(({ code }) => code).toSorted((a, b) => Number(a) - Number(b)),
      both.map(({ stderr }) => stderr).join('\n'),
    ).toEqual([0, 7]);
    expect(place.read('effects.log')).toBe('one\n');
  });

  test('--due goes on with each run whose time has come, and with no other', async () => {
    const place = new Place();
    const past = usageLimit(Math.floor(Date.now() / 1_000) - 3_600);
    for (const play of [past, usageLimit(4_000_000_000), past]) {
      place.install(play);
      expect((await place.onward(['run', '--', ...task])).code).toBe(4);
    }
    place.install(healthy());
    const due = await place.onward(['resume', '--due', '--json']);
    expect(due.code, due.stderr).toBe(0);
    const ended = (jsonLines(due.stdout) as { type: string; run: string }[]).filter(({ type }) => type === 'run.ended');
    expect(new Set(ended.map(({ run }) => run)).size).toBe(2);
    expect((await place.json(['ls'])).map((run) => (run as { state: string }).state)).toEqual([
      'done',
      'paused: provider',
      'done',
    ]);
    const nothing = await place.onward(['resume', '--due']);
    expect([nothing.code, nothing.stderr]).toEqual([0, 'onward: no run is due\n']);
  });

  test('--due: of two processes that wake one run, one goes on and the other exits 75', async () => {
    const place = new Place();
    place.install(usageLimit(Math.floor(Date.now() / 1_000) - 3_600));
    expect((await place.onward(['run', '--', ...task])).code).toBe(4);
    const agent = place.install(neverEnds());
    const first = place.start(['resume', '--due']);
    await until('the agent works', () => agent.invocations().some(({ requests }) => requests > 0));
    const late = await place.onward(['resume', '--due']);
    expect([0, 75]).toContain(late.code);
    expect(agent.attempts()).toBe(1);
    first.signal('SIGINT');
    expect((await first.ended).code).toBe(130);
  });
});

describe('cancel', () => {
  test('ends a live run for good: its process exits 1, its agent is gone', async () => {
    const { place, id, live } = await placeWithLiveRun();
    const { code, stderr } = await place.onward(['cancel', id]);
    expect([code, stderr]).toEqual([0, `onward: ${id} cancelled, cancelled by a person\n`]);
    const ended = await live.ended;
    expect(ended.stderr).toContain('onward: cancelled: cancelled by a person');
    expect(ended.code).toBe(1);
    await place.quiet();
    const again = await place.json(['cancel', id]);
    expect(again).toEqual([{ run: id, state: 'cancelled', because: 'it was over already' }]);
  });

  test('ends a paused run and an orphaned one', async () => {
    const place = new Place();
    place.install(usageLimit(4_000_000_000));
    await place.onward(['run', '--', ...task]);
    expect(await place.json(['cancel'])).toMatchObject([{ state: 'cancelled' }]);
    expect((await place.onward(['resume'])).stderr).toContain('The run is over (cancelled)');
    const agent = place.install(neverEnds());
    const orphan = place.start(['run', '--', ...task]);
    await until('the agent works', () => agent.invocations().some(({ requests }) => requests > 0));
    orphan.signal('SIGKILL');
    await orphan.ended;
    expect((await place.onward(['cancel'])).code).toBe(0);
    await place.quiet();
  });
});

describe('rm and prune', () => {
  test('erase a run with its spools; one that could go on must be cancelled first', async () => {
    const { place, id } = await placeWithRun();
    expect(statSync(join(place.state, 'attempts', id)).isDirectory()).toBe(true);
    const gone = await place.onward(['rm', id.slice(0, 5)]);
    expect([gone.code, gone.stdout, gone.stderr]).toEqual([0, '', 'onward: erased 1 run\n']);
    expect(existsSync(join(place.state, 'attempts', id))).toBe(false);
    expect((await place.onward(['ls'])).stdout).toBe('');
    place.install(usageLimit(4_000_000_000));
    await place.onward(['run', '--name', 'rests', '--', ...task]);
    const refused = await place.onward(['rm', 'rests']);
    expect(refused.code).toBe(2);
    expect(refused.stderr).toMatch(/could still be resumed\. \[run\/not-over at run:\w+\]\n {2}onward cancel \w+\n/);
  });

  test('a live run is not erased', async () => {
    const { place, id, live } = await placeWithLiveRun();
    expect((await place.onward(['rm', id])).code).toBe(7);
    live.signal('SIGKILL');
  });

  test('prune erases what was over long ago, and keeps what could still go on', async () => {
    const { place, id } = await placeWithRun();
    expect(await place.json(['prune', '--older-than', '30d'])).toEqual([{ erased: [], kept: 0 }]);
    place.install(usageLimit(4_000_000_000));
    await place.onward(['run', '--', ...task]);
    const { stderr, code } = await place.onward(['prune', '--older-than', '0']);
    expect([code, stderr]).toEqual([0, 'onward: erased 1 run; kept 1 that could still go on (onward ls)\n']);
    expect((await place.onward(['show', id])).code).toBe(2);
  });
});

describe('doctor', () => {
  test('says what is there, with status 0 where nothing needed is missing', async () => {
    const place = new Place();
    place.install(healthy());
    const { stdout, code } = await place.onward(['doctor']);
    expect(code, stdout).toBe(0);
    for (const line of [
      /^ok +platform +Node /m,
      /^ok +state folder +/m,
      /^ok +journal +.*journal\.db, 0 runs$/m,
      /^ok +guard +/m,
    ])
      expect(stdout).toMatch(line);
    expect(stdout).toMatch(/^ok +Claude Code +2\.1\.197 .*not logged in/m);
    expect(stdout).toMatch(/^note +Codex +not found/m);
    const [findings] = (await place.json(['doctor'])) as [{ what: string; state: string }[]];
    expect(findings.map(({ state }) => state)).toEqual(expect.arrayContaining(['ok', 'note']));
  });

  test('exits 2 when something needed cannot be had', async () => {
    const place = new Place();
    const { stdout, code } = await place.onward(['doctor', '--journal', place.cwd]);
    expect(stdout).toMatch(/^wrong +journal +.* is a folder/m);
    expect(code).toBe(2);
  });
});
