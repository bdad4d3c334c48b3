import { describe, expect, it } from 'vitest';
import { journalContract, skipReason } from '../../../src/testing/index.ts';
import { sqliteHarness } from '../../fixtures/sqlite-harness.ts';

describe('the journal contract on sqlite', () => {
  for (const journalCase of journalContract) {
    it(`${journalCase.name}`, async (context) => {
      const harness = sqliteHarness();
      const reason = skipReason(journalCase, harness.capabilities);
      if (reason !== undefined) context.skip(reason);
      try {
        await expect(journalCase.run(harness)).resolves.toBeUndefined();
      } finally {
        harness.remove();
      }
    });
  }
});
