import { describe, expect, test } from 'vitest';
import { until } from '../../unit/processes/support.ts';
import type { Strike } from './fixtures/client.ts';
import { makeScene, type Report, type Scene } from './support/scene.ts';

const believed = { lookup: true, settleMs: 0, leaseMs: 300 };

/** Stops a client where it is told, lets another take over, and wakes the first. */
async function takeOver(scene: Scene, strike: Strike): Promise<{ readonly young: Report; readonly zombie: Report }> {
  const old = scene.start({ strike, signal: 'SIGSTOP' });
  await until('the first has stopped behind its intent', async () => (await scene.events()).length > 0);
  const young = await until('the lease of the stopped one has run out', async () => {
    const report = await scene.run();
    return report.outcome?.kind === 'in-flight' ? undefined : report;
  });
  old.kill('SIGCONT');
  return { young, zombie: await old.report };
}

describe('a client that is stopped, and woken after another has taken over', () => {
  test('O64 records no receipt: it is kept as evidence', async () => {
    const scene = await makeScene({ dedupes: false }, believed);
    const { young, zombie } = await takeOver(scene, { call: 'answered' });
    expect(young.outcome).toMatchObject({ kind: 'accepted', receipt: { receipt: 'receipt-1' }, repeated: true });
    expect(zombie.outcome, zombie.stderr).toMatchObject({ kind: 'refused', because: 'stale-fence' });
    expect((await scene.events()).map(({ type }) => type)).toEqual([
      'effect.intended',
      'effect.unknown',
      'effect.accepted',
      'effect.receipt-late',
    ]);
    expect(await scene.acceptances()).toHaveLength(1);
  });

  test('O64 does not call when it was stopped between intent and call', async () => {
    const scene = await makeScene({ dedupes: false }, believed);
    const { young, zombie } = await takeOver(scene, { commit: 'effect.intended', when: 'after' });
    expect(young.outcome).toMatchObject({ kind: 'accepted', receipt: { receipt: 'receipt-1' }, repeated: false });
    expect(zombie.outcome, zombie.stderr).toMatchObject({ kind: 'accepted', repeated: true });
    expect(await scene.acceptances()).toHaveLength(1);
  });
});

describe('two clients at once', () => {
  test('O63 make one call: the others wait or find its receipt', async () => {
    const scene = await makeScene({ dedupes: false, treatments: [{ kind: 'answer-late', afterMs: 300 }] }, believed);
    const reports = await Promise.all(Array.from({ length: 4 }, () => scene.run()));
    const kinds = reports.map(({ outcome }) => outcome?.kind);
    expect(kinds.filter((kind) => kind !== 'accepted' && kind !== 'in-flight')).toEqual([]);
    expect(kinds).toContain('accepted');
    expect(await scene.acceptances()).toHaveLength(1);
    expect((await scene.run()).outcome).toMatchObject({ kind: 'accepted', receipt: { receipt: 'receipt-1' } });
  });
});
