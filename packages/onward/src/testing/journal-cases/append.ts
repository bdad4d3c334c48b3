import { deepEqual, equal, ok } from 'node:assert/strict';
import { fold } from '../../kernel/fold.ts';
import type { Json } from '../../kernel/json.ts';
import type { JournalCase } from '../journal-case.ts';
import { accepted, add, event, expectCode, expectData, withJournal } from './support.ts';

/** Order, expected positions, batches, and that what is read is what was given. */
export const appendCases: readonly JournalCase[] = [
  {
    name: 'each stream has its own positions, gapless from 1, in the order of the appends',
    needs: [],
    run: (harness) =>
      withJournal(harness, async (journal) => {
        await add(journal, 'run:a', 1, 2);
        await add(journal, 'run:b', 'x');
        const appended = accepted(
          await journal.append([
            { stream: 'run:b', expected: 1, events: [event('y'), event('z')] },
            { stream: 'run:a', expected: 2, events: [event(3)] },
          ]),
        );
        deepEqual(appended.positions, { 'run:b': 3, 'run:a': 3 });
        deepEqual(appended.duplicates, []);
        await expectData(journal, 'run:a', [1, 2, 3]);
        await expectData(journal, 'run:b', ['x', 'y', 'z']);
      }),
  },
  {
    name: 'an unknown stream is empty, and reading starts after a position',
    needs: [],
    run: (harness) =>
      withJournal(harness, async (journal) => {
        deepEqual(await journal.read('run:nobody'), []);
        await add(journal, 'run:a', 1, 2, 3);
        deepEqual(
          (await journal.read('run:a', 1)).map(({ position, data }) => [position, data]),
          [
            [2, 2],
            [3, 3],
          ],
        );
        deepEqual(await journal.read('run:a', 3), []);
        deepEqual(await journal.read('run:a', 99), []);
      }),
  },
  {
    name: 'a stale position is refused with the actual one, ahead of the end as well as behind it',
    needs: [],
    run: (harness) =>
      withJournal(harness, async (journal) => {
        await add(journal, 'effect:a', 1, 2);
        for (const expected of [0, 1, 3]) {
          deepEqual(await journal.append([{ stream: 'effect:a', expected, events: [event('no')] }]), {
            ok: false,
            refusal: { kind: 'stale-position', stream: 'effect:a', expected, actual: 2 },
          });
        }
        await expectData(journal, 'effect:a', [1, 2]);
      }),
  },
  {
    name: 'a batch over several streams is written as a whole or not at all',
    needs: [],
    run: (harness) =>
      withJournal(harness, async (journal) => {
        await add(journal, 'run:b', 1);
        const refused = await journal.append([
          { stream: 'run:a', expected: 0, events: [event('no')], due: 5 },
          { stream: 'inbox:a', expected: 'any', events: [event('no', { id: 'm1' })] },
          { stream: 'run:b', expected: 0, events: [event('no')] },
        ]);
        ok(!refused.ok);
        deepEqual(await journal.read('run:a'), []);
        deepEqual(await journal.read('inbox:a'), []);
        deepEqual(await journal.due(100, 10), []);
        deepEqual(await journal.streams(''), ['run:b']);
        // The message was not taken for one that is there already.
        const again = await journal.append([{ stream: 'inbox:a', expected: 0, events: [event('yes', { id: 'm1' })] }]);
        deepEqual(accepted(again).duplicates, []);
      }),
  },
  {
    name: 'an event is read exactly as it was given, with the envelope around it',
    needs: [],
    run: (harness) =>
      withJournal(harness, async (journal) => {
        const data: Json = {
          text: 'zü\u0000\u2028 "q" \u{1f600}\ufffd',
          n: [0.1, -1e300, 1e21, true, null],
          o: { ['__proto__']: {} },
        };
        await journal.append([
          { stream: 'run:a', expected: 0, events: [event(data, { v: 7, id: 'i 1', ignorable: true }), event(null)] },
        ]);
        const [first, second] = await journal.read('run:a');
        ok(first !== undefined && second !== undefined && Number.isInteger(first.at));
        const envelope = { stream: 'run:a', at: first.at, type: 'thing.happened' };
        deepEqual(first, { ...envelope, position: 1, v: 7, data, id: 'i 1', ignorable: true });
        deepEqual(second, { ...envelope, position: 2, v: 1, data: null });
        equal(JSON.stringify(first.data), JSON.stringify(data));
      }),
  },
  {
    name: 'nobody can change a stored event through an object he holds',
    needs: [],
    run: (harness) =>
      withJournal(harness, async (journal) => {
        const given = { list: [1] };
        await add(journal, 'run:a', given);
        given.list.push(2);
        const [read] = await journal.read('run:a');
        ok(read !== undefined);
        (read.data as unknown as typeof given).list.push(3);
        await expectData(journal, 'run:a', [{ list: [1] }]);
      }),
  },
  {
    name: 'streams are listed by prefix in order of creation, without those that hold no event',
    needs: [],
    run: (harness) =>
      withJournal(harness, async (journal) => {
        for (const stream of ['run:b', 'run:a', 'session:a', 'run:%', 'Run:a']) await add(journal, stream, 1);
        await journal.append([{ stream: 'run:empty', expected: 0, events: [], due: 1 }]);
        deepEqual(await journal.streams('run:'), ['run:b', 'run:a', 'run:%']);
        deepEqual(await journal.streams('run:%'), ['run:%']);
        deepEqual(await journal.streams('nothing'), []);
        deepEqual(await journal.streams(''), ['run:b', 'run:a', 'session:a', 'run:%', 'Run:a']);
      }),
  },
  {
    name: 'a fold refuses an event of a newer version and passes over one that says it may be ignored',
    needs: [],
    run: (harness) =>
      withJournal(harness, async (journal) => {
        const events = [
          event(1),
          event(2, { v: 9, ignorable: true }),
          event(3, { type: 'other.thing', ignorable: true }),
        ];
        await journal.append([{ stream: 'run:a', expected: 0, events }]);
        const count = async (): Promise<number> =>
          fold(await journal.read('run:a'), { 'thing.happened': { v: 1 } }, 0, (sum) => sum + 1);
        equal(await count(), 1);
        await journal.append([{ stream: 'run:a', expected: 3, events: [event(4, { v: 2 })] }]);
        await expectCode(count(), 'journal/newer-version', 'run:a@4');
      }),
  },
  {
    name: 'a long stream and large events are read whole and in order',
    needs: [],
    run: (harness) =>
      withJournal(harness, async (journal) => {
        const text = 'x'.repeat(100_000);
        for (let n = 0; n < 25; n++) {
          const many = Array.from({ length: 100 }, (_, index) => event(n * 101 + index + 1));
          await journal.append([{ stream: 'run:a', expected: n * 101, events: [...many, event({ n, text })] }]);
        }
        const events = await journal.read('run:a');
        equal(events.length, 2525);
        ok(
          events.every(
            ({ position, data }, index) => position === index + 1 && (position % 101 === 0 || data === position),
          ),
        );
        equal((await journal.read('run:a', 1500)).length, 1025);
      }),
  },
  {
    name: 'a closed journal refuses everything, and may be closed twice',
    needs: [],
    run: async (harness) => {
      const journal = await harness.open();
      const pending = add(journal, 'run:a', 1);
      await journal.close();
      await journal.close();
      accepted(await pending);
      await expectCode(add(journal, 'run:a', 2), 'journal/closed');
      await expectCode(journal.read('run:a'), 'journal/closed');
      await expectCode(journal.lease('run:a'), 'journal/closed');
    },
  },
];
