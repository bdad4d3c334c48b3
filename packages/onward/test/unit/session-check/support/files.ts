import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { Ids } from '../../../../src/kernel/ports.ts';
import { checkSession, type SessionReport } from '../../../../src/session-check/index.ts';

/** Ids in a row. */
export function countedIds(): Ids {
  let count = 0;
  return { uuid: () => `0000aaaa-0000-7000-8000-${String((count += 1)).padStart(12, '0')}` };
}

/** A folder for this test alone. */
export function createFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'onward-session-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** What came of a file. */
export interface Repaired {
  readonly report: SessionReport;
  /** The copy; the file itself where it was clean. */
  readonly text: string;
  /** The check of the copy. */
  readonly again: SessionReport;
}

/** Checks these bytes, repairs them, and checks the copy. */
export async function repair(content: string | Buffer, folder: string, name = 'session.jsonl'): Promise<Repaired> {
  const file = join(folder, name);
  const to = join(folder, `${name}.repaired.jsonl`);
  rmSync(to, { force: true });
  writeFileSync(file, content);
  const report = await checkSession({ file, repair: { to, always: true }, ids: countedIds() });
  const again = await checkSession({ file: to, ids: countedIds() });
  return { report, text: readFileSync(to, 'utf8'), again };
}

/** Only checks. */
export async function check(content: string | Buffer, folder: string): Promise<SessionReport> {
  const file = join(folder, 'checked.jsonl');
  writeFileSync(file, content);
  return checkSession({ file, ids: countedIds() });
}

/** Kinds with their lines, for people. */
export function kindsOf({ findings }: Pick<SessionReport, 'findings'>): readonly string[] {
  return findings.map(({ line, kind }) => `${line} ${kind}`);
}
