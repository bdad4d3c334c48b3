import { describe, expect, test } from 'vitest';
import { createOnce } from '../../../src/effects/index.ts';
import { systemHash, systemIds } from '../../../src/processes/system.ts';
import { asKind, effectRig, holderOf, testService } from './support/effect-rig.ts';

const mail = { action: 'mail.send', identity: { to: 'ann', invoice: 7 } };

function setup() {
  const rig = effectRig();
  const ports = { clock: rig.clock, ids: systemIds, hash: systemHash, holder: holderOf('a') };
  return { rig, once: createOnce(ports), later: createOnce({ ...ports, holder: holderOf('b') }) };
}

describe('once', () => {
  // What is handed in twice here is an effect; runs and flows with a client's key build on the same ledger.
  test('O68 the same name twice is one effect with one receipt; with other content it is refused', async () => {
    const { rig, once, later } = setup();
    const { calls, accepted } = testService();
    const sent = { ...calls, payload: { body: 'hello' } };
    const first = await once(rig.journal, mail, sent);
    expect(await later(rig.journal, { ...mail }, sent)).toEqual({ ...first, repeated: true });
    expect(await once(rig.journal, mail, { ...sent, payload: { body: 'hullo' } })).toMatchObject({
      kind: 'refused',
      because: 'other-payload',
    });
    expect(accepted).toHaveLength(1);
  });

  test('is once in the whole journal, or in the scope that is named', async () => {
    const { rig, once } = setup();
    const { calls, accepted } = testService();
    const outcomes = [
      await once(rig.journal, mail, calls),
      await once(rig.journal, { scope: 'journal', ...mail }, calls),
    ];
    expect(outcomes).toMatchObject([{ repeated: false }, { repeated: true }]);
    await once(rig.journal, { scope: 'batch-2', ...mail }, calls);
    expect(accepted).toHaveLength(2);
  });

  test('is bounded by its time, and leaves no timer', async () => {
    const { rig, once } = setup();
    const { calls, accepted } = testService({ afterwards: () => new Promise(() => {}) });
    const running = once(rig.journal, mail, calls, { timeoutMs: 60_000 });
    await rig.clock.advance(60_000);
    const { question } = asKind(await running, 'waiting');
    expect(question.owner).toMatch(/^effect-run:/);
    await rig.clock.advance(0);
    expect(rig.clock.pending()).toEqual([]);
    expect(accepted).toHaveLength(1);
  });

  test('keeps its lease while the call lasts, however long, and gives it up afterwards', async () => {
    const { rig, once, later } = setup();
    const { promise, resolve } = Promise.withResolvers<void>();
    const { calls } = testService({ afterwards: () => promise, lookup: 'true' });
    const running = once(rig.journal, mail, calls, { timeoutMs: 0 });
    await rig.clock.advance(3_600_000);
    const other = await later(rig.journal, mail, calls);
    expect(other).toMatchObject({ kind: 'in-flight' });
    resolve();
    expect(await running).toMatchObject({ kind: 'accepted' });
    expect(await rig.journal.lease(`effect-run:${other.key}`)).toBeUndefined();
    expect(rig.clock.pending()).toEqual([]);
  });

  test('a signal of the caller stops it, also one that had aborted before', async () => {
    const { rig, once } = setup();
    const { calls, accepted } = testService();
    const options = { signal: AbortSignal.abort() };
    expect(await once(rig.journal, mail, calls, options)).toMatchObject({ kind: 'refused', because: 'aborted' });
    expect(accepted).toEqual([]);
  });

  test('a name that is none is a refusal and no throw', async () => {
    const { rig, once } = setup();
    const { calls } = testService();
    const outcome = await once(rig.journal, { action: '', identity: null }, calls);
    expect(outcome).toMatchObject({ kind: 'refused', because: 'bad-input' });
  });

  test('a refusal, a question and work in flight name the key, so that a person can look for it', async () => {
    const { rig, once } = setup();
    const { calls } = testService({
      afterwards: () => {
        throw new Error('ECONNRESET');
      },
    });
    const waiting = await once(rig.journal, mail, calls);
    const refused = await once(rig.journal, mail, { ...calls, payload: 1 });
    expect(waiting.key).toMatch(/^[0-9a-f]{64}$/);
    expect(refused.key).toBe(waiting.key);
  });
});
