import { execFileSync, type ExecFileSyncOptionsWithStringEncoding } from 'node:child_process';
import type { ProcessRow } from './process-row.ts';

/** No locale and no time zone, since `lstart` is compared as text. */
const options = {
  encoding: 'utf8' as const,
  env: { PATH: '/bin:/usr/bin', LC_ALL: 'C', TZ: 'UTC' },
  maxBuffer: 64 * 1024 * 1024,
  stdio: 'pipe' as const,
} satisfies ExecFileSyncOptionsWithStringEncoding;

function ps(args: readonly string[]): string {
  try {
    return execFileSync('ps', [...args], options);
  } catch {
    return '';
  }
}

/** Every process, or one, where there is no /proc (macOS). */
export function listByPs(pid?: number): readonly ProcessRow[] {
  const which = pid === undefined ? ['-ax'] : ['-p', String(pid)];
  const text = ps([...which, '-o', 'pid=,ppid=,pgid=,state=,lstart=,comm=']);
  return text.split('\n').flatMap((line) => parseLine(line) ?? []);
}

function parseLine(line: string): ProcessRow | undefined {
  const match = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s+(\S+\s+\S+\s+\S+\s+\S+\s+\d{4})\s+(.*)$/.exec(line);
  if (match === null) return undefined;
  const [, pid, parent, group, state, startedAt, name] = match;
  if (state === undefined || startedAt === undefined || name === undefined || state.startsWith('Z')) return undefined;
  // macOS prints no session id; the group is the best that is known.
  const numbers = { pid: Number(pid), parent: Number(parent), group: Number(group), session: Number(group) };
  return { ...numbers, startedAt: startedAt.replaceAll(/\s+/g, ' '), name, ticks: undefined, isKernel: false };
}

/**
 * The environments of all processes, by pid, their variables separated by NUL as in /proc. One question for all: one for
 * each would start hundreds of processes. `ps` puts the environment behind the arguments, with blanks between; the
 * system shows it for our own processes at best.
 */
export function readEnvironmentsByPs(): ReadonlyMap<number, string> {
  return parseEnvironments(ps(['-E', '-ww', '-ax', '-o', 'pid=,command=']));
}

/** @internal */
export function parseEnvironments(text: string): ReadonlyMap<number, string> {
  const found = text.matchAll(/^\s*(\d+)\s+(\S.*)$/gm);
  return new Map(Array.from(found, ([, pid, rest = '']) => [Number(pid), rest.replaceAll(/\s+/g, '\0')] as const));
}
