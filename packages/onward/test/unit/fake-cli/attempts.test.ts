import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { healthy, type Play } from '../../../src/lab/fake-cli/index.ts';
import { PlayState } from '../../../src/lab/fake-cli/record.ts';
import { Bench, headless } from './run-fake.ts';

const numbered = (count: number, after?: 'repeat-last' | 'refuse'): Play => ({
  attempts: Array.from({ length: count }, (_, index) => ({ steps: [{ do: 'answer', text: `attempt ${index + 1}` }] })),
  ...(after === undefined ? {} : { after }),
});
const args = [...headless, 'go'];
const result = (run: { lines: () => { [name: string]: unknown }[] }): unknown => run.lines().at(-1)?.['result'];

let bench: Bench;
beforeEach(() => {
  bench = new Bench();
});
afterEach(() => bench.clear());

describe('the attempts of a play', () => {
  it('are one for each process, in order, and the last one repeats', async () => {
    const cli = bench.install(numbered(2));
    const said = [];
    for (let run = 0; run < 3; run++) said.push(result(await bench.run(cli, args)));
    expect(said).toEqual(['attempt 1', 'attempt 2', 'attempt 2']);
    expect(cli.attempts()).toBe(3);
  });

  it('end with exit 70 and the place where the play says that no more may come', async () => {
    const cli = bench.install(numbered(1, 'refuse'));
    await bench.run(cli, args);
    const run = await bench.run(cli, args);
    expect([run.code, run.out()]).toEqual([70, '']);
    expect(run.err()).toBe('fake-cli: play/over: attempts[1]: the play has only 1.\n');
  });

  it('are shared out between processes that start at the same moment: nobody gets the same', async () => {
    const cli = bench.install(numbered(8));
    const runs = await Promise.all(Array.from({ length: 8 }, () => bench.run(cli, args)));
    expect(new Set(runs.map(result))).toEqual(new Set(Array.from({ length: 8 }, (_, index) => `attempt ${index + 1}`)));
    expect(new Set(cli.invocations().map(({ attempt }) => attempt))).toEqual(new Set([1, 2, 3, 4, 5, 6, 7, 8]));
  });

  it('skip a number that another process has just taken', () => {
    const state = new PlayState(bench.path('state'));
    writeFileSync(bench.path('state/attempts/2'), 'another process');
    expect([state.claimAttempt(), state.attempts()]).toEqual([3, 2]);
    expect(readFileSync(bench.path('state/attempts/2'), 'utf8')).toBe('another process');
  });

  it('begin anew when it is installed again', async () => {
    await bench.run(bench.install(numbered(2)), args);
    const again = bench.install(numbered(2));
    expect(result(await bench.run(again, args))).toBe('attempt 1');
    expect(again.invocations()).toHaveLength(1);
  });

  it('can change under way, and the counter goes on', async () => {
    const cli = bench.install(numbered(1));
    await bench.run(cli, args);
    cli.setPlay({ attempts: [{ steps: [] }, { steps: [{ do: 'answer', text: 'changed' }] }] });
    expect(result(await bench.run(cli, args))).toBe('changed');
  });

  it('are counted for each program of a folder by itself', async () => {
    const [claude, codex] = [bench.install(numbered(2)), bench.install(numbered(2), 'codex')];
    await bench.run(claude, args);
    expect((await bench.run(codex, ['exec', '--json', 'go'])).out()).toContain('attempt 1');
    expect([claude.attempts(), codex.attempts()]).toEqual([1, 1]);
  });
});

describe('the record of invocations', () => {
  it('holds arguments, input, prompts, requests, tools and exit, and of the environment only names', async () => {
    const cli = bench.install({ ...healthy(), recordEnv: ['ONWARD_ATTEMPT'] });
    await bench.run(cli, args, { input: 'piped', env: { ONWARD_ATTEMPT: 'run-1', SECRET_TOKEN: 'canary-4711' } });
    const [invocation] = cli.invocations();
    expect(invocation).toMatchObject({
      argv: args,
      cwd: bench.cwd,
      env: { ONWARD_ATTEMPT: 'run-1' },
      attempt: 1,
      stdin: 'piped',
      prompts: ['go\npiped'],
      requests: 2,
      signals: [],
      exit: 0,
    });
    expect(invocation?.tools).toHaveLength(1);
    expect(invocation?.envNames).toContain('SECRET_TOKEN');
    expect(JSON.stringify(cli.invocations())).not.toContain('canary-4711');
  });

  it('holds signals, and no exit for a process that was killed', async () => {
    const cli = bench.install({ attempts: [{ steps: [{ do: 'hang' }] }] });
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      const run = bench.start(cli, args);
      run.child.stdin.end();
      await run.line((line) => line['subtype'] === 'init');
      run.child.kill(signal);
      await run.end();
    }
    expect(cli.invocations().map(({ signals }) => signals)).toEqual([['SIGTERM'], []]);
    expect(cli.invocations().map(({ exit }) => exit)).toEqual([undefined, undefined]);
  });
});

describe('the installed program', () => {
  it('is found by its name in PATH, also in a folder with odd characters', () => {
    const cli = bench.install(healthy(), 'claude', { dir: bench.path("it's a $HOME dir") });
    const found = spawnSync('claude', ['--version'], {
      env: { PATH: `${cli.dir}:${process.env['PATH'] ?? ''}` },
      encoding: 'utf8',
    });
    expect(found.stdout).toBe('2.1.197 (Claude Code)\n');
  });

  it('says which file is no play when that was spoilt', async () => {
    const cli = bench.install(healthy());
    writeFileSync(bench.path('bin/claude.play.json'), '{');
    const run = await bench.run(cli, args);
    expect(run.code).toBe(70);
    expect(run.err()).toMatch(/^fake-cli: play\/not-json: .*claude\.play\.json: is not JSON\.\n$/);
  });
});
