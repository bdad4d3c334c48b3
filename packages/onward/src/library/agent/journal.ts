import { type AnswerInput, answerQuestion, type AnswerResult } from '../../effects/index.ts';
import { OnwardError } from '../../kernel/error.ts';
import type { Journal } from '../../kernel/journal.ts';
import { systemClock, systemRandom } from '../../processes/index.ts';
import { createMemoryJournal as createJournal, type MemoryJournalOptions } from '../../stores/memory/index.ts';
import { openSqliteJournal } from '../../stores/sqlite/index.ts';

/**
 * Opens a journal in a SQLite file of this user alone (0600); it is made when it is not there. Several processes may have it
 * open. Throws `journal/...` for a file that is none, damaged, or of a newer version.
 */
export async function openJournal(path: string): Promise<Journal> {
  // SQLite's name for a database in memory would become a file of that name here.
  if (typeof path !== 'string' || path.trim() === '' || path === ':memory:')
    throw new OnwardError('journal/bad-path', `A journal is kept in a file; ${JSON.stringify(path)} names none.`, {
      place: 'path',
      next: ['For one that ends with the process: createMemoryJournal().'],
    });
  return await openSqliteJournal({ path, clock: systemClock, random: systemRandom });
}

/** A journal that ends with the process, for tests and for questions that are answered in it. Default clock: the machine's. */
export function createMemoryJournal(options: Partial<MemoryJournalOptions> = {}): Journal {
  return createJournal({ clock: systemClock, ...options });
}

/** Answers a question, from any process that has the journal open. The first answer wins; a later one hears which it was. */
export async function answer(journal: Journal, question: string, input: AnswerInput): Promise<AnswerResult> {
  return await answerQuestion(journal, question, input, systemClock);
}
