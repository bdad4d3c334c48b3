import { createRedactor } from '../../../src/kernel/redact.ts';
import { openSqliteJournal, type RunStreamEvent } from '../../../src/library/index.ts';
import { systemClock, systemRandom } from '../../../src/processes/index.ts';
import { runStream, toStreamEvent } from '../../../src/supervisor/index.ts';
import type { Place } from './place.ts';

/** Everything on record of a run, straight from its journal. */
export async function readEvents(place: Place, id: string): Promise<readonly RunStreamEvent[]> {
  const journal = await openSqliteJournal({ path: place.journal, clock: systemClock, random: systemRandom });
  try {
    const stored = await journal.read(runStream(id));
    return stored.flatMap((event) => toStreamEvent(id, event, createRedactor({})) ?? []);
  } finally {
    await journal.close();
  }
}
