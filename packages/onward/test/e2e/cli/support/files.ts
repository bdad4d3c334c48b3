import { createHash } from 'node:crypto';
import { existsSync, lstatSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Every file and folder below a folder, itself included. */
export function allBelow(folder: string): readonly string[] {
  if (!lstatSync(folder).isDirectory()) return [folder];
  return [folder, ...readdirSync(folder).flatMap((name) => allBelow(join(folder, name)))];
}

/** Names and contents of the journal's own files, as a hash each. */
export function fingerprint(journal: string): Readonly<Record<string, string>> {
  const files = [journal, `${journal}-wal`, `${journal}-shm`].filter((path) => existsSync(path));
  return Object.fromEntries(files.map((path) => [path, createHash('sha256').update(readFileSync(path)).digest('hex')]));
}
