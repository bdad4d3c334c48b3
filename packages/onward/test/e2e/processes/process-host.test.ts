import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { systemClock, systemHash, systemIds } from '../../../src/processes/index.ts';
import { createProcessHost } from '../../../src/supervisor/index.ts';
import { countMarked, makeFolder, makeMarker, plainEnv, until } from '../../unit/processes/support.ts';

/** An attempt of the real host, and how long it slept by its clock. */
async function startAttempt(script: string) {
  const marker = makeMarker();
  const folder = await makeFolder();
  const sleeps: number[] = [];
  const clock = {
    ...systemClock,
    sleep: (...args: Parameters<typeof systemClock.sleep>) => (sleeps.push(args[0]), systemClock.sleep(...args)),
  };
  const host = createProcessHost({
    stateDir: join(folder, 'state'),
    clock,
    hash: systemHash,
    ids: systemIds,
    env: plainEnv,
  });
  const launch = {
    argv: ['sh', '-c', script],
    env: {},
    input: { lines: [], keepOpen: true },
    ladder: [],
    added: [],
  } as const;
  const started = await host.start({ launch, cwd: folder, env: plainEnv, marker });
  if (!started.ok) throw new Error('it was not started');
  onTestFinished(async () => void (await started.attempt.finish(5_000)));
  return { attempt: started.attempt, marker, sleeps };
}

const never = new Promise<void>(() => undefined);

describe('finishing an attempt', () => {
  test('that was stopped counts what its ladder ended, and does not look again', async () => {
    const { attempt, marker, sleeps } = await startAttempt('sleep 100 & sleep 100; :');
    await until('all of it runs', () => countMarked(marker) === 3);
    await attempt.stop([], never);
    sleeps.length = 0;
    expect(await attempt.finish(5_000)).toEqual({ gone: true, killed: 3 });
    expect(sleeps).toEqual([]);
  });

  test('while it is being stopped waits for the sweep that is under way', async () => {
    const { attempt, marker } = await startAttempt('sleep 100 & sleep 100; :');
    await until('all of it runs', () => countMarked(marker) === 3);
    void attempt.stop([], never);
    expect(await attempt.finish(5_000)).toEqual({ gone: true, killed: 3 });
    expect(countMarked(marker)).toBe(0);
  });

  test('that ended by itself ends what it left', async () => {
    const { attempt, marker } = await startAttempt('setsid sleep 100 & exit 0');
    await attempt.exited;
    expect(await attempt.finish(5_000)).toMatchObject({ gone: true, killed: 1 });
    expect(countMarked(marker)).toBe(0);
  });
});
