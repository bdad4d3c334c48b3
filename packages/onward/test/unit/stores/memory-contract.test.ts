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
  it.for(journalContract.map((one) => [one.name, one] as const))('%s', async ([, one], context) => {
    const harness = memoryHarness();
    const reason = skipReason(one, harness.capabilities);
    if (reason !== undefined) context.skip(reason);
    await expect(one.run(harness)).resolves.toBeUndefined();
  });
});
