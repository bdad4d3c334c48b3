import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  installFakeCli,
  type CliName,
  type FakeCli,
  type InstallOptions,
  type Play,
} from '../../../src/lab/fake-cli/index.ts';

/** One line of a stream. */
export type Line = { readonly type?: string; readonly [name: string]: unknown };

/** How a process ended. */
export interface End {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** What a process gets besides its arguments. */
export interface How {
  readonly input?: string;
  readonly cwd?: string;
  readonly env?: { readonly [name: string]: string };
}

/** A stand-in that is running. */
export interface Running {
  readonly child: ChildProcessWithoutNullStreams;
  readonly out: () => string;
  readonly err: () => string;
  readonly lines: () => Line[];
  /** Waits for a line; fails with what there was when the process ends without it. */
  readonly line: (wanted: (line: Line) => boolean) => Promise<Line>;
  readonly send: (...lines: unknown[]) => void;
  readonly end: () => Promise<End>;
}

/** A temporary home, working directory and folder for the stand-in. Each starts empty. */
export class Bench {
  readonly root: string = mkdtempSync(join(tmpdir(), 'onward-fake-'));
  readonly cwd: string = join(this.root, 'work');
  readonly #running: Running[] = [];
  readonly #installed: FakeCli[] = [];

  constructor() {
    mkdirSync(this.cwd);
  }

  install(play: Play, name: CliName = 'claude', more: Partial<InstallOptions> = {}): FakeCli {
    const cli = installFakeCli({ dir: join(this.root, 'bin'), name, play, ...more });
    this.#installed.push(cli);
    return cli;
  }

  start(cli: FakeCli, args: readonly string[], how: How = {}): Running {
    const env = { PATH: process.env['PATH'] ?? '', HOME: this.root, ...how.env };
    const child = spawn(cli.command, args, { cwd: how.cwd ?? this.cwd, env, detached: true });
    const running = watch(child);
    this.#running.push(running);
    return running;
  }

  /** Runs it to its end with this standard input. */
  async run(cli: FakeCli, args: readonly string[], how: How = {}): Promise<Running & End> {
    const running = this.start(cli, args, how);
    running.child.stdin.end(how.input ?? '');
    return { ...running, ...(await running.end()) };
  }

  path(...parts: readonly string[]): string {
    return join(this.root, ...parts);
  }

  /** Content of a file below the working directory; empty when there is none. */
  file(name: string): string {
    const path = join(this.cwd, name);
    return existsSync(path) ? readFileSync(path, 'utf8') : '';
  }

  /** Ends what still runs (by its own process id and group) and removes the folders. */
  async clear(): Promise<void> {
    for (const { child, end } of this.#running) {
      if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) continue;
      try {
        process.kill(-child.pid, 'SIGKILL');
      } catch {
        child.kill('SIGKILL');
      }
      await end();
    }
    // Tools are sessions of their own and outlive the agent that started them.
    for (const pid of this.#installed.flatMap((cli) => cli.invocations().flatMap(({ toolPids }) => toolPids))) {
      if (isAlive(pid)) process.kill(-pid, 'SIGKILL');
    }
    rmSync(this.root, { recursive: true, force: true });
  }
}

function watch(child: ChildProcessWithoutNullStreams): Running {
  const seen = { out: '', err: '' };
  const waiting = new Set<() => void>();
  const wake = (): void => waiting.forEach((check) => check());
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    seen.out += text;
    wake();
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => (seen.err += text));
  child.stdin.on('error', () => {});
  const exited = new Promise<End>((resolve) => child.on('exit', (code, signal) => resolve({ code, signal })));
  const closed = new Promise<void>((resolve) => child.on('close', () => resolve()));
  const lines = (): Line[] => parse(seen.out);
  const line = (wanted: (one: Line) => boolean): Promise<Line> =>
    new Promise((resolve, reject) => {
      const check = (): void => {
        const found = lines().find(wanted);
        if (found === undefined) return;
        waiting.delete(check);
        resolve(found);
      };
      waiting.add(check);
      check();
      void closed.then(() => reject(new Error(`ended without the line. Output: ${seen.out}\nErrors: ${seen.err}`)));
    });
  return {
    child,
    out: () => seen.out,
    err: () => seen.err,
    lines,
    line,
    send: (...all) => all.forEach((one) => child.stdin.write(`${JSON.stringify(one)}\n`)),
    end: async () => {
      const end = await exited;
      await closed;
      return end;
    },
  };
}

function parse(text: string): Line[] {
  return text
    .split('\n')
    .slice(0, -1)
    .flatMap((one) => {
      try {
        const value = JSON.parse(one) as Line | string | number | null;
        return typeof value === 'object' && value !== null ? [value] : [];
      } catch {
        return [];
      }
    });
}

/** A message of the user, as stream-json wants it. */
export function userMessage(text: string): Line {
  return { type: 'user', message: { role: 'user', content: [{ type: 'text', text }] } };
}

/** Flags of a headless Claude Code. */
export const headless: readonly string[] = ['-p', '--output-format', 'stream-json', '--verbose'];
/** Flags of one that is spoken to by stream-json. */
export const streaming: readonly string[] = [...headless, '--input-format', 'stream-json'];

/** Waits until `fact` holds. It never waits for time as such: the test's own deadline ends it. */
export async function until(fact: () => boolean): Promise<void> {
  while (!fact()) await new Promise((resolve) => setTimeout(resolve, 5));
}

/** True while the process exists and is no zombie. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}
