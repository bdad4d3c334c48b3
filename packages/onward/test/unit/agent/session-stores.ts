import type { Journal } from '../../../src/kernel/journal.ts';
import { createMemoryJournal } from '../../../src/stores/memory/index.ts';
import { createFakeClock, type FakeClock } from '../../../src/testing/index.ts';
import { quickHarness } from '../../fixtures/sqlite-harness.ts';
import { type BeforeAppend, type FaultyJournal, faultyJournal } from './faulty-journal.ts';

/** A store that outlives the processes which use it. */
export interface SessionStore {
  readonly clock: FakeClock;
  /** The journal as a new process has it; `kill()` on it ends that process. */
  open(before?: BeforeAppend): Promise<FaultyJournal>;
}

const ends: (() => Promise<void>)[] = [];

/** Closes and removes what a test made. */
export async function endStores(): Promise<void> {
  // oxlint-disable-next-line no-await-in-loop -- in reverse order of creation
  for (const end of ends.splice(0).toReversed()) await end();
}

/** The stores on which sessions are opened again. */
export const storeNames = ['memory', 'sqlite'] as const;

/** Makes one. */
export function sessionStore(name: (typeof storeNames)[number]): SessionStore {
  const clock = createFakeClock();
  if (name === 'memory') {
    const journal = createMemoryJournal({ clock });
    return { clock, open: async (before) => await Promise.resolve(faultyJournal(journal, before)) };
  }
  const harness = quickHarness();
  ends.push(async () => await Promise.resolve(harness.remove()));
  return {
    clock,
    open: async (before) => {
      const journal: Journal = await harness.open();
      ends.push(async () => await journal.close());
      return faultyJournal(journal, before);
    },
  };
}
