export type { AlteredField, Damage, JournalCapability, JournalCase, JournalHarness } from './journal-case.ts';
export { type ElsewhereReport, type ElsewhereWork, workElsewhere } from './journal-cases/elsewhere.ts';
export { journalContract, skipReason } from './journal-suite.ts';
