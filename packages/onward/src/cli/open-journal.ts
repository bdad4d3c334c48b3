import { join } from 'node:path';
import { OnwardError } from '../kernel/error.ts';
import type { Journal } from '../kernel/journal.ts';
import { stateFolder } from '../library/index.ts';
import { systemClock, systemRandom } from '../processes/index.ts';
import { openSqliteJournal } from '../stores/sqlite/index.ts';
import type { Io } from './io.ts';

/** Where the journal is: `--journal`, else `ONWARD_JOURNAL`, else one file for each user, never in a working tree. */
export function journalPath(io: Io, flag: string | undefined): string {
  const named = flag ?? io.env['ONWARD_JOURNAL'];
  if (named === undefined || named === '') return join(stateFolder(io.env), 'journal.db');
  if (/^postgres(ql)?:\/\//.test(named)) {
    throw new OnwardError('cli/no-postgres', 'A journal in Postgres is not supported yet.', {
      place: '--journal',
      next: ['Give the path of a file.'],
    });
  }
  return named;
}

/** Opens the journal for a command and closes it afterwards, whatever happens. */
export async function withJournal<Result>(
  io: Io,
  flag: string | undefined,
  use: (journal: Journal) => Promise<Result>,
): Promise<Result> {
  const journal = await openSqliteJournal({ path: journalPath(io, flag), clock: systemClock, random: systemRandom });
  try {
    return await use(journal);
  } finally {
    await journal.close();
  }
}
