import { readdirSync, readlinkSync } from 'node:fs';
import { platform } from 'node:process';
import { readProcFile } from './proc-file.ts';
import type { ProcessRow } from './process-row.ts';
import { listByPs, readEnvironmentsByPs } from './ps.ts';

/** Every live process that can be seen. */
export function listProcesses(): readonly ProcessRow[] {
  if (platform !== 'linux') return listByPs();
  const rows: ProcessRow[] = [];
  for (const name of readdirSync('/proc')) {
    const code = name.charCodeAt(0);
    if (code < 48 || code > 57) continue;
    const row = readRow(name);
    if (row !== undefined) rows.push(row);
  }
  return rows;
}

/** One process, or `undefined` when there is none, or only a zombie. */
export function readProcess(pid: number): ProcessRow | undefined {
  return platform === 'linux' ? readRow(String(pid)) : listByPs(pid)[0];
}

function readRow(pid: string): ProcessRow | undefined {
  const text = readProcFile(`/proc/${pid}/stat`);
  return text === undefined ? undefined : parseStat(text);
}

/** What is known of one variable in the environment a process was started with. */
export type Variable =
  | { readonly kind: 'value'; readonly value: string }
  /** Not set, or not ours to read. */
  | { readonly kind: 'absent' }
  /** The process is executing a new program right now and shows neither environment nor arguments: look again. */
  | { readonly kind: 'executing' };

/** Gives a reader of one variable of other processes, for one look at them. */
export function variableReader(name: string): (row: ProcessRow) => Variable {
  if (platform === 'linux') return (row) => readVariable(row, name);
  const environments = readEnvironmentsByPs();
  return ({ pid }) => findVariable(environments.get(pid) ?? '', name);
}

function readVariable({ pid, isKernel }: ProcessRow, name: string): Variable {
  const text = isKernel ? undefined : readProcFile(`/proc/${pid}/environ`);
  if (text === '' && isExecuting(pid)) return { kind: 'executing' };
  return findVariable(text ?? '', name);
}

function findVariable(text: string, name: string): Variable {
  const prefix = `${name}=`;
  const at = text.startsWith(prefix) ? 0 : text.indexOf(`\0${prefix}`) + 1;
  if (at === 0 && !text.startsWith(prefix)) return { kind: 'absent' };
  const end = text.indexOf('\0', at);
  return { kind: 'value', value: text.slice(at + prefix.length, end === -1 ? undefined : end) };
}

/** Both texts appear at one point in the middle of execve; a cleared environment still comes with arguments. */
function isExecuting(pid: number): boolean {
  return readProcFile(`/proc/${pid}/cmdline`) === '' && readProcess(pid) !== undefined;
}

/** PF_KTHREAD of the kernel's sched.h. */
const KERNEL_THREAD = 0x00200000;

/**
 * proc(5): pid (name) state(3) ppid pgrp session tty tpgid flags(9) ... starttime(22). The name may hold anything, also `) `.
 * @internal
 */
export function parseStat(text: string): ProcessRow | undefined {
  const open = text.indexOf('(');
  const close = text.lastIndexOf(')');
  const fields = text.slice(close + 2).split(' ', 20);
  const [state, parent, group, session] = fields;
  const ticks = fields[19];
  if (ticks === undefined || state === 'Z' || state === 'X') return undefined;
  return {
    pid: Number(text.slice(0, open - 1)),
    parent: Number(parent),
    group: Number(group),
    session: Number(session),
    startedAt: `${bootAndNamespace()}/${ticks}`,
    ticks: Number(ticks),
    name: text.slice(open + 1, close),
    isKernel: (Number(fields[6]) & KERNEL_THREAD) !== 0,
  };
}

/** The ticks in a `startedAt`; `undefined` when it is of another boot or pid namespace, or tells none. */
export function ticksOf(startedAt: string): number | undefined {
  const prefix = `${bootAndNamespace()}/`;
  if (platform !== 'linux' || !startedAt.startsWith(prefix)) return undefined;
  const ticks = startedAt.slice(prefix.length);
  return /^\d+$/.test(ticks) ? Number(ticks) : undefined;
}

let epoch: string | undefined;

/** Start ticks count from boot, and a pid means something only inside its pid namespace (a container has its own). */
function bootAndNamespace(): string {
  if (epoch !== undefined) return epoch;
  const boot = readProcFile('/proc/sys/kernel/random/boot_id')?.trim() ?? 'boot';
  let namespace = 'pid';
  try {
    namespace = readlinkSync('/proc/self/ns/pid').replaceAll(/\D/g, '');
  } catch {
    // Hidden by some sandboxes: then all of them look like one namespace.
  }
  epoch = `${boot}/${namespace}`;
  return epoch;
}
