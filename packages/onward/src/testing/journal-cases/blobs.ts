import { deepEqual, equal } from 'node:assert/strict';
import type { JournalCase } from '../journal-case.ts';
import { add, claim, expectCode, withJournal } from './support.ts';

/** SHA-256 of the three letters "abc" (FIPS 180-2, appendix B.1). */
const ABC = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad';
const abc = Uint8Array.of(97, 98, 99);

/** Bodies too large for an event. */
export const blobCases: readonly JournalCase[] = [
  {
    name: 'a blob is named by its SHA-256 and read back, also an empty and a large one',
    needs: [],
    run: (harness) =>
      withJournal(harness, async (journal) => {
        const ref = await journal.putBlob('run:a', abc);
        deepEqual(ref, { sha256: ABC, bytes: 3 });
        deepEqual([...(await journal.getBlob(ref))], [97, 98, 99]);
        const empty = await journal.putBlob('run:a', new Uint8Array());
        equal((await journal.getBlob(empty)).byteLength, 0);
        const large = Uint8Array.from({ length: 3_000_000 }, (_, index) => index % 251);
        const largeRef = await journal.putBlob('run:a', large);
        equal(Buffer.compare(await journal.getBlob(largeRef), large), 0);
      }),
  },
  {
    name: 'a zombie stores no blob under its old epoch, whether its stream was taken over, erased, or made anew',
    needs: [],
    run: (harness) =>
      withJournal(harness, async (journal) => {
        const old = await claim(journal, 'run:a', 'h1');
        await journal.putBlob('run:a', Uint8Array.of(1), old.epoch);
        const zombie = (): Promise<void> =>
          expectCode(journal.putBlob('run:a', abc, old.epoch), 'journal/stale-epoch', 'run:a');
        const now = await claim(journal, 'run:a', 'h1');
        await zombie();
        await journal.erase('run:a', now.epoch);
        await zombie();
        await add(journal, 'run:a', 'anew');
        await zombie();
        await claim(journal, 'run:a', 'h2');
        await zombie();
        await expectCode(journal.getBlob({ sha256: ABC, bytes: 3 }), 'journal/blob-missing', ABC);
      }),
  },
  {
    name: 'the same bytes stay while one stream uses them, and go with the last',
    needs: [],
    run: (harness) =>
      withJournal(harness, async (journal) => {
        const ref = await journal.putBlob('run:a', abc);
        deepEqual(await journal.putBlob('run:b', abc), ref);
        deepEqual(await journal.putBlob('run:b', abc), ref);
        await journal.erase('run:a');
        deepEqual([...(await journal.getBlob(ref))], [97, 98, 99]);
        await journal.erase('run:b');
        await expectCode(journal.getBlob(ref), 'journal/blob-missing', ABC);
      }),
  },
  {
    name: 'a blob put before the first event makes no stream that is listed, and is not changed through the bytes given',
    needs: [],
    run: (harness) =>
      withJournal(harness, async (journal) => {
        const bytes = Uint8Array.from(abc);
        const putting = journal.putBlob('run:a', bytes);
        bytes[0] = 0;
        const ref = await putting;
        (await journal.getBlob(ref))[0] = 0;
        deepEqual([...(await journal.getBlob(ref))], [97, 98, 99]);
        deepEqual(await journal.streams(''), []);
        await add(journal, 'run:a', ref.sha256);
        deepEqual(await journal.streams(''), ['run:a']);
      }),
  },
];
