import { deepEqual, equal, ok } from 'node:assert/strict';
import type { JournalCase } from '../journal-case.ts';
import { accepted, add, claim, event, expectCode, expectData, withJournal } from './support.ts';

/** Erasing a stream. */
export const eraseCases: readonly JournalCase[] = [
  {
    name: 'an erased stream is unknown again, with its due time, messages and lease, and others are untouched',
    needs: [],
    run: (harness) =>
      withJournal(harness, async (journal) => {
        await journal.append([{ stream: 'run:a', expected: 0, events: [event(1, { id: 'm1' })], due: 5 }]);
        await add(journal, 'run:b', 1);
        await journal.erase('run:a');
        await journal.erase('run:nobody');
        deepEqual(await journal.read('run:a'), []);
        deepEqual(await journal.due(100, 10), []);
        deepEqual(await journal.streams(''), ['run:b']);
        const again = await journal.append([{ stream: 'run:a', expected: 0, events: [event(2, { id: 'm1' })] }]);
        deepEqual(accepted(again).duplicates, []);
        await expectData(journal, 'run:a', [2]);
        await expectData(journal, 'run:b', [1]);
      }),
  },
  {
    name: 'a leased stream is erased only with its newest epoch',
    needs: [],
    run: (harness) =>
      withJournal(harness, async (journal) => {
        const old = await claim(journal, 'run:a', 'h1');
        const lease = await claim(journal, 'run:a', 'h1');
        accepted(await journal.append([{ stream: 'run:a', expected: 0, epoch: lease.epoch, events: [event(1)] }]));
        await expectCode(journal.erase('run:a'), 'journal/stale-epoch', 'run:a');
        await expectCode(journal.erase('run:a', old.epoch), 'journal/stale-epoch', 'run:a');
        await expectData(journal, 'run:a', [1]);
        await journal.erase('run:a', lease.epoch);
        equal(await journal.lease('run:a'), undefined);
      }),
  },
  {
    name: 'a zombie of an erased stream stays fenced when the stream is made anew',
    needs: [],
    run: (harness) =>
      withJournal(harness, async (journal) => {
        const old = await claim(journal, 'run:a', 'h1');
        await journal.erase('run:a', old.epoch);
        const zombie = [{ stream: 'run:a', expected: 0, epoch: old.epoch, events: [event('no')] }];
        equal((await journal.append(zombie)).ok, false);
        const now = await claim(journal, 'run:a', 'h2');
        ok(now.epoch > old.epoch);
        equal((await journal.append(zombie)).ok, false);
        equal(await journal.renew(old, 1000), false);
      }),
  },
];
