import { deepEqual } from 'node:assert/strict';
import type { JournalCase } from '../journal-case.ts';
import { accepted, event, withJournal } from './support.ts';

/** Due times of streams. */
export const dueCases: readonly JournalCase[] = [
  {
    name: 'a stream that is due at the first or the last of all moments is no trouble to anyone',
    needs: [],
    run: (harness) =>
      withJournal(harness, async (journal) => {
        const most = 8_640_000_000_000_000;
        for (const due of [-most, most]) {
          accepted(await journal.append([{ stream: `run:${due}`, expected: 0, events: [event(1)], due }]));
        }
        deepEqual(await journal.due(0, 10), [{ stream: `run:${-most}`, due: -most }]);
        for (const now of [most, Number.MAX_VALUE, Number.POSITIVE_INFINITY]) {
          deepEqual((await journal.due(now, 10)).length, 2, `at ${now}`);
        }
      }),
  },
  {
    name: 'due streams are listed earliest first, up to the limit, at their time and not before',
    needs: [],
    run: (harness) =>
      withJournal(harness, async (journal) => {
        for (const [stream, due] of [
          ['run:late', 300],
          ['run:early', 100],
          ['run:middle', 200],
        ] as const) {
          accepted(await journal.append([{ stream, expected: 0, events: [event(1)], due }]));
        }
        deepEqual(await journal.due(99, 10), []);
        deepEqual(await journal.due(200, 10), [
          { stream: 'run:early', due: 100 },
          { stream: 'run:middle', due: 200 },
        ]);
        deepEqual(await journal.due(1000, 1), [{ stream: 'run:early', due: 100 }]);
      }),
  },
  {
    name: 'a due time is left alone by default, set without any event, rounded to later, and cleared',
    needs: [],
    run: (harness) =>
      withJournal(harness, async (journal) => {
        const due = (): Promise<unknown> => journal.due(1000, 10);
        await journal.append([{ stream: 'run:a', expected: 0, events: [event(1)], due: 100 }]);
        await journal.append([{ stream: 'run:a', expected: 1, events: [event(2)] }]);
        deepEqual(await due(), [{ stream: 'run:a', due: 100 }]);
        const set = await journal.append([{ stream: 'run:a', expected: 2, events: [], due: 250.5 }]);
        deepEqual(accepted(set).positions, { 'run:a': 2 });
        deepEqual(await due(), [{ stream: 'run:a', due: 251 }]);
        await journal.append([{ stream: 'run:a', expected: 2, events: [], due: null }]);
        deepEqual(await due(), []);
      }),
  },
];
