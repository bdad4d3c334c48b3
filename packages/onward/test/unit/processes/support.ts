import { spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtemp, readdir, readFile, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import {
  findProcesses,
  startAgent,
  sweep,
  systemClock,
  type Agent,
  type AgentStart,
} from '../../../src/processes/index.ts';

/** Waits for a fact, not for a time: looks every few milliseconds until `look` gives something or the deadline ends. */
export async function until<T>(what: string, look: () => T | Promise<T>, deadlineMs = 15_000): Promise<NonNullable<T>> {
  const end = performance.now() + deadlineMs;
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== null && found !== false) return found;
    if (performance.now() > end) throw new Error(`did not come true within ${deadlineMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** A folder of this test, removed afterwards. */
export async function makeFolder(): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'onward-test-')));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** A marker of this test; whatever still carries it at the end is killed. */
export function makeMarker(): string {
  const marker = `test-${randomUUID()}`;
  onTestFinished(async () => {
    await sweep({ marker, clock: systemClock, boundMs: 5_000 });
  });
  return marker;
}

export const plainEnv: Record<string, string> = { PATH: process.env['PATH'] ?? '/usr/bin:/bin' };

/** Starts `sh -c script` as an agent; the test must get one. */
export async function startShell(script: string, rest: Partial<AgentStart> = {}): Promise<Agent> {
  const folder = await makeFolder();
  const result = await startAgent({
    argv: ['sh', '-c', script],
    cwd: folder,
    env: plainEnv,
    marker: rest.marker ?? makeMarker(),
    spoolDir: join(folder, 'spool'),
    stdin: { kind: 'none' },
    ...rest,
  });
  if (!result.started) throw new Error(result.fault.sentence);
  return result.agent;
}

/** The number of live processes with this marker. */
export function countMarked(marker: string): number {
  return findProcesses({ marker }).length;
}

/** Open descriptors of this process. */
export async function countDescriptors(): Promise<number> {
  return (await readdir('/proc/self/fd')).length;
}

/** Starts a plain child that is ended after the test by its pid. */
export function startForeign(
  program: string,
  args: readonly string[],
  env: Record<string, string> = plainEnv,
): ChildProcess {
  const child = spawn(program, args, { env, stdio: 'ignore' });
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  return child;
}

export async function readText(path: string): Promise<string> {
  return readFile(path, 'utf8').catch(() => '');
}
