import { expect, it } from 'vitest';
import type { Holder, Lease } from '../../../src/kernel/journal.ts';
import { createMemoryJournal } from '../../../src/stores/memory/index.ts';
import { createRunWriter, LeaseLost } from '../../../src/supervisor/run-writer.ts';
import type { RunState } from '../../../src/supervisor/run-state.ts';
import { createFakeClock } from '../../../src/testing/index.ts';

const holder = (id: string): Holder => ({ id, host: 'here', pid: 1, startedAt: '1' });

it('a writer whose run was taken over or erased keeps neither events nor texts of any length', async () => {
  const clock = createFakeClock();
  const journal = createMemoryJournal({ clock });
  const claim = async (id: string): Promise<Lease> => {
    const claimed = await journal.claim('run:x', holder(id), 1000);
    if (!claimed.ok) throw new Error('held');
    return claimed.lease;
  };
  const writer = createRunWriter(journal, clock, await claim('old'), { id: 'x', position: 0 } as RunState);
  const long = 'x'.repeat(100_000);
  await expect(writer.body(long)).resolves.toHaveProperty('blob');
  clock.jump(1000);
  const now = await claim('new');
  const event = { type: 'run.paused', v: 1, data: {} };
  await expect(writer.append([event])).rejects.toThrow(LeaseLost);
  await expect(writer.body(long)).rejects.toThrow(LeaseLost);
  await journal.erase('run:x', now.epoch);
  await expect(writer.append([event])).rejects.toThrow(LeaseLost);
  await expect(writer.body(long)).rejects.toThrow(LeaseLost);
});
