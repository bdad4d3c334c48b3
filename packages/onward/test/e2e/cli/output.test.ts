import { spawnSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { failsThenWell, healthy, overloadedThenWell, type Play } from '../../../src/lab/index.ts';
import { BIN, jsonLines, Place } from './support/place.ts';
import { until } from './support/until.ts';

const task = ['claude', '-p', 'Do it', '--allowedTools', 'Bash'];
const quick = ['--schedule', '20ms,20ms'];
const answer = 'The line is in effects.log.';
// oxlint-disable-next-line no-control-regex -- escape sequences are the subject
const escape = /[\u001B\r]/;

/** Says things that would steer a terminal. */
const steering: Play = {
  attempts: [
    {
      steps: [
        { do: 'request' },
        { do: 'text', text: 'I clear\u001B[2J your screen\u001B]0;and title\u0007' },
        { do: 'answer', text: 'Done.\u001B[31m' },
      ],
    },
  ],
};

/** Whether there is a `script` that can give a command a terminal, as that of util-linux does. */
const hasScript = spawnSync('script', ['-qfec', 'true', '/dev/null']).status === 0;

/** Runs a line of a shell in a terminal, whose output is then on standard output. */
function inTerminal(
  place: Place,
  line: string,
  env: Readonly<Record<string, string>> = {},
): ReturnType<Place['start']> {
  return place.startProgram(['script', '-qfec', line, '/dev/null'], {
    env: { TERM: 'xterm', SHELL: '/bin/sh', ...env },
  });
}

const onward = `'${process.execPath}' '${BIN}'`;

describe('without a terminal', () => {
  test.each([
    ['nothing else said', {}, false],
    ['NO_COLOR', { NO_COLOR: '1' }, false],
    ['NO_COLOR against FORCE_COLOR', { NO_COLOR: '1', FORCE_COLOR: '0' }, false],
    ['FORCE_COLOR', { FORCE_COLOR: '1' }, true],
  ])('there are no colours and nothing is redrawn, unless they are forced (%s)', async (_what, env, colored) => {
    const place = new Place();
    place.install(overloadedThenWell(1));
    const { stdout, stderr } = await place.onward(['run', ...quick, '--', ...task], { env });
    expect(stdout).toBe(`${answer}\n`);
    expect(escape.test(stderr), stderr).toBe(colored);
    expect(stderr).not.toContain('\r');
    expect(stderr).not.toContain('\u001B[2K');
    expect(stderr.includes('\u001B[33mtransient\u001B[39m')).toBe(colored);
  });

  test('what an agent says never steers the terminal that shows it; the answer in a pipe is as the agent gave it', async () => {
    const place = new Place();
    place.install(steering);
    const { stdout, stderr } = await place.onward(['run', '-v', '--', ...task]);
    expect(stderr).toContain('says: I clear your screen');
    expect(stderr).not.toMatch(escape);
    expect(stdout).toBe('Done.\u001B[31m\n');
  });

  test('R142 R45 each failure is one line within a second: class, evidence, what happens and when', async () => {
    const place = new Place();
    place.install(failsThenWell('unreachable', 2));
    const run = place.start(['run', '--schedule', '400ms,400ms', '--json', '--', ...task]);
    const seen: number[] = [];
    const failures = (): readonly string[] => run.stderr().match(/^.* failed, .*\n/gm) ?? [];
    await until('two failures were told', () => {
      while (seen.length < failures().length) seen.push(Date.now());
      return seen.length === 2;
    });
    expect((await run.ended).code).toBe(0);
    const failed = run.events().filter(({ type }) => type === 'attempt.failed');
    expect(failed).toHaveLength(2);
    for (const [index, { at }] of failed.entries()) expect((seen[index] ?? Infinity) - at).toBeLessThan(1_000);
    for (const line of failures())
      expect(line).toMatch(
        /^\d\d:\d\d:\d\d attempt \d failed, transient \(\S+\): API Error: Unable to connect to API \(ConnectionRefused\) -> next attempt in \d+ ms, at \d\d:\d\d:\d\d \(failure \d of 2 in a row that are retried\)\n$/,
      );
  });
});

describe.skipIf(!hasScript)('on a terminal (skipped where no util-linux `script` is installed)', () => {
  test('the wait counts down in one line that is redrawn, and colours are there', async () => {
    const place = new Place();
    place.install(overloadedThenWell(1));
    const { stdout, code } = await inTerminal(
      place,
      `${onward} run --schedule 2500ms -- claude -p 'Do it' --allowedTools Bash`,
    ).ended;
    expect(code, stdout).toBe(0);
    expect(stdout).toContain('\u001B[33mtransient\u001B[39m');
    const redrawn = stdout.split('\r\u001B[2K').map((part) => part.trim());
    expect(redrawn.slice(1, 3)).toEqual(['next attempt in 3 s', 'next attempt in 2 s']);
    expect(redrawn.at(-1)).toContain('attempt 2 started, continuing the same conversation');
    expect(stdout.trimEnd().endsWith(answer)).toBe(true);
  });

  test.each([
    ['NO_COLOR takes the colours and leaves the countdown', { NO_COLOR: '1' }, true],
    ['TERM=dumb takes both', { TERM: 'dumb' }, false],
  ])('%s', async (_what, env, countsDown) => {
    const place = new Place();
    place.install(overloadedThenWell(1));
    const line = `${onward} run --schedule 1200ms -- claude -p 'Do it' --allowedTools Bash`;
    const { stdout, code } = await inTerminal(place, line, env).ended;
    expect(code).toBe(0);
    expect(stdout).not.toContain('\u001B[33m');
    expect(stdout.includes('\u001B[2K')).toBe(countsDown);
  });

  test('an answer is shown without the escape sequences that the agent put into it', async () => {
    const place = new Place();
    place.install(steering);
    const { stdout } = await inTerminal(place, `${onward} run -q -- claude -p 'Do it'`).ended;
    expect(stdout).toBe('Done.\r\n');
  });

  test('a Ctrl-C typed there ends the run cleanly', async () => {
    const place = new Place();
    place.install(overloadedThenWell(1));
    const run = place.startProgram(
      ['script', '-qfec', `${onward} run --schedule 10m -- claude -p 'Do it' --allowedTools Bash`, '/dev/null'],
      { env: { TERM: 'xterm', SHELL: '/bin/sh' }, stdio: ['pipe', 'pipe', 'pipe'] },
    );
    await until('it waits', () => run.stdout().includes('next attempt in'));
    run.child.stdin?.write('\u0003');
    const { code, stdout } = await run.ended;
    expect(stdout).toContain('onward: SIGINT, ending the attempt and keeping a checkpoint');
    expect(code, stdout).toBe(130);
  });
});

describe('a reader of standard output', () => {
  test('that goes away after one line (| head -1) changes nothing about the run', async () => {
    const place = new Place();
    place.install(overloadedThenWell(1));
    const line = `${onward} run --json ${quick.join(' ')} -- claude -p 'Do it' --allowedTools Bash | head -1; echo "status \${PIPESTATUS[0]}"`;
    const { stdout, stderr } = await place.startProgram(['bash', '-c', line]).ended;
    expect(stdout).toMatch(/^\{"v":1,[^\n]*"type":"run\.accepted"[^\n]*\}\nstatus 0\n$/);
    expect(stderr).toContain('attempt 2 finished with evidence');
    expect(stderr).not.toMatch(/EPIPE|node:|defect/);
    expect(place.read('effects.log')).toBe('one\n');
  });

  test('of a list or of tail may go away too', async () => {
    const place = new Place();
    place.install(healthy());
    for (let count = 0; count < 3; count++) await place.onward(['run', '--', ...task]);
    for (const verb of ['ls', 'tail --json', 'why']) {
      const line = `${onward} ${verb} | head -1 | wc -l; echo "status \${PIPESTATUS[0]}"`;
      const { stdout, stderr } = await place.startProgram(['bash', '-c', line]).ended;
      expect([stdout, stderr]).toEqual([`1\nstatus 0\n`, '']);
    }
  });

  test('that reads nothing for a while holds up neither the run nor an event', async () => {
    const place = new Place();
    const texts: Play = {
      attempts: [
        {
          steps: [
            { do: 'request' },
            { do: 'repeat', times: 1_000, steps: [{ do: 'text', text: 'x'.repeat(1_000) }] },
            { do: 'answer', text: 'Done.' },
          ],
        },
      ],
    };
    place.install(texts);
    const slow = '(until [ -e go ]; do sleep 0.05; done; cat)';
    const line = `${onward} run -q --json -- claude -p 'Do it' | ${slow}; echo "status \${PIPESTATUS[0]}"`;
    const run = place.startProgram(['bash', '-c', line]);
    await until('the run is done', async () => {
      const [found] = (await place.json(['ls'])) as { state: string }[];
      return found?.state === 'done';
    });
    writeFileSync(join(place.cwd, 'go'), '');
    const lines = (await run.ended).stdout.trimEnd().split('\n');
    expect(lines.at(-1)).toBe('status 0');
    const events = jsonLines(lines.slice(0, -1).join('\n')) as { seq: number | null }[];
    const recorded = events.flatMap(({ seq }) => (seq === null ? [] : [seq]));
    expect(recorded.length).toBeGreaterThan(1_000);
    expect(recorded).toEqual(recorded.map((_, index) => index + 1));
  });

  test.skipIf(!existsSync('/dev/full'))(
    'that cannot take the answer is told on standard error, and the status is not 0',
    async () => {
      const place = new Place();
      place.install(healthy());
      const line = `${onward} run -q -- claude -p 'Do it' --allowedTools Bash > /dev/full`;
      const { code, stderr } = await place.startProgram(['sh', '-c', line]).ended;
      expect(stderr).toBe('onward: standard output cannot be written (ENOSPC); what is on record stays: onward show\n');
      expect(code).toBe(2);
      expect((await place.onward(['show'])).stdout).toContain(answer);
    },
  );
});
