import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';

/**
 * Takes the lock file `lock`; false when a living process has it. Of several that find a dead holder only one gets it. It
 * names process id and start time, so that a kill frees it.
 */
export function takeLock(lock: string): boolean {
  for (;;) {
    if (createLock(lock)) return true;
    const holder = read(lock);
    if (holder === undefined) continue;
    if (isAlive(holder)) return false;
    if (!removeStale(lock, holder)) return false;
  }
}

/** Makes the lock file with its content in one step. */
function createLock(lock: string): boolean {
  const own = `${lock}.${process.pid}`;
  writeFileSync(own, identity(process.pid) ?? '');
  try {
    linkSync(own, lock);
    return true;
  } catch {
    return false;
  } finally {
    rmSync(own, { force: true });
  }
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

/** Takes away the lock of `holder`. False when it turns out to be a fresh one of somebody else; that is put back. */
export function removeStale(lock: string, holder: string): boolean {
  const aside = `${lock}.${process.pid}.stale`;
  try {
    renameSync(lock, aside);
  } catch {
    return true;
  }
  const stale = read(aside) === holder;
  if (!stale) linkSync(aside, lock);
  rmSync(aside, { force: true });
  return stale;
}

/** Process id and start time, so that a later process with the same id is not taken for it. */
function identity(pid: number): string | undefined {
  try {
    process.kill(pid, 0);
  } catch {
    return undefined;
  }
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' ? undefined : `${pid} ${fields[19] ?? ''}`;
  } catch {
    return String(pid);
  }
}

function isAlive(holder: string): boolean {
  const pid = Number(holder.split(' ')[0]);
  return pid > 0 && identity(pid) === holder;
}
