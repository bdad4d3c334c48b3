import { describe, expect, it } from 'vitest';
import { quickHarness } from '../../fixtures/sqlite-harness.ts';
import { tornLog } from '../../fixtures/torn-log.ts';

describe('a torn write-ahead log', () => {
  it('R66 cut within its last frames opens without the last append and with all earlier ones', async () => {
    const torn = await tornLog(quickHarness());
    // Here each 128th byte and the borders of frames; the slow suite cuts at every byte.
    const cuts = Array.from({ length: torn.size - torn.before }, (_, index) => torn.before + index);
    const borders = cuts.filter((cut) => (cut - 32) % 4120 < 26 || cut > torn.size - 3 || cut % 128 === 0);
    for (const cut of borders) expect(await torn.eventsAfterCut(cut)).toBe(torn.earlier);
    expect(await torn.eventsAfterCut(torn.size)).toBe(torn.earlier + 1);
    torn.remove();
  });
});
