import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** How a tool command ended. */
export interface ToolOutcome {
  readonly stdout: string;
  readonly stderr: string;
  /** Exit code, or 128 and more when a signal ended it. */
  readonly code: number;
}

/** A tool command that is running. */
export interface RunningTool {
  /** Its process id, which is also that of its session; absent when it could not be started. */
  readonly pid: number | undefined;
  readonly done: Promise<ToolOutcome>;
  /** Ends it and all of its session. */
  stop(): void;
}

/**
 * Runs a tool command in a session of its own, as the real CLIs do: it survives a signal to their group. Its output goes to
 * files in `folder`, so that a child it leaves behind does not keep anybody waiting.
 */
export function startTool(command: string, id: string, folder: string): RunningTool {
  const base = join(folder, `tool-${process.pid}-${id.replaceAll(/\W/g, '_')}`);
  const files = [`${base}.out`, `${base}.err`] as const;
  const [out, err] = [openSync(files[0], 'w'), openSync(files[1], 'w')];
  const child = spawn('/bin/sh', ['-c', command], {
    detached: true,
    stdio: ['ignore', out, err],
    env: { ...process.env, CLAUDECODE: '1' },
  });
  closeSync(out);
  closeSync(err);
  const done = new Promise<ToolOutcome>((resolve) => {
    child.once('error', (error) => resolve({ stdout: '', stderr: String(error), code: 127 }));
    child.once('exit', (code, signal) => {
      const [stdout, stderr] = [readFileSync(files[0], 'utf8'), readFileSync(files[1], 'utf8')];
      resolve({ stdout, stderr, code: code ?? 128 + (signal === null ? 0 : signalNumber(signal)) });
    });
  });
  return { pid: child.pid, done, stop: () => killGroup(child) };
}

function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch {
    // It ended by itself in the meantime.
  }
}

function signalNumber(name: NodeJS.Signals): number {
  return name === 'SIGKILL' ? 9 : name === 'SIGTERM' ? 15 : name === 'SIGINT' ? 2 : 1;
}

/** Runs a command that nobody is told about, to its end. */
export async function runQuietly(command: string): Promise<void> {
  const child = spawn('/bin/sh', ['-c', command], { stdio: 'ignore' });
  await new Promise<void>((resolve) => {
    child.once('error', () => resolve());
    child.once('exit', () => resolve());
  });
}

/** Starts a process that outlives this one, and gives its process id. */
export function startGrandchild(
  command: string | undefined,
  how: { readonly ownSession?: boolean; readonly holdStdout?: boolean },
): number | undefined {
  const child = spawn('/bin/sh', ['-c', command ?? 'exec sleep 600'], {
    detached: how.ownSession === true,
    stdio: ['ignore', how.holdStdout === true ? 'inherit' : 'ignore', 'ignore'],
  });
  child.unref();
  return child.pid;
}
