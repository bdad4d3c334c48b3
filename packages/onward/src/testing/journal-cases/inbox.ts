import { deepEqual } from 'node:assert/strict';
import type { Journal } from '../../kernel/journal.ts';
import type { JournalCase } from '../journal-case.ts';
import { accepted, event, expectData, withJournal } from './support.ts';

async function send(journal: Journal, stream: string, ...ids: readonly string[]): Promise<readonly string[]> {
  const events = ids.map((id) => event(id, { id }));
  return accepted(await journal.append([{ stream, expected: 'any', events }])).duplicates;
}

/** Messages that are dropped when they are there already. */
export const inboxCases: readonly JournalCase[] = [
  {
    name: 'a message whose id is in the stream already is dropped and reported, also within one batch',
    needs: [],
    run: (harness) =>
      withJournal(harness, async (journal) => {
        deepEqual(await send(journal, 'inbox:a', 'm1', 'm2', 'm1'), ['m1']);
        deepEqual(await send(journal, 'inbox:a', 'm2', 'm3'), ['m2']);
        deepEqual(await send(journal, 'inbox:a', 'm1'), ['m1']);
        await expectData(journal, 'inbox:a', ['m1', 'm2', 'm3']);
      }),
  },
  {
    name: 'ids count per stream, and events without an id are never dropped',
    needs: [],
    run: (harness) =>
      withJournal(harness, async (journal) => {
        await send(journal, 'inbox:a', 'm1');
        deepEqual(await send(journal, 'inbox:b', 'm1'), []);
        const events = [event(1), event(1), event(1)];
        await journal.append([{ stream: 'inbox:b', expected: 1, events }]);
        await expectData(journal, 'inbox:b', ['m1', 1, 1, 1]);
      }),
  },
  {
    name: 'an append of only known messages reports the position that is there',
    needs: [],
    run: (harness) =>
      withJournal(harness, async (journal) => {
        await send(journal, 'inbox:a', 'm1', 'm2');
        const events = [event('changed', { id: 'm1' })];
        deepEqual(await journal.append([{ stream: 'inbox:a', expected: 2, events }]), {
          ok: true,
          positions: { 'inbox:a': 2 },
          duplicates: ['m1'],
        });
        await expectData(journal, 'inbox:a', ['m1', 'm2']);
      }),
  },
  {
    name: 'the same message sent many times at once arrives once',
    needs: [],
    run: (harness) =>
      withJournal(harness, async (journal) => {
        const sent = await Promise.all(Array.from({ length: 20 }, () => send(journal, 'inbox:a', 'm1')));
        deepEqual(
          sent.flat(),
          Array.from({ length: 19 }, () => 'm1'),
        );
        await expectData(journal, 'inbox:a', ['m1']);
      }),
  },
];
