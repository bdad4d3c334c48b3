import { createHash } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { hostname, homedir } from 'node:os';
import { platform } from 'node:process';
import { readProcess } from './process-table.ts';

/**
 * One process, for good: a pid is used again, a pid together with its start is not. `startedAt` is opaque; on Linux it
 * is boot id / pid namespace / start ticks.
 */
export interface ProcessIdentity {
  readonly pid: number;
  readonly startedAt: string;
}

/** What can be said about a process from its identity. */
export type Liveness = 'alive' | 'gone' | 'unknown';

/** The identity of a live process; `undefined` when there is none, or only a zombie. */
export function identify(pid: number): ProcessIdentity | undefined {
  const row = readProcess(pid);
  return row === undefined ? undefined : { pid: row.pid, startedAt: row.startedAt };
}

/** Where the process table cannot be read (Windows): nobody may be taken for dead. */
const UNREADABLE = 'unreadable';

let own: ProcessIdentity | undefined;

/** The identity of this process. */
export function ownIdentity(): ProcessIdentity {
  own ??= identify(process.pid) ?? { pid: process.pid, startedAt: UNREADABLE };
  return own;
}

/**
 * Whether that process lives. `unknown` when its pid belongs to another pid namespace of this boot (another container
 * of the same machine), so that a caller falls back on the lease instead of taking a live owner for a dead one.
 */
export function liveness(identity: ProcessIdentity): Liveness {
  if (identity.startedAt === UNREADABLE) return 'unknown';
  const [boot, namespace] = identity.startedAt.split('/');
  const [ownBoot, ownNamespace] = ownIdentity().startedAt.split('/');
  if (boot === ownBoot && namespace !== ownNamespace) return 'unknown';
  const found = identify(identity.pid);
  return found?.startedAt === identity.startedAt ? 'alive' : 'gone';
}

/** True unless that process is known to be gone. A zombie is gone; a pid used again by another process is gone. */
export function isAlive(identity: ProcessIdentity): boolean {
  return liveness(identity) !== 'gone';
}

/**
 * Names the host a CLI run belongs to: machine + user + home directory, as an opaque word that is the same in every
 * process and after a reboot. Hashed, since machine-id(5) asks not to publish the raw id.
 */
export function hostIdentity(): string {
  const user = process.getuid?.() ?? 'user';
  const home = process.env['HOME'] ?? homedir();
  const text = ['onward', machine(), String(user), home].join('\0');
  return `host-${createHash('sha256').update(text).digest('hex').slice(0, 24)}`;
}

function machine(): string {
  for (const path of ['/etc/machine-id', '/var/lib/dbus/machine-id']) {
    try {
      const id = readFileSync(path, 'utf8').trim();
      if (id !== '' && id !== 'uninitialized') return id;
    } catch {
      // Not on this platform, or not in this container.
    }
  }
  return (platform === 'darwin' ? hardwareUuid() : undefined) ?? hostname();
}

/** A Mac's host name follows its network, so it is only the last resort. */
function hardwareUuid(): string | undefined {
  try {
    const text = execFileSync('/usr/sbin/ioreg', ['-rd1', '-c', 'IOPlatformExpertDevice'], { encoding: 'utf8' });
    return /"IOPlatformUUID" = "([^"]+)"/.exec(text)?.[1];
  } catch {
    return undefined;
  }
}
