import { expect, onTestFinished, test } from 'vitest';
import { identify, startLastingGuard, type Guard } from '../../../src/processes/index.ts';
import { makeMarker, until } from './support.ts';

async function guarded(): Promise<Guard> {
  const started = await startLastingGuard({ marker: makeMarker() });
  if (!started.started) throw new Error(started.fault.sentence);
  onTestFinished(() => started.guard.release());
  return started.guard;
}

async function killed(guard: Guard): Promise<void> {
  const { pid } = guard.identity;
  process.kill(pid, 'SIGKILL');
  await until('there is another one', () => guard.identity.pid !== pid);
}

test('a guard that was killed is replaced, and the new one goes when it is released', async () => {
  const guard = await guarded();
  await killed(guard);
  const { pid } = guard.identity;
  expect(identify(pid)).toEqual(guard.identity);
  await guard.release();
  await guard.exited;
  expect(identify(pid)).toBeUndefined();
});

test('guards are replaced five times, then the attempt is said to be unguarded', async () => {
  const guard = await guarded();
  for (let i = 0; i < 5; i++) await killed(guard);
  process.kill(guard.identity.pid, 'SIGKILL');
  await guard.exited;
  expect(identify(guard.identity.pid)).toBeUndefined();
  await guard.release();
});

test('a guard that is killed in the moment of its release has no successor', async () => {
  const guard = await guarded();
  const { pid } = guard.identity;
  process.kill(pid, 'SIGKILL');
  await guard.release();
  await guard.exited;
  expect(guard.identity.pid).toBe(pid);
});
