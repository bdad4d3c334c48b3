import type { Ids } from '../kernel/ports.ts';
import { examine } from './examine.ts';
import type { Finding } from './finding.ts';
import { withSession } from './open-session.ts';
import type { SessionFormat } from './session-reader.ts';
import { type RepairedCopy, writeRepaired } from './write-repaired.ts';

/** Says what a provider would refuse of a session file, and writes a copy that it takes. */
export { describeRepair } from './finding.ts';
export type { Finding, FindingKind, Repair } from './finding.ts';
export type { RepairedCopy } from './write-repaired.ts';
export type { SessionFormat } from './session-reader.ts';

/** What was found in a file. */
export interface SessionReport {
  readonly file: string;
  readonly format: SessionFormat;
  /** The id of the session, where the file names it. */
  readonly session: string | undefined;
  readonly lines: number;
  /** By line. */
  readonly findings: readonly Finding[];
  /** The copy, when one was written. */
  readonly repaired: RepairedCopy | undefined;
}

/** What is done with a file. */
export interface CheckOptions {
  readonly file: string;
  /** Where a repaired copy goes, if one is wanted. It is only written when there is something to repair, or `always`. */
  readonly repair?: { readonly to: string; readonly always: boolean };
  readonly ids: Ids;
}

/**
 * Checks a session file, and writes a repaired copy if that is wanted. Throws `session/unreadable`, `session/unknown-format`,
 * `session/several-streams`, `session/changed`, `session/target` and `session/not-repairable`.
 */
export async function checkSession({ file, repair, ids }: CheckOptions): Promise<SessionReport> {
  return withSession(file, async (open) => {
    const examined = await examine(open);
    await open.unchanged();
    const { findings, lines, session, reader } = examined;
    const wanted = repair !== undefined && (findings.length > 0 || repair.always);
    const repaired = wanted ? await writeRepaired({ open, examined, to: repair.to, ids }) : undefined;
    return { file, format: reader.format, session: session.id, lines, findings, repaired };
  });
}
