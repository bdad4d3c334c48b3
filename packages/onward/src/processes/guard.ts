import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import type { Writable } from 'node:stream';
import { guardScript } from './guard-script.ts';
import { identify, type ProcessIdentity } from './identity.ts';
import { GUARD_MARKER, MARKER_VARIABLE, requireMarker } from './marker.ts';
import { requirePosix } from './platform.ts';
import { explainSpawnError, type SpawnFault } from './spawn-fault.ts';

/** A small shell that ends the processes of one attempt if we die, however we die. */
export interface Guard {
  readonly identity: ProcessIdentity;
  /** Tells which process leads the agent's group: what cleared its environment but stayed in the group is found by it. */
  watch(agent: ProcessIdentity): void;
  /** All is well, the attempt is swept: the guard goes without doing anything. Resolves when it has gone. */
  release(): Promise<void>;
  /** When the guard has gone: before `release` that means the attempt is unguarded. Never rejects. */
  readonly exited: Promise<void>;
}

/** On watch, or why not. */
export type GuardStartResult =
  | { readonly started: true; readonly guard: Guard }
  | { readonly started: false; readonly fault: SpawnFault };

/** What to guard; `method` is chosen by the platform unless a test chooses. */
export interface GuardStart {
  readonly marker: string;
  readonly method?: 'proc' | 'plain' | 'ps';
  /** The leader of the agent's group, for a guard that is started after it: then there is no moment without that. */
  readonly agent?: ProcessIdentity;
}

/**
 * Starts the guard; do it before the agent. It has a session of its own (no Ctrl-C, no group kill reaches it), none of our
 * standard streams (a pipe after us must end with us), a cleared environment, and reads end of file on its fd 3 when the
 * last process with our end, that is Onward alone, has gone.
 *
 * It cannot end what cleared its environment *and* left the agent's group; nor anything once it was killed itself.
 */
export async function startGuard({ marker, method, agent }: GuardStart): Promise<GuardStartResult> {
  requirePosix('Guarding an agent');
  requireMarker(marker);
  const how = method ?? (existsSync('/proc/self/environ') ? 'proc' : 'ps');
  const env = { PATH: '/usr/bin:/bin', LC_ALL: 'C', [MARKER_VARIABLE]: GUARD_MARKER };
  const argv = ['/bin/sh', '-c', guardScript, 'onward-guard', marker, how, String(agent?.pid ?? '')] as const;
  const subject = { argv, cwd: '/', env };
  try {
    const [program, ...args] = argv;
    const child = spawn(program, args, {
      cwd: '/',
      env,
      detached: true,
      stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
    });
    if (child.pid === undefined) return { started: false, fault: explainSpawnError(await failure(child), subject) };
    return { started: true, guard: describe(child, child.pid) };
  } catch (error) {
    return { started: false, fault: explainSpawnError(error, subject) };
  }
}

function failure(child: ChildProcess): Promise<unknown> {
  return new Promise((resolve) => child.once('error', resolve));
}

function describe(child: ChildProcess, pid: number): Guard {
  const pipe = child.stdio[3] as Writable & { unref?: () => void };
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  child.on('error', () => undefined);
  // A guard that was killed: the next line meets EPIPE, which `exited` has told already.
  pipe.on('error', () => undefined);
  void exited.then(() => pipe.destroy());
  // It must never be the reason why a finished Onward does not end.
  child.unref();
  pipe.unref?.();
  return {
    identity: identify(pid) ?? { pid, startedAt: 'ended' },
    watch: (agent) => {
      if (pipe.writable) pipe.write(`agent ${agent.pid}\n`);
    },
    release: async () => {
      if (pipe.writable) pipe.end('done\n');
      child.ref();
      await exited;
    },
    exited,
  };
}
