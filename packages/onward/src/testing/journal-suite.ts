import type { JournalCapability, JournalCase } from './journal-case.ts';
import { appendCases } from './journal-cases/append.ts';
import { badInputCases } from './journal-cases/bad-input.ts';
import { blobCases } from './journal-cases/blobs.ts';
import { damageCases } from './journal-cases/damage.ts';
import { dueCases } from './journal-cases/due.ts';
import { eraseCases } from './journal-cases/erase.ts';
import { followCases } from './journal-cases/follow.ts';
import { inboxCases } from './journal-cases/inbox.ts';
import { leaseCases } from './journal-cases/lease.ts';
import { racingCases } from './journal-cases/racing.ts';
import { reopenCases } from './journal-cases/reopen.ts';

/** The journal contract as data: run each case against a fresh harness with any test runner. */
export const journalContract: readonly JournalCase[] = [
  ...appendCases,
  ...badInputCases,
  ...inboxCases,
  ...dueCases,
  ...leaseCases,
  ...blobCases,
  ...eraseCases,
  ...followCases,
  ...racingCases,
  ...reopenCases,
  ...damageCases,
];

/** Why a case cannot run on a store, or `undefined` when it can. */
export function skipReason(journalCase: JournalCase, capabilities: readonly JournalCapability[]): string | undefined {
  const missing = journalCase.needs.filter((need) => !capabilities.includes(need));
  return missing.length === 0 ? undefined : `the store is not ${missing.join(', ')}`;
}
