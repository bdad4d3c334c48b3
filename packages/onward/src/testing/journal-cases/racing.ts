import { deepEqual, equal, ok } from 'node:assert/strict';
import type { JournalCase, JournalHarness } from '../journal-case.ts';
import { type ElsewhereReport, type ElsewhereWork, workElsewhere } from './elsewhere.ts';
import { add, claim, dataOf, event, take, withJournal } from './support.ts';

/** Many writers at once, in one process and in several. */
export const racingCases: readonly JournalCase[] = [
  {
    name: 'of appends racing for one position in one process exactly one is accepted',
    needs: [],
    run: (harness) =>
      withJournal(harness, async (journal) => {
        for (let expected = 0; expected < 5; expected++) {
          const racers = Array.from({ length: 20 }, (_, racer) =>
            journal.append([{ stream: 'run:a', expected, events: [event(racer)] }]),
          );
          equal((await Promise.all(racers)).filter((appended) => appended.ok).length, 1);
        }
        equal((await journal.read('run:a')).length, 5);
      }),
  },
  {
    name: 'racing writers of one process lose nothing and repeat nothing',
    needs: [],
    run: (harness) =>
      withJournal(harness, async (journal) => {
        const works = writers(8, 25);
        const reports = await Promise.all(works.map((work) => workElsewhere(journal, work)));
        expectAll(works, reports, dataOf(await journal.read('run:a')));
      }),
  },
  {
    name: 'racing writers of several processes lose nothing and repeat nothing',
    needs: ['multiProcess'],
    run: (harness) =>
      withJournal(harness, async (journal) => {
        const works = writers(harness.racing.processes, harness.racing.appends);
        const reports = await Promise.all(works.map((work) => elsewhere(harness, work)));
        expectAll(works, reports, dataOf(await journal.read('run:a')));
      }),
  },
  {
    name: 'a follower sees what other processes append, in order and once',
    needs: ['multiProcess'],
    run: (harness) =>
      withJournal(harness, async (journal) => {
        await add(journal, 'run:a', 'here');
        const following = take(journal.follow('run:a', 0, new AbortController().signal), 51);
        await elsewhere(harness, { kind: 'add', stream: 'run:a', writer: 'w', count: 50 });
        const expected = ['here', ...Array.from({ length: 50 }, (_, index) => `w ${index + 1}`)];
        deepEqual(dataOf(await following), expected);
      }),
  },
  {
    name: 'a claim of another process fences this one',
    needs: ['multiProcess'],
    run: (harness) =>
      withJournal(harness, async (journal) => {
        const work: ElsewhereWork = { kind: 'claim', stream: 'run:a', writer: 'other' };
        const mine = await claim(journal, 'run:a', 'h1');
        deepEqual(await elsewhere(harness, work), []);
        await journal.release(mine);
        const [epoch] = await elsewhere(harness, work);
        ok(epoch !== undefined && epoch > mine.epoch);
        const append = { stream: 'run:a', expected: 0, epoch: mine.epoch, events: [event('no')] };
        const refusal = { kind: 'stale-epoch', stream: 'run:a', epoch: mine.epoch, current: epoch };
        deepEqual(await journal.append([append]), { ok: false, refusal });
      }),
  },
];

type Race = ElsewhereWork & { readonly kind: 'race' };

function writers(count: number, appends: number): readonly Race[] {
  return Array.from({ length: count }, (_, n) => ({ kind: 'race', stream: 'run:a', writer: `w${n}`, count: appends }));
}

function elsewhere(harness: JournalHarness, work: ElsewhereWork): Promise<ElsewhereReport> {
  ok(harness.elsewhere !== undefined, 'a multiProcess harness works elsewhere');
  return harness.elsewhere(work);
}

function expectAll(works: readonly Race[], reports: readonly ElsewhereReport[], data: readonly unknown[]): void {
  equal(
    data.length,
    works.reduce((sum, work) => sum + work.count, 0),
  );
  works.forEach((work, index) => {
    const positions = reports[index] ?? [];
    // What a writer was told is where its events are, in its order.
    deepEqual(
      positions.map((position) => data[position - 1]),
      Array.from({ length: work.count }, (_, n) => `${work.writer} ${n + 1}`),
    );
  });
}
