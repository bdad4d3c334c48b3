export { createMemoryJournal, type MemoryJournalOptions } from './memory-journal.ts';
