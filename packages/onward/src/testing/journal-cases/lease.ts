import { deepEqual, equal, ok } from 'node:assert/strict';
import type { Append, Journal } from '../../kernel/journal.ts';
import type { JournalCase } from '../journal-case.ts';
import { accepted, add, claim, event, expectCode, expectData, holder, withJournal } from './support.ts';

function under(epoch: number | undefined, expected: Append['expected'] = 'any'): readonly Append[] {
  return [{ stream: 'run:a', expected, events: [event(`epoch ${epoch}`)], ...(epoch === undefined ? {} : { epoch }) }];
}

async function expectZombie(journal: Journal, epoch: number | undefined, current: number): Promise<void> {
  deepEqual(await journal.append(under(epoch)), {
    ok: false,
    refusal: { kind: 'stale-epoch', stream: 'run:a', epoch: epoch ?? null, current },
  });
}

function neverAsked(): never {
  throw new Error('asked');
}

/** Leases and the epochs that fence. */
export const leaseCases: readonly JournalCase[] = [
  {
    name: 'a claim is granted with an epoch, is on record, and keeps others out while it is live',
    needs: [],
    run: (harness) =>
      withJournal(harness, async (journal) => {
        equal(await journal.lease('run:a'), undefined);
        const lease = await claim(journal, 'run:a', 'h1');
        deepEqual([lease.stream, lease.epoch, lease.holder], ['run:a', 1, holder('h1')]);
        deepEqual(await journal.lease('run:a'), lease);
        deepEqual(await journal.claim('run:a', holder('h2'), 1000), { ok: false, held: lease });
        deepEqual(await journal.read('run:a'), []);
      }),
  },
  {
    name: 'every granted claim raises the epoch, also that of the same holder again',
    needs: [],
    run: (harness) =>
      withJournal(harness, async (journal) => {
        const first = await claim(journal, 'run:a', 'h1');
        const second = await claim(journal, 'run:a', 'h1');
        ok(second.epoch > first.epoch);
        await expectZombie(journal, first.epoch, second.epoch);
        accepted(await journal.append(under(second.epoch, 0)));
      }),
  },
  {
    name: 'a zombie is refused once another has claimed, and an append without an epoch as well',
    needs: [],
    run: (harness) =>
      withJournal(harness, async (journal) => {
        const old = await claim(journal, 'run:a', 'h1', 1000);
        accepted(await journal.append(under(old.epoch, 0)));
        harness.advance(1000);
        const now = await claim(journal, 'run:a', 'h2');
        for (const epoch of [old.epoch, undefined, now.epoch + 1]) await expectZombie(journal, epoch, now.epoch);
        equal(await journal.renew(old, 1000), false);
        await journal.release(old);
        deepEqual(await journal.lease('run:a'), now);
        accepted(await journal.append(under(now.epoch, 1)));
        deepEqual(
          (await journal.read('run:a')).map((stored) => stored.epoch),
          [old.epoch, now.epoch],
        );
      }),
  },
  {
    name: 'a batch with one zombie part is refused as a whole',
    needs: [],
    run: (harness) =>
      withJournal(harness, async (journal) => {
        const old = await claim(journal, 'run:a', 'h1');
        await claim(journal, 'run:a', 'h1');
        const inbox: Append = { stream: 'inbox:a', expected: 'any', events: [event('no')] };
        equal((await journal.append([inbox, ...under(old.epoch)])).ok, false);
        await expectData(journal, 'inbox:a', []);
      }),
  },
  {
    name: 'a lease that has run out still writes while nobody else has claimed',
    needs: [],
    run: (harness) =>
      withJournal(harness, async (journal) => {
        const lease = await claim(journal, 'run:a', 'h1', 1000);
        harness.advance(60_000);
        accepted(await journal.append(under(lease.epoch, 0)));
        deepEqual(await journal.lease('run:a'), lease);
      }),
  },
  {
    name: 'renewing extends a lease without an event, also one that had run out',
    needs: [],
    run: (harness) =>
      withJournal(harness, async (journal) => {
        const lease = await claim(journal, 'run:a', 'h1', 1000);
        harness.advance(900);
        equal(await journal.renew(lease, 1000), true);
        harness.advance(900);
        equal((await journal.claim('run:a', holder('h2'), 1000)).ok, false);
        harness.advance(60_000);
        equal(await journal.renew(lease, 1000), true);
        const refused = await journal.claim('run:a', holder('h2'), 1000);
        ok(!refused.ok);
        equal(refused.held.epoch, lease.epoch);
        deepEqual(await journal.read('run:a'), []);
      }),
  },
  {
    name: 'a released stream is free, keeps its epoch as a fence, and the next claim raises it',
    needs: [],
    run: (harness) =>
      withJournal(harness, async (journal) => {
        const first = await claim(journal, 'run:a', 'h1');
        await journal.release(first);
        equal(await journal.lease('run:a'), undefined);
        equal(await journal.renew(first, 1000), false);
        await expectZombie(journal, undefined, first.epoch);
        accepted(await journal.append(under(first.epoch, 0)));
        const second = await claim(journal, 'run:a', 'h2');
        ok(second.epoch > first.epoch);
        await journal.release(first);
        deepEqual(await journal.lease('run:a'), second);
      }),
  },
  {
    name: 'the lease of a holder found dead is taken over at once, and only that lease',
    needs: [],
    run: (harness) =>
      withJournal(harness, async (journal) => {
        const old = await claim(journal, 'run:a', 'h1');
        const asked: unknown[] = [];
        const dead = (answer: boolean) => (held: unknown) => {
          asked.push(held);
          return answer;
        };
        deepEqual(await journal.claim('run:a', holder('h2'), 1000, dead(false)), { ok: false, held: old });
        const taken = await journal.claim('run:a', holder('h2'), 1000, dead(true));
        ok(taken.ok && taken.lease.epoch > old.epoch);
        deepEqual(asked, [holder('h1'), holder('h1')]);
        await expectZombie(journal, old.epoch, taken.lease.epoch);
      }),
  },
  {
    name: 'nobody is asked about the holder of a lease that is free, run out, or the own one',
    needs: [],
    run: (harness) =>
      withJournal(harness, async (journal) => {
        ok((await journal.claim('run:a', holder('h1'), 1000, neverAsked)).ok);
        ok((await journal.claim('run:a', holder('h1'), 1000, neverAsked)).ok);
        harness.advance(1000);
        ok((await journal.claim('run:a', holder('h2'), 1000, neverAsked)).ok);
      }),
  },
  {
    name: 'an epoch on a stream that was never claimed is refused, and on a claimed one nothing else is taken',
    needs: [],
    run: (harness) =>
      withJournal(harness, async (journal) => {
        await expectZombie(journal, 3, 0);
        await add(journal, 'run:a', 'unleased');
        const lease = await claim(journal, 'run:a', 'h1');
        await expectZombie(journal, undefined, lease.epoch);
        accepted(await journal.append(under(lease.epoch, 1)));
      }),
  },
  {
    name: 'of many claims at once exactly one is granted',
    needs: [],
    run: (harness) =>
      withJournal(harness, async (journal) => {
        const names = Array.from({ length: 20 }, (_, index) => `h${index}`);
        const claims = await Promise.all(names.map((name) => journal.claim('run:a', holder(name), 1000)));
        equal(claims.filter((claimed) => claimed.ok).length, 1);
      }),
  },
  {
    name: 'a lease cannot last a time that is no number',
    needs: [],
    run: (harness) =>
      withJournal(harness, async (journal) => {
        const lease = await claim(journal, 'run:a', 'h1');
        for (const ttl of [Number.NaN, -1, Number.POSITIVE_INFINITY, 1e300, Number.MAX_SAFE_INTEGER]) {
          await expectCode(journal.claim('run:a', holder('h1'), ttl), 'journal/bad-append');
          await expectCode(journal.renew(lease, ttl), 'journal/bad-append');
        }
        const century = 100 * 365 * 24 * 3_600_000;
        equal(await journal.renew(lease, century), true);
        ok(((await journal.lease('run:a'))?.expiresAt ?? 0) > century);
        await expectCode(journal.claim('', holder('h1'), 1000), 'journal/bad-append');
      }),
  },
];
