import { describe, expect, test } from 'vitest';
import { identify, systemClock } from '../../../src/processes/index.ts';
import { runCommand, type CommandOptions } from '../../../src/processes/run-command.ts';
import { makeFolder, makeMarker, countMarked, plainEnv, readText, until } from './support.ts';

const nothing = { code: undefined, stdout: '', stderr: '' };
function shell(script: string, rest: Partial<CommandOptions> = {}): ReturnType<typeof runCommand> {
  return runCommand({
    argv: ['sh', '-c', script],
    cwd: '/',
    env: plainEnv,
    clock: systemClock,
    timeoutMs: 60_000,
    ...rest,
  });
}

describe('a short command', () => {
  test('gives its exit code and all it wrote, however much and whatever its letters take', async () => {
    const text = 'é'.repeat(500_000);
    const script = `i=0; while [ $i -lt 50 ]; do printf '${'é'.repeat(10_000)}'; i=$((i + 1)); done; echo no >&2; exit 3`;
    expect(await shell(script)).toEqual({ code: 3, stdout: text, stderr: 'no\n' });
  });

  test('reads nothing, and sees the given environment alone', async () => {
    const env = { ...plainEnv, MARK: 'here' };
    expect(await shell('cat; echo $MARK-$HOME', { env })).toMatchObject({ code: 0, stdout: 'here-\n' });
  });

  test('that cannot be started is a result without a code: missing, a NUL, a missing directory, no name', async () => {
    const cases: Partial<CommandOptions>[] = [
      { argv: ['no-such-program-anywhere'] },
      { argv: ['sh', 'a\0b'] },
      { argv: [''] },
      { argv: ['true', 'x'.repeat(200_000)] },
      { env: { ...plainEnv, MARK: 'a\0b' } },
      { cwd: '/no/such/directory' },
    ];
    for (const rest of cases) expect(await shell('true', rest)).toEqual(nothing);
  });

  test('that was ended by a signal has no code', async () => {
    expect(await shell('echo a; kill -9 $$')).toEqual({ code: undefined, stdout: 'a\n', stderr: '' });
  });

  test('that runs too long is killed with all of its group: it may be a wrapper of the one that hangs', async () => {
    const marker = makeMarker();
    const path = `${await makeFolder()}/pids`;
    const script = `echo early; sh -c 'echo $$ >>${path}; sleep 100' & echo $$ >>${path}; wait`;
    const env = { ...plainEnv, ONWARD_ATTEMPT: marker };
    const time = Promise.withResolvers<void>();
    const waits: number[] = [];
    const clock = { ...systemClock, sleep: (ms: number) => (waits.push(ms), time.promise) };
    const asked = shell(script, { env, clock, timeoutMs: 20_000 });
    await until('both run', async () => (await readText(path)).trim().split('\n').length === 2);
    time.resolve();
    expect(waits).toEqual([20_000]);
    expect(await asked).toEqual({ code: undefined, stdout: 'early\n', stderr: '', ended: 'time' });
    await until('nothing of it lives', () => countMarked(marker) === 0);
  });

  test('that says too much is ended, and what fitted is kept', async () => {
    const marker = makeMarker();
    const env = { ...plainEnv, ONWARD_ATTEMPT: marker };
    const got = await shell('while :; do echo y; done', { env, maxBytes: 200_000 });
    expect(got.code).toBeUndefined();
    expect(got.stdout.length).toBeLessThanOrEqual(200_000);
    expect(got.stdout).toMatch(/^(y\n)+y?$/);
    await until('nothing of it lives', () => countMarked(marker) === 0);
  });

  test('that says too much may go on instead: the beginning and the end of it are kept', async () => {
    const script = `echo first; i=0; while [ $i -lt 20 ]; do printf '%01000d\\n' $i; i=$((i + 1)); done; echo last; exit 4`;
    const got = await shell(script, { maxBytes: 2_000, dropMiddle: true });
    expect(got).toMatchObject({ code: 4, stderr: '' });
    expect(got.stdout).toMatch(/^first\n0+/);
    expect(got.stdout).toMatch(/\n\[\.\.\. 18031 bytes left out \.\.\.\]\n/);
    expect(got.stdout).toMatch(/19\nlast\n$/);
    expect(Buffer.byteLength(got.stdout)).toBeLessThan(2_100);
  });

  test('is killed with all of its group when its signal aborts, also when that was before', async () => {
    const marker = makeMarker();
    const env = { ...plainEnv, ONWARD_ATTEMPT: marker };
    const stop = new AbortController();
    const asked = shell(`sh -c 'exec sleep 100' & wait`, { env, signal: stop.signal });
    await until('both run', () => countMarked(marker) === 2);
    stop.abort();
    expect(await asked).toEqual({ code: undefined, stdout: '', stderr: '', ended: 'signal' });
    expect(await shell('exec sleep 100', { env, signal: stop.signal })).toMatchObject({ ended: 'signal' });
    await until('nothing of it lives', () => countMarked(marker) === 0);
  });

  test('that leaves something in the background with its output open is done at its exit; that one lives on', async () => {
    makeMarker();
    const got = await shell('sleep 100 & echo $!');
    expect(got).toMatchObject({ code: 0, stderr: '' });
    const left = Number(got.stdout);
    expect(identify(left)).toBeDefined();
    process.kill(left, 'SIGKILL');
  });

  test('is killed when this process exits, and is of no interest to it once it is done', async () => {
    const marker = makeMarker();
    const before = process.listenerCount('exit');
    const asked = shell('exec sleep 100', { env: { ...plainEnv, ONWARD_ATTEMPT: marker } });
    await until('it runs', () => countMarked(marker) === 1);
    expect(process.listenerCount('exit')).toBe(before + 1);
    const listener = process.listeners('exit').at(-1) as () => void;
    listener();
    expect(await asked).toEqual(nothing);
    expect(process.listenerCount('exit')).toBe(before);
  });
});
