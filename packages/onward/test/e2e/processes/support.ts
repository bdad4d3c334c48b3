import { spawn, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { onTestFinished } from 'vitest';
import { plainEnv } from '../../unit/processes/support.ts';

/** A fixture program that runs in a Node of its own. */
export interface Program {
  readonly child: ChildProcess;
  readonly pid: number;
  /** The next line of its stdout; `undefined` at its end. */
  nextLine(): Promise<string | undefined>;
  /** When the process has ended. */
  readonly exited: Promise<number | null>;
  killHard(): void;
}

/** Starts a fixture; it is killed, by its pid, after the test. */
export function startProgram(name: string, args: readonly string[]): Program {
  const path = join(import.meta.dirname, 'fixtures', `${name}.ts`);
  const child = spawn(process.execPath, [path, ...args], { env: plainEnv, stdio: ['ignore', 'pipe', 'inherit'] });
  const killHard = (): void => void child.kill('SIGKILL');
  onTestFinished(killHard);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    child,
    pid: child.pid ?? 0,
    nextLine: async () => (await lines.next()).value,
    exited: new Promise((resolve) => child.once('exit', (code) => resolve(code))),
    killHard,
  };
}
