import { describe, expect, it } from 'vitest';
import { flippableJournal } from '../../fixtures/journal-flips.ts';
import { quickHarness, withRawDatabase } from '../../fixtures/sqlite-harness.ts';

describe('a broken index of stream names', () => {
  it('is found before a stream that it hides is taken for a new one', async () => {
    const harness = quickHarness();
    const journal = await flippableJournal(harness);
    const root = withRawDatabase(harness.path, (db) =>
      db.prepare("select rootpage as page from sqlite_schema where name = 'sqlite_autoindex_stream_1'").get(),
    ) as { page: number };
    // The cells of a page lie at its end. The slow suite goes through the whole file.
    const outcomes = new Set<string>();
    for (let back = 3; back < 400; back += 19) outcomes.add(await journal.flip(root.page * 4096 - back, 0xff));
    expect([...outcomes]).toEqual(['refused']);
    harness.remove();
  });
});
