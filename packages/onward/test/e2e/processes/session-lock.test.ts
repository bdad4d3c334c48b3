import { describe, expect, test } from 'vitest';
import { tryLockSession } from '../../../src/processes/index.ts';
import { makeFolder, until } from '../../unit/processes/support.ts';
import { startProgram } from './support.ts';

describe('R73 R75 the lock of one session between processes', () => {
  test('names the holder, and is freed by kill -9 of it', async () => {
    const folder = await makeFolder();
    const holder = startProgram('lock-holder', [folder, 's']);
    expect(await holder.nextLine()).toBe('locked');
    expect(await tryLockSession({ folder, cli: 'claude', sessionId: 's' })).toMatchObject({
      kind: 'held',
      by: { pid: holder.pid },
    });
    holder.killHard();
    await holder.exited;
    const result = await tryLockSession({ folder, cli: 'claude', sessionId: 's' });
    expect(result.kind).toBe('locked');
    expect(await startProgram('lock-holder', [folder, 's']).nextLine()).toBe('held');
  });

  test('of many processes that ask at once exactly one gets it', async () => {
    const folder = await makeFolder();
    const racers = Array.from({ length: 6 }, () => startProgram('lock-holder', [folder, 's']));
    const answers = await Promise.all(racers.map((racer) => racer.nextLine()));
    expect(answers.filter((answer) => answer === 'locked')).toHaveLength(1);
    expect(answers.filter((answer) => answer === 'held')).toHaveLength(5);
    for (const racer of racers) racer.killHard();
    await until(
      'it is free',
      async () => (await tryLockSession({ folder, cli: 'claude', sessionId: 's' })).kind === 'locked',
    );
  });
});
