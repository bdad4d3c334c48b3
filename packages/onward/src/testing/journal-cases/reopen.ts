import { deepEqual, equal, ok } from 'node:assert/strict';
import type { JournalCase } from '../journal-case.ts';
import { accepted, add, claim, event, expectData, withJournal } from './support.ts';

/** What outlives a handle. */
export const reopenCases: readonly JournalCase[] = [
  {
    name: 'R70 positions go on strictly increasing across restarts',
    needs: ['durable'],
    run: async (harness) => {
      for (let start = 0; start < 4; start++) {
        await withJournal(harness, async (journal) => {
          equal((await journal.read('run:a')).length, start * 2);
          await add(journal, 'run:a', `${start} a`, `${start} b`);
        });
      }
      await withJournal(harness, async (journal) => {
        const positions = (await journal.read('run:a')).map((stored) => stored.position);
        deepEqual(positions, [1, 2, 3, 4, 5, 6, 7, 8]);
      });
    },
  },
  {
    name: 'events, leases, epochs, due times, messages and blobs are there after a restart',
    needs: ['durable'],
    run: async (harness) => {
      const before = await harness.open();
      const lease = await claim(before, 'run:a', 'h1');
      const events = [event({ x: 1 }, { id: 'm1' })];
      accepted(await before.append([{ stream: 'run:a', expected: 0, epoch: lease.epoch, events, due: 7 }]));
      const ref = await before.putBlob('run:a', Uint8Array.of(1, 2, 3));
      await before.close();
      await withJournal(harness, async (journal) => {
        await expectData(journal, 'run:a', [{ x: 1 }]);
        deepEqual(await journal.lease('run:a'), lease);
        deepEqual(await journal.due(7, 1), [{ stream: 'run:a', due: 7 }]);
        deepEqual([...(await journal.getBlob(ref))], [1, 2, 3]);
        const again = await journal.append([{ stream: 'run:a', expected: 1, epoch: lease.epoch, events }]);
        deepEqual(accepted(again).duplicates, ['m1']);
        equal((await journal.append([{ stream: 'run:a', expected: 1, events }])).ok, false);
      });
    },
  },
  {
    name: 'two handles of one journal see each other',
    needs: ['durable'],
    run: (harness) =>
      withJournal(harness, (one) =>
        withJournal(harness, async (two) => {
          await add(one, 'run:a', 1);
          await add(two, 'run:a', 2);
          await expectData(one, 'run:a', [1, 2]);
          const lease = await claim(one, 'run:b', 'h1');
          deepEqual(await two.lease('run:b'), lease);
          ok(await two.renew(lease, 1000));
        }),
      ),
  },
];
