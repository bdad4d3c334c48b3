import { describe, expect, it } from 'vitest';
import { journalContract, skipReason } from '../../../src/testing/index.ts';
import { quickHarness } from '../../fixtures/sqlite-harness.ts';

describe('the journal contract on sqlite', () => {
  it.for(journalContract.map((one) => [one.name, one] as const))('%s', async ([, one], context) => {
    const harness = quickHarness();
    const reason = skipReason(one, harness.capabilities);
    if (reason !== undefined) context.skip(reason);
    try {
      await expect(one.run(harness)).resolves.toBeUndefined();
    } finally {
      harness.remove();
    }
  });
});
