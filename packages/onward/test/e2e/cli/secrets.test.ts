import { lstatSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { neverEnds, overloadedAfterTool, overloadedThenWell, type Play } from '../../../src/lab/index.ts';
import { allBelow } from './support/files.ts';
import { BIN, type Ended, Place } from './support/place.ts';
import { until } from './support/until.ts';

const variable = 'canary-a1b2c3d4e5f6-of-a-variable';
const argument = 'sk-ant-api03-canaryOfAnArgument0123456789';
const plain = 'canary9of8a7plain6argument';
const env = { FAKE_API_KEY: variable, ANTHROPIC_API_KEY: `${variable}-2`, MY_SESSION_TOKEN: `${variable}-3` };
const canaries = ['canary-a1b2c3d4e5f6', 'canaryOfAnArgument', plain];

const quick = ['--schedule', '20ms,20ms'];
const settings = JSON.stringify({ env: { X_API_KEY: argument, OTHER_PASSWORD: plain } });
const task = ['claude', '-p', 'Do it', '--allowedTools', 'Bash', '--settings', settings];

/** Files below the state folder that hold a canary, and which. */
function leaks(place: Place): readonly string[] {
  return allBelow(place.state).flatMap((path) => {
    const named = canaries.filter((canary) => path.includes(canary)).map((canary) => `${path} is named ${canary}`);
    if (!lstatSync(path).isFile()) return named;
    const bytes = readFileSync(path);
    return [
      ...named,
      ...canaries.filter((canary) => bytes.includes(canary)).map((canary) => `${path} holds ${canary}`),
    ];
  });
}

/** Nothing that was printed has a canary. */
function checkPrinted(...all: readonly Ended[]): void {
  for (const { stdout, stderr } of all)
    for (const canary of canaries) expect(`${stdout}${stderr}`).not.toContain(canary);
}

/** Everything that looks at a run, with and without `--json`. */
async function lookAtAll(place: Place): Promise<readonly Ended[]> {
  const verbs = [['ls'], ['show'], ['why'], ['tail', '-v'], ['doctor']];
  const all: Ended[] = [];
  for (const verb of verbs)
    for (const json of [[], ['--json']]) all.push(await place.onward([...verb, ...json], { env }));
  return all;
}

describe('a credential', () => {
  test('in the environment or among the arguments is in no byte below the state folder, and nothing printed has it', async () => {
    const place = new Place();
    const agent = place.install(overloadedAfterTool());
    const ended = await place.onward(['run', '-v', ...quick, '--', ...task], { env });
    expect(ended.code, ended.stderr).toBe(0);
    // It reached the agent all the same, on both attempts.
    const starts = agent.invocations().filter(({ session }) => session !== undefined);
    expect(starts.map(({ argv }) => argv.some((word) => word.includes(argument)))).toEqual([true, true]);
    expect(leaks(place)).toEqual([]);
    checkPrinted(ended, ...(await lookAtAll(place)));
  });

  test('is not there while the run is live either: write-ahead log, spools, locks and owner files included', async () => {
    const place = new Place();
    const agent = place.install(neverEnds());
    const run = place.start(['run', '--json', ...quick, '--', ...task], { env });
    await until('the agent works', () => agent.invocations().some(({ requests }) => requests > 0));
    const files = allBelow(place.state).map((path) => path.slice(place.state.length));
    for (const part of ['/journal.db-wal', '/journal.db-shm', '/attempts/', '/locks/'])
      expect(files.join('\n')).toContain(part);
    expect(files.some((path) => path.endsWith('.lock')) && files.some((path) => path.endsWith('.owner'))).toBe(true);
    expect(leaks(place)).toEqual([]);
    run.signal('SIGINT');
    checkPrinted(await run.ended);
    expect(leaks(place)).toEqual([]);
  });

  test('among the arguments of a run means that another process cannot go on with it, and says so', async () => {
    const place = new Place();
    const agent = place.install(neverEnds());
    const run = place.start(['run', ...quick, '--', ...task], { env });
    await until('the agent works', () => agent.invocations().some(({ requests }) => requests > 0));
    run.signal('SIGINT');
    await run.ended;
    const resumed = await place.onward(['resume'], { env });
    expect(resumed.stderr).toContain(
      'had a credential among its arguments, which is not on record. [run/credential-missing',
    );
    expect(resumed.code).toBe(2);
    checkPrinted(resumed);
  });

  test('in a preview, in an error or in a refused argument is not printed', async () => {
    const place = new Place();
    place.install(overloadedThenWell(1));
    checkPrinted(
      await place.onward(['run', '--preview', '--', ...task], { env }),
      await place.onward(['run', '--preview', '--json', '--', ...task], { env }),
      await place.onward(['show', argument], { env }),
      await place.onward(['run', '--', argument, 'x'], { env }),
      await place.onward(['run', '--name', `${variable}\n`, '--', 'claude'], { env }),
      await place.onward(['run', '--bogus', '--', ...task], { env }),
      await place.onward([variable], { env }),
    );
    expect((await place.onward(['ls'])).stdout).toBe('');
  });

  test('that the agent prints stays in its own words on record, and is cut out of what Onward prints', async () => {
    const place = new Place();
    const telling: Play = {
      attempts: [{ steps: [{ do: 'request' }, { do: 'answer', text: `The key is ${variable}, and ${argument}.` }] }],
    };
    place.install(telling);
    const ended = await place.onward(['run', '-v', '--', 'claude', '-p', 'Tell me'], { env });
    expect(ended.stdout).toBe('The key is [redacted], and [redacted].\n');
    checkPrinted(ended, ...(await lookAtAll(place)));
    expect(leaks(place).every((leak) => /journal\.db|attempts/.test(leak))).toBe(true);
  });
});

describe('what Onward writes', () => {
  test('is for its user only: folders 0700, files 0600, whatever the umask', async () => {
    const place = new Place();
    const agent = place.install(neverEnds());
    const argv = ['sh', '-c', 'umask 0000; exec "$0" "$@"', process.execPath, BIN, 'run', ...quick, '--', ...task];
    const run = place.startProgram(argv);
    await until('the agent works', () => agent.invocations().some(({ requests }) => requests > 0));
    run.signal('SIGTERM');
    await run.ended;
    place.install(overloadedAfterTool());
    await place.startProgram([...argv.slice(0, 5), 'run', ...quick, '--', ...task.slice(0, 5)]).ended;
    const modes = allBelow(place.state).map((path) => {
      const stat = lstatSync(path);
      return `${stat.isDirectory() ? 'folder' : 'file'} ${(stat.mode & 0o777).toString(8)} ${path}`;
    });
    expect(modes.some((line) => line.endsWith(join('2', 'session-before')))).toBe(true);
    expect(modes.filter((line) => !/^(folder 700|file 600) /.test(line))).toEqual([]);
  });
});
