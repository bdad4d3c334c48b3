import { deepEqual, equal } from 'node:assert/strict';
import type { NewEvent } from '../../kernel/envelope.ts';
import type { Append, Journal } from '../../kernel/journal.ts';
import type { JournalCase } from '../journal-case.ts';
import { accepted, add, event, expectCode, withJournal } from './support.ts';

const CAP = 256 * 1024;

/** Values that JSON would lose or change, and where. */
function nonJson(): readonly (readonly [value: unknown, path: string])[] {
  const cycle: { self?: unknown } = {};
  cycle.self = cycle;
  return [
    [undefined, '$'],
    [{ a: undefined }, '$.a'],
    [[1, Number.NaN], '$[1]'],
    [{ a: [{ b: Number.POSITIVE_INFINITY }] }, '$.a[0].b'],
    [{ at: new Date(0) }, '$.at'],
    [{ f: () => 1 }, '$.f'],
    [10n, '$'],
    [{ s: Symbol('s') }, '$.s'],
    [{ m: new Map() }, '$.m'],
    [{ z: -0 }, '$.z'],
    ['\ud800', '$'],
    [cycle, '$.self'],
  ];
}

/** Input that is refused before anything is written. */
export const badInputCases: readonly JournalCase[] = [
  {
    name: 'data that is not plain JSON is refused with the path to it',
    needs: [],
    run: (harness) =>
      withJournal(harness, async (journal) => {
        for (const [value, path] of nonJson()) {
          await expectCode(append(journal, [event(1), event(value as null)]), 'journal/bad-event', path);
        }
        deepEqual(await journal.read('run:a'), []);
      }),
  },
  {
    name: 'data nested beyond what JSON can write is refused',
    needs: [],
    run: (harness) =>
      withJournal(harness, async (journal) => {
        let deep: NewEvent['data'] = [];
        for (let level = 0; level < 100_000; level++) deep = [deep];
        await expectCode(append(journal, [event(deep)]), 'journal/bad-event');
      }),
  },
  {
    name: 'an event without a usable type, version or id is refused',
    needs: [],
    run: (harness) =>
      withJournal(harness, async (journal) => {
        for (const type of ['', 'a\nb', 'a\u0000', '\ud800']) {
          await expectCode(append(journal, [event(1, { type })]), 'journal/bad-event', '$type');
        }
        for (const v of [0, -1, 1.5, Number.NaN, 2 ** 60]) {
          await expectCode(append(journal, [event(1, { v })]), 'journal/bad-event', '$v');
        }
        for (const id of ['', 'a\u0000b', 'x'.repeat(5000)]) {
          await expectCode(append(journal, [event(1, { id })]), 'journal/bad-event', '$id');
        }
        deepEqual(await journal.read('run:a'), []);
      }),
  },
  {
    name: 'a payload over the cap is refused, one of exactly that size is taken, counted in bytes',
    needs: [],
    run: (harness) =>
      withJournal(harness, async (journal) => {
        // Two quotes belong to the JSON.
        const largest = 'x'.repeat(CAP - 2);
        await expectCode(append(journal, [event(`${largest}x`)]), 'journal/payload-too-large');
        await expectCode(append(journal, [event('\u20ac'.repeat(CAP / 3))]), 'journal/payload-too-large');
        accepted(await append(journal, [event(largest)]));
      }),
  },
  {
    name: 'a batch that is empty, names a stream twice, or names one badly is refused',
    needs: [],
    run: (harness) =>
      withJournal(harness, async (journal) => {
        const part: Append = { stream: 'run:a', expected: 'any', events: [event(1)] };
        await expectCode(journal.append([]), 'journal/bad-append');
        await expectCode(journal.append([part, { ...part, stream: 'run:b' }, part]), 'journal/bad-append', 'run:a');
        for (const stream of ['', 'a\u0000b', 'a\nb', '\ud800', 'x'.repeat(5000)]) {
          await expectCode(journal.append([{ ...part, stream }]), 'journal/bad-append');
        }
        for (const wrong of [{ expected: -1 }, { expected: 0.5 }, { epoch: 0 }, { due: Number.NaN }]) {
          await expectCode(journal.append([{ ...part, ...wrong }]), 'journal/bad-append', 'run:a');
        }
        // Beyond what a date can be, and beyond what a number can count.
        for (const due of [8.65e15, 2 ** 53, 1e300, -1e300, Number.POSITIVE_INFINITY]) {
          await expectCode(journal.append([{ ...part, due }]), 'journal/bad-append', 'run:a');
        }
        deepEqual(await journal.streams(''), []);
      }),
  },
  {
    name: 'a position that is no whole number is refused, and any limit is taken',
    needs: [],
    run: (harness) =>
      withJournal(harness, async (journal) => {
        await journal.append([{ stream: 'run:a', expected: 0, events: [event(1)], due: 5 }]);
        for (const after of [-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY]) {
          await expectCode(journal.read('run:a', after), 'journal/bad-position');
          const following = journal.follow('run:a', after, new AbortController().signal)[Symbol.asyncIterator]();
          await expectCode(following.next(), 'journal/bad-position');
        }
        for (const [limit, found] of [
          [Number.POSITIVE_INFINITY, 1],
          [1.5, 1],
          [0, 0],
          [-1, 0],
          [Number.NaN, 0],
        ] as const) {
          equal((await journal.due(Number.POSITIVE_INFINITY, limit)).length, found, `limit ${limit}`);
        }
      }),
  },
  {
    name: 'a refused append leaves those beside it alone',
    needs: [],
    run: (harness) =>
      withJournal(harness, async (journal) => {
        const bad = expectCode(append(journal, [event(undefined as unknown as null)]), 'journal/bad-event');
        const stale = journal.append([{ stream: 'run:c', expected: 7, events: [event(1)] }]);
        await Promise.all([add(journal, 'run:a', 1), bad, stale, add(journal, 'run:b', 2)]);
        deepEqual((await journal.streams('')).toSorted(), ['run:a', 'run:b']);
      }),
  },
];

function append(journal: Journal, events: readonly NewEvent[]): ReturnType<Journal['append']> {
  return journal.append([{ stream: 'run:a', expected: 0, events }]);
}
