import { spawn, type ChildProcess, type StdioOptions } from 'node:child_process';
import { closeSync, constants, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { assertNever } from '../kernel/error.ts';
import type { Signal } from '../kernel/signal.ts';
import { createAgentInput, type WriteResult } from './agent-input.ts';
import { identify, type ProcessIdentity } from './identity.ts';
import { MARKER_VARIABLE, requireMarker } from './marker.ts';
import { requirePosix } from './platform.ts';
import { ensurePrivateDir } from './private-dir.ts';
import { checkCwd, explainSpawnError, type SpawnFault } from './spawn-fault.ts';

/**
 * What the agent reads: `open`, a pipe that stays open until `endInput`; `none`, nothing, at once; `bytes`, exactly these
 * (through a file in the spool, so that a slow reader and our death lose nothing); `file`, the content of a file.
 */
export type AgentStdin =
  | { readonly kind: 'open' }
  | { readonly kind: 'none' }
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array }
  | { readonly kind: 'file'; readonly path: string };

/** One start of an agent CLI. */
export interface AgentStart {
  /** The program and its arguments, as they are: no shell reads them. */
  readonly argv: readonly string[];
  readonly cwd: string;
  /** The whole environment; the marker is added. */
  readonly env: Readonly<Record<string, string>>;
  /** Names the attempt: every process of it carries it in its environment. */
  readonly marker: string;
  /** Gets the files `stdout` and `stderr`, appended to by the agent itself, so that they outlive us. */
  readonly spoolDir: string;
  readonly stdin: AgentStdin;
}

/** How a process ended: exactly one of the two is set. */
export interface AgentExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A started agent. Its processes are ended by a ladder and a sweep, not here. */
export interface Agent {
  /** The process that was started: a wrapper, maybe. It leads a session and a group of its own. */
  readonly identity: ProcessIdentity;
  readonly stdoutPath: string;
  readonly stderrPath: string;
  /** At the exit of that process, whoever still holds its output open. Never rejects. */
  readonly exited: Promise<AgentExit>;
  /** Writes one line (the line end is added) and resolves when the system has taken it: await it, that is backpressure. */
  write(line: string, signal?: Signal): Promise<WriteResult>;
  /** Ends the input, after what was written. Twice is fine. */
  endInput(): void;
}

/** Started, or why not. */
export type AgentStartResult =
  | { readonly started: true; readonly agent: Agent }
  | { readonly started: false; readonly fault: SpawnFault };

/** Starts an agent in a session of its own, its output going straight into the spool. */
export async function startAgent(start: AgentStart): Promise<AgentStartResult> {
  requirePosix('Running an agent');
  requireMarker(start.marker);
  const cwdFault = checkCwd(start.cwd);
  if (cwdFault !== undefined) return { started: false, fault: cwdFault };
  const folder = await ensurePrivateDir(start.spoolDir);
  const spool = openSpool(folder, start.stdin);
  if ('fault' in spool) return { started: false, fault: spool.fault };
  try {
    const child = spawnDetached(start, spool.stdio);
    if (child.pid === undefined) return { started: false, fault: explainSpawnError(await failure(child), start) };
    return { started: true, agent: describe(child, child.pid, folder) };
  } catch (error) {
    return { started: false, fault: explainSpawnError(error, start) };
  } finally {
    for (const fd of spool.opened) closeSync(fd);
  }
}

function spawnDetached(start: AgentStart, stdio: StdioOptions): ChildProcess {
  const [program = '', ...args] = start.argv;
  const env = { ...start.env, [MARKER_VARIABLE]: start.marker };
  return spawn(program, args, { cwd: start.cwd, env, stdio, detached: true, shell: false });
}

function failure(child: ChildProcess): Promise<unknown> {
  return new Promise((resolve) => child.once('error', resolve));
}

function describe(child: ChildProcess, pid: number, folder: string): Agent {
  const exited = new Promise<AgentExit>((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }));
  });
  // Sent signals go through process.kill, so this hears nothing; it only keeps a late error from being thrown.
  child.on('error', () => undefined);
  const input = createAgentInput(child.stdin);
  return {
    // Even if it has ended by now it is a zombie until we return to the event loop, but a zombie has no identity here.
    identity: identify(pid) ?? { pid, startedAt: 'ended' },
    stdoutPath: join(folder, 'stdout'),
    stderrPath: join(folder, 'stderr'),
    exited,
    write: input.write,
    endInput: input.end,
  };
}

type Spool = { readonly stdio: StdioOptions; readonly opened: readonly number[] } | { readonly fault: SpawnFault };

function openSpool(folder: string, stdin: AgentStdin): Spool {
  const opened: number[] = [];
  const open = (path: string, flags: number): number => {
    const fd = openSync(path, flags | constants.O_NOFOLLOW, 0o600);
    opened.push(fd);
    return fd;
  };
  const append = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT;
  try {
    const input = openInput(folder, stdin, open);
    const output = open(join(folder, 'stdout'), append);
    const errors = open(join(folder, 'stderr'), append);
    return { stdio: [input, output, errors], opened };
  } catch (error) {
    for (const fd of opened) closeSync(fd);
    const code = (error as NodeJS.ErrnoException).code ?? 'UNKNOWN';
    return {
      fault: { reason: 'spool-unusable', code, sentence: `The files in ${folder} cannot be opened (${code}).` },
    };
  }
}

function openInput(
  folder: string,
  stdin: AgentStdin,
  open: (path: string, flags: number) => number,
): 'pipe' | 'ignore' | number {
  switch (stdin.kind) {
    case 'open':
      return 'pipe';
    case 'none':
      return 'ignore';
    case 'bytes': {
      const path = join(folder, 'stdin');
      writeFileSync(path, stdin.bytes, { mode: 0o600 });
      return open(path, constants.O_RDONLY);
    }
    case 'file':
      return open(stdin.path, constants.O_RDONLY);
    default:
      return assertNever(stdin, 'openInput');
  }
}
