import { describe, expect, it } from 'vitest';
import { createMemoryJournal } from '../../../src/stores/memory/index.ts';
import { journalContract, type JournalHarness, skipReason } from '../../../src/testing/index.ts';
import { shiftedClock } from '../../fixtures/journal-clock.ts';

function memoryHarness(): JournalHarness {
  const clock = shiftedClock();
  const journal = createMemoryJournal({ clock });
  return {
    capabilities: [],
    racing: { processes: 0, appends: 0 },
    open: () => Promise.resolve(journal),
    advance: (ms) => clock.advance(ms),
  };
}

describe('the journal contract on memory', () => {
  for (const journalCase of journalContract) {
    it(`${journalCase.name}`, async (context) => {
      const harness = memoryHarness();
      const reason = skipReason(journalCase, harness.capabilities);
      if (reason !== undefined) context.skip(reason);
      await expect(journalCase.run(harness)).resolves.toBeUndefined();
    });
  }
});
