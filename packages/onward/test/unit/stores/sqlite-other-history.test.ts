import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Journal } from '../../../src/kernel/journal.ts';
import { openSqliteJournal } from '../../../src/stores/sqlite/index.ts';
import { random, shiftedClock } from '../../fixtures/journal-clock.ts';

/** A journal, and a second connection past the store. */
interface Opened {
  readonly journal: Journal;
  readonly raw: DatabaseSync;
}

let folder: string;
let opened: Opened[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'onward-history-'));
  opened = [];
});
afterEach(async () => {
  for (const { journal, raw } of opened) {
    raw.close();
    await journal.close();
  }
  rmSync(folder, { recursive: true });
});

/** Each event is appended for itself, all at the same time of a clock that stands still: only the data tells them apart. */
async function withHistory(streams: Readonly<Record<string, readonly string[]>>): Promise<Opened> {
  const path = join(folder, `${opened.length}.db`);
  const journal = await openSqliteJournal({ path, clock: { ...shiftedClock(), now: () => 1_900_000_000_000 }, random });
  const made = { journal, raw: new DatabaseSync(path) };
  opened.push(made);
  for (const [stream, history] of Object.entries(streams)) {
    for (const [expected, data] of history.entries()) {
      await journal.append([{ stream, expected, events: [{ type: 'thing.happened', v: 1, data }] }]);
    }
  }
  return made;
}

/** Puts a row of one journal in the place of the row of another, as a partly restored file would. */
function transplant(from: Opened, to: Opened, fromPlace: number, toPlace: number = fromPlace): void {
  const row = from.raw.prepare('select data, checksum from event where place = ?').get(fromPlace);
  const { data, checksum } = row as { data: string; checksum: string };
  to.raw.prepare('update event set data = ?, checksum = ? where place = ?').run(data, checksum, toPlace);
}

const place = (stream: number, position: number): number => stream * 2 ** 26 + position;

describe('rows that are sound in themselves but belong to another history', () => {
  it('are found in the middle', async () => {
    const one = await withHistory({ 'run:a': ['x', 'same', 'end'] });
    const other = await withHistory({ 'run:a': ['y', 'same', 'end'] });
    transplant(other, one, place(1, 2));
    await expect(one.journal.read('run:a')).rejects.toMatchObject({ code: 'journal/damaged', place: 'run:a@2' });
  });

  it('are found at the end', async () => {
    const one = await withHistory({ 'run:a': ['x', 'one'] });
    const other = await withHistory({ 'run:a': ['x', 'other'] });
    transplant(other, one, place(1, 2));
    await expect(one.journal.read('run:a')).rejects.toMatchObject({ code: 'journal/damaged', place: 'run:a@2' });
    await expect(one.journal.read('run:a', 1)).rejects.toMatchObject({ code: 'journal/damaged', place: 'run:a@2' });
  });

  it('are found when they come from another stream', async () => {
    const one = await withHistory({ 'run:a': ['x', 'end'], 'run:b': ['y', 'end'] });
    transplant(one, one, place(2, 1), place(1, 1));
    await expect(one.journal.read('run:a')).rejects.toMatchObject({ code: 'journal/damaged', place: 'run:a@1' });
    await expect(one.journal.read('run:b')).resolves.toHaveLength(2);
  });

  it('are found beyond the end that the stream knows of', async () => {
    const one = await withHistory({ 'run:a': ['x'] });
    const before = one.raw.prepare('select last, head, seal from stream').get() as Record<'head' | 'seal', string>;
    await one.journal.append([{ stream: 'run:a', expected: 1, events: [{ type: 'thing.happened', v: 1, data: 2 }] }]);
    one.raw.prepare('update stream set last = 1, head = ?, seal = ?').run(before.head, before.seal);
    await expect(one.journal.read('run:a')).rejects.toMatchObject({ code: 'journal/damaged', place: 'run:a@2' });
    // An append cannot write over it either.
    const append = { stream: 'run:a', expected: 1, events: [{ type: 'thing.happened', v: 1, data: 3 }] };
    await expect(one.journal.append([append])).rejects.toMatchObject({ code: 'journal/damaged' });
  });
});
