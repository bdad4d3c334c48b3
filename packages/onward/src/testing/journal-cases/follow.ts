import { deepEqual } from 'node:assert/strict';
import type { Journal } from '../../kernel/journal.ts';
import type { JournalCase } from '../journal-case.ts';
import { add, dataOf, expectCode, take, withJournal } from './support.ts';

async function collect(journal: Journal, stream: string, signal: AbortSignal): Promise<readonly unknown[]> {
  const seen: unknown[] = [];
  for await (const stored of journal.follow(stream, 0, signal)) seen.push(stored.data);
  return seen;
}

/** Following a stream. */
export const followCases: readonly JournalCase[] = [
  {
    name: 'a follower gets what is there after its position, then what comes, in order and once',
    needs: [],
    run: (harness) =>
      withJournal(harness, async (journal) => {
        await add(journal, 'run:a', 1, 2);
        const following = take(journal.follow('run:a', 1, new AbortController().signal), 102);
        for (let data = 3; data <= 103; data++) await add(journal, 'run:a', data);
        deepEqual(
          dataOf(await following),
          Array.from({ length: 102 }, (_, index) => index + 2),
        );
      }),
  },
  {
    name: 'a stream can be followed before it exists, and several follow the same one',
    needs: [],
    run: (harness) =>
      withJournal(harness, async (journal) => {
        const { signal } = new AbortController();
        const followers = [take(journal.follow('run:a', 0, signal), 2), take(journal.follow('run:a', 1, signal), 1)];
        await add(journal, 'run:b', 'other');
        await add(journal, 'run:a', 1, 2);
        deepEqual((await Promise.all(followers)).map(dataOf), [[1, 2], [2]]);
      }),
  },
  {
    name: 'following ends quietly when the signal aborts: before, between two events, and while it waits',
    needs: [],
    run: (harness) =>
      withJournal(harness, async (journal) => {
        await add(journal, 'run:a', 1, 2);
        deepEqual(await collect(journal, 'run:a', AbortSignal.abort()), []);
        const between = new AbortController();
        const seen: unknown[] = [];
        for await (const stored of journal.follow('run:a', 0, between.signal)) {
          seen.push(stored.data);
          between.abort();
        }
        deepEqual(seen, [1]);
        const waiting = new AbortController();
        const following = collect(journal, 'run:a', waiting.signal);
        await take(journal.follow('run:a', 0, waiting.signal), 2);
        waiting.abort();
        await following;
      }),
  },
  {
    name: 'following ends quietly when the journal closes or the stream is erased',
    needs: [],
    run: async (harness) => {
      const journal = await harness.open();
      await add(journal, 'run:a', 1);
      await add(journal, 'run:b', 2);
      const { signal } = new AbortController();
      const erased = journal.follow('run:a', 0, signal)[Symbol.asyncIterator]();
      const closed = journal.follow('run:b', 0, signal)[Symbol.asyncIterator]();
      await Promise.all([erased.next(), closed.next()]);
      const ends = [erased.next(), closed.next()];
      await journal.erase('run:a');
      deepEqual(await ends[0], { done: true, value: undefined });
      await journal.close();
      deepEqual(await ends[1], { done: true, value: undefined });
      await expectCode(collect(journal, 'run:a', signal), 'journal/closed');
    },
  },
  {
    name: 'following ends quietly when the stream is erased and made anew before the next look',
    needs: [],
    run: (harness) =>
      withJournal(harness, async (journal) => {
        await add(journal, 'run:a', 1, 2);
        const following = journal.follow('run:a', 0, new AbortController().signal)[Symbol.asyncIterator]();
        await following.next();
        await following.next();
        const end = following.next();
        await Promise.all([journal.erase('run:a'), add(journal, 'run:a', 'new', 'new', 'new')]);
        deepEqual(await end, { done: true, value: undefined });
      }),
  },
  {
    name: 'a follower holds nothing while it waits: others append, and it may be left at any event',
    needs: [],
    run: (harness) =>
      withJournal(harness, async (journal) => {
        await add(journal, 'run:a', 1, 2, 3);
        for await (const stored of journal.follow('run:a', 0, new AbortController().signal)) {
          await add(journal, 'run:b', stored.data);
          if (stored.position === 2) break;
        }
        deepEqual(dataOf(await journal.read('run:b')), [1, 2]);
      }),
  },
];
