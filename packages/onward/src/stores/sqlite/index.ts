export { openSqliteJournal, type SqliteJournalOptions } from './sqlite-journal.ts';
