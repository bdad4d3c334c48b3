import { mkdirSync, realpathSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { OnwardError } from '../kernel/error.ts';
import { requirePosix } from './platform.ts';

const OTHERS_WRITE = 0o002;
const GROUP_WRITE = 0o020;
const STICKY = 0o1000;

/**
 * Makes a directory, and what is missing above it, with mode 0700, and returns its real path. A directory that exists
 * is left as it is, but refused (it, or one above it) when somebody else could put another one in its place.
 * @throws OnwardError `processes/unsafe-directory`
 */
export async function ensurePrivateDir(path: string): Promise<string> {
  requirePosix('A private directory');
  const target = resolve(path);
  makeChain(target);
  const real = realpathSync.native(target);
  checkChain(real);
  return real;
}

/** In place, as all of this: a handful of calls that each take microseconds. */
function makeChain(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'ENOENT' && dirname(path) !== path) {
      makeChain(dirname(path));
      makeChain(path);
    } else if (code !== 'EEXIST' || !statSync(path).isDirectory()) {
      throw unsafe(path, `it cannot be made (${code})`, error);
    }
  }
}

function checkChain(real: string): void {
  const own = statSync(real);
  if (own.uid !== process.getuid?.()) throw unsafe(real, 'it belongs to another user');
  for (let path = real; ; path = dirname(path)) {
    const problem = problemOf(statSync(path));
    if (problem !== undefined) throw unsafe(path, problem);
    if (dirname(path) === path) return;
  }
}

function problemOf(found: { uid: number; gid: number; mode: number }): string | undefined {
  if (found.uid !== 0 && found.uid !== process.getuid?.()) return 'it belongs to another user';
  if ((found.mode & STICKY) !== 0) return undefined;
  if ((found.mode & OTHERS_WRITE) !== 0) return 'everybody may write to it';
  if ((found.mode & GROUP_WRITE) !== 0 && !isOwnGroup(found)) return 'its group may write to it';
  return undefined;
}

/** Where each user has a group of their own (user private groups, umask 002), that group is nobody else. */
function isOwnGroup(found: { uid: number; gid: number }): boolean {
  return found.gid === 0 || (found.gid === process.getgid?.() && found.gid === found.uid);
}

function unsafe(path: string, why: string, cause?: unknown): OnwardError {
  return new OnwardError('processes/unsafe-directory', `The directory ${path} cannot be used: ${why}.`, {
    place: path,
    next: [`chmod go-w '${path}'`, 'Choose another directory with --journal or ONWARD_JOURNAL.'],
    cause,
  });
}
