import { execFileSync, type ExecFileSyncOptionsWithStringEncoding } from 'node:child_process';
import { readFileSync, readdirSync, readlinkSync } from 'node:fs';
import { platform } from 'node:process';

/** One live process as the system lists it. Zombies are not live. */
export interface ProcessRow {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  /** When it was started, in the platform's own words: two processes that had the same pid differ in it. */
  readonly startedAt: string;
  /** The short name of the program, for messages. */
  readonly name: string;
}

/** Every live process that can be seen. */
export function listProcesses(): readonly ProcessRow[] {
  if (platform !== 'linux') return listByPs();
  const rows: ProcessRow[] = [];
  for (const name of readdirSync('/proc')) {
    const code = name.charCodeAt(0);
    if (code < 48 || code > 57) continue;
    const row = readProcess(Number(name));
    if (row !== undefined) rows.push(row);
  }
  return rows;
}

/** One process, or `undefined` when there is none, or only a zombie. */
export function readProcess(pid: number): ProcessRow | undefined {
  if (platform !== 'linux') return listByPs(pid)[0];
  const text = readOrNothing(`/proc/${pid}/stat`);
  return text === undefined ? undefined : parseStat(text);
}

/** What is known of one variable in the environment a process was started with. */
export type Variable =
  | { readonly kind: 'value'; readonly value: string }
  /** Not set, or not ours to read. */
  | { readonly kind: 'absent' }
  /** The process is executing a new program right now and shows neither environment nor arguments: look again. */
  | { readonly kind: 'executing' };

/** Reads one variable of another process. */
export function readVariable(pid: number, name: string): Variable {
  const text = platform === 'linux' ? readOrNothing(`/proc/${pid}/environ`) : readEnvironmentByPs(pid);
  if (text === undefined) return { kind: 'absent' };
  if (text === '') return { kind: isExecuting(pid) ? 'executing' : 'absent' };
  const prefix = `${name}=`;
  const at = text.startsWith(prefix) ? 0 : text.indexOf(`\0${prefix}`) + 1;
  if (at === 0 && !text.startsWith(prefix)) return { kind: 'absent' };
  const end = text.indexOf('\0', at);
  return { kind: 'value', value: text.slice(at + prefix.length, end === -1 ? undefined : end) };
}

/** PF_KTHREAD of the kernel's sched.h: kernel threads have no environment either. */
const KERNEL_THREAD = 0x00200000;

/** Both texts appear at one point in the middle of execve; a cleared environment still comes with arguments. */
function isExecuting(pid: number): boolean {
  if (platform !== 'linux' || readOrNothing(`/proc/${pid}/cmdline`) !== '') return false;
  const fields = readOrNothing(`/proc/${pid}/stat`)
    ?.replace(/^.*\) /, '')
    .split(' ');
  return fields !== undefined && fields[0] !== 'Z' && (Number(fields[6]) & KERNEL_THREAD) === 0;
}

/**
 * proc(5): pid (name) state ppid pgrp session ... starttime(22). The name may hold anything, also `) `.
 * @internal
 */
export function parseStat(text: string): ProcessRow | undefined {
  const open = text.indexOf('(');
  const close = text.lastIndexOf(')');
  const [state, parent, group, session, ...rest] = text.slice(close + 2).split(' ');
  const ticks = rest[15];
  if (ticks === undefined || state === 'Z' || state === 'X') return undefined;
  return {
    pid: Number(text.slice(0, open - 1)),
    parent: Number(parent),
    group: Number(group),
    session: Number(session),
    startedAt: `${bootAndNamespace()}/${ticks}`,
    name: text.slice(open + 1, close),
  };
}

let epoch: string | undefined;

/** Start ticks count from boot, and a pid means something only inside its pid namespace (a container has its own). */
function bootAndNamespace(): string {
  if (epoch !== undefined) return epoch;
  const boot = readOrNothing('/proc/sys/kernel/random/boot_id')?.trim() ?? 'boot';
  let namespace = 'pid';
  try {
    namespace = readlinkSync('/proc/self/ns/pid').replaceAll(/\D/g, '');
  } catch {
    // Hidden by some sandboxes: then all of them look like one namespace.
  }
  epoch = `${boot}/${namespace}`;
  return epoch;
}

function readOrNothing(path: string): string | undefined {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return undefined;
  }
}

/** No locale and no time zone, since `lstart` is compared as text. */
const psOptions = {
  encoding: 'utf8' as const,
  env: { PATH: '/bin:/usr/bin', LC_ALL: 'C', TZ: 'UTC' },
  maxBuffer: 64 * 1024 * 1024,
  stdio: 'pipe' as const,
} satisfies ExecFileSyncOptionsWithStringEncoding;

function ps(args: readonly string[]): string {
  try {
    return execFileSync('ps', [...args], psOptions);
  } catch {
    return '';
  }
}

/** Where there is no /proc (macOS). @internal */
export function listByPs(pid?: number): readonly ProcessRow[] {
  const which = pid === undefined ? ['-ax'] : ['-p', String(pid)];
  const text = ps([...which, '-o', 'pid=,ppid=,pgid=,state=,lstart=,comm=']);
  return text.split('\n').flatMap((line) => parsePsLine(line) ?? []);
}

function parsePsLine(line: string): ProcessRow | undefined {
  const match = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s+(\S+\s+\S+\s+\S+\s+\S+\s+\d{4})\s+(.*)$/.exec(line);
  if (match === null) return undefined;
  const [, pid, parent, group, state, startedAt, name] = match;
  if (state === undefined || startedAt === undefined || name === undefined || state.startsWith('Z')) return undefined;
  // macOS prints no session id; the group is the best that is known.
  const numbers = { pid: Number(pid), parent: Number(parent), group: Number(group), session: Number(group) };
  return { ...numbers, startedAt: startedAt.replaceAll(/\s+/g, ' '), name };
}

/** `ps` puts the environment behind the arguments, with blanks between; the system shows it for our own processes at best. */
function readEnvironmentByPs(pid: number): string {
  return ps(['-E', '-ww', '-p', String(pid), '-o', 'command=']).replaceAll(/\s+/g, '\0');
}
