import { describe, expect, test } from 'vitest';
import type { Engine } from '../../../src/engines/engine.ts';
import { createInProcessEngine } from '../../../src/engines/in-process/index.ts';
import { createMemoryJournal } from '../../../src/stores/memory/index.ts';
import { engineSuite } from '../../../src/testing/engine-suite.ts';
import { createFakeClock } from '../../../src/testing/fake-clock.ts';

describe('the in-process engine keeps the contract of engines', () => {
  test.each(engineSuite.map((one) => [one.name, one] as const))('%s', async (_name, one) => {
    const clock = createFakeClock();
    const journal = createMemoryJournal({ clock });
    const engines: Engine[] = [];
    const pollMs = 1000;
    const run = one.run({
      journal,
      clock,
      pollMs,
      engine: (work, onError) => {
        const engine = createInProcessEngine({ journal, work, clock, pollMs, ...(onError && { onError }) });
        engines.push(engine);
        return engine;
      },
    });
    await expect(run).resolves.toBeUndefined();
    // Work that hangs on purpose keeps a disposal waiting, so nobody waits for the disposal here.
    for (const engine of engines) void engine[Symbol.asyncDispose]();
    await journal.close();
  });
});
