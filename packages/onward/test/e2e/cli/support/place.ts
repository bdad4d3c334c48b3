import { type ChildProcess, spawn, type StdioOptions } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { onTestFinished } from 'vitest';
import { type FakeCli, installFakeCli, type Play } from '../../../../src/lab/index.ts';
import type { RunStreamEvent } from '../../../../src/library/index.ts';
import { kill, processesWith } from './processes.ts';
import { until } from './until.ts';

/** The built command. */
export const BIN: string = resolve(import.meta.dirname, '../../../../bin/onward.js');

/** How a process of `onward` ended and what it printed. */
export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A process of `onward`. */
export interface Onward {
  readonly pid: number;
  readonly stdout: () => string;
  readonly stderr: () => string;
  /** Events printed so far, with `--json`. */
  readonly events: () => readonly RunStreamEvent[];
  readonly ended: Promise<Ended>;
  /** Waits until standard error holds the text. */
  says(text: string | RegExp): Promise<void>;
  /** The run's id, as soon as it was printed. */
  id(): Promise<string>;
  signal(signal: NodeJS.Signals): void;
  readonly child: ChildProcess;
}

/** How a process is started. */
export interface StartOptions {
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string;
  /** Written to its standard input, which is then closed; nothing: no standard input at all. */
  readonly input?: string | Buffer;
  readonly stdio?: StdioOptions;
}

/** A HOME, a working directory and a state folder of one test alone. Afterwards nothing of it is left, processes included. */
export class Place {
  readonly root: string = realpathSync(mkdtempSync(join(tmpdir(), 'onward-cli-')));
  readonly home: string = join(this.root, 'home');
  readonly cwd: string = join(this.root, 'work');
  readonly bin: string = join(this.root, 'bin');
  readonly state: string = join(this.root, 'state', 'onward');
  readonly journal: string = join(this.state, 'journal.db');
  readonly env: Readonly<Record<string, string>> = {
    PATH: [this.bin, dirname(process.execPath), '/usr/local/bin', '/usr/bin', '/bin'].join(':'),
    HOME: this.home,
    XDG_STATE_HOME: join(this.root, 'state'),
    TMPDIR: join(this.root, 'tmp'),
    LANG: 'C.UTF-8',
    TZ: 'UTC',
  };

  constructor() {
    for (const folder of [this.home, this.cwd, this.bin, join(this.root, 'state'), join(this.root, 'tmp')])
      mkdirSync(folder);
    onTestFinished(() => {
      for (const { pid } of processesWith(this.home)) kill(pid, 'SIGKILL');
      rmSync(this.root, { recursive: true, force: true, maxRetries: 5 });
    });
  }

  /** Puts a stand-in on the PATH. */
  install(play: Play, name: 'claude' | 'codex' = 'claude'): FakeCli {
    return installFakeCli({ dir: this.bin, name, play });
  }

  /** Starts `onward`. */
  start(args: readonly string[], options: StartOptions = {}): Onward {
    return startProcess(this, [process.execPath, BIN, ...args], options);
  }

  /** Starts any program, in the same place. */
  startProgram(argv: readonly string[], options: StartOptions = {}): Onward {
    return startProcess(this, argv, options);
  }

  /** Runs `onward` to its end. */
  onward(args: readonly string[], options: StartOptions = {}): Promise<Ended> {
    return this.start(args, options).ended;
  }

  /** Runs `onward` with `--json` and gives the lines that it printed. */
  async json(args: readonly string[], options: StartOptions = {}): Promise<readonly unknown[]> {
    return jsonLines((await this.onward([...args, '--json'], options)).stdout);
  }

  /** A file in the working directory; empty when there is none. */
  read(name: string): string {
    try {
      return readFileSync(join(this.cwd, name), 'utf8');
    } catch {
      return '';
    }
  }

  /** Live processes of agents and their tools, without `onward` itself. */
  agents(): readonly string[] {
    return processesWith(this.home)
      .map(({ command }) => command)
      .filter((command) => !command.includes(BIN));
  }

  /** Waits until no process of this place is left. */
  async quiet(): Promise<void> {
    await until('no process is left', () => processesWith(this.home).length === 0, 15_000).catch((error: unknown) => {
      throw new Error(`${String(error)}: ${JSON.stringify(processesWith(this.home))}`);
    });
  }
}

/** Each line as JSON; fails on a line that is none. */
export function jsonLines(text: string): readonly unknown[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as unknown);
}

function startProcess(place: Place, [program = '', ...args]: readonly string[], options: StartOptions): Onward {
  const child = spawn(program, args, {
    cwd: options.cwd ?? place.cwd,
    env: { ...place.env, ...options.env },
    stdio: options.stdio ?? [options.input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
  });
  const out: Buffer[] = [];
  const err: Buffer[] = [];
  child.stdout?.on('data', (part: Buffer) => out.push(part));
  child.stderr?.on('data', (part: Buffer) => err.push(part));
  if (options.input !== undefined) child.stdin?.on('error', () => undefined).end(options.input);
  const pid = child.pid ?? 0;
  onTestFinished(() => kill(pid, 'SIGKILL'));
  const stdout = (): string => Buffer.concat(out).toString('utf8');
  const stderr = (): string => Buffer.concat(err).toString('utf8');
  const ended = new Promise<Ended>((done, fail) => {
    child.once('error', fail);
    child.once('close', (code, signal) => done({ code, signal, stdout: stdout(), stderr: stderr() }));
  });
  const says = async (text: string | RegExp): Promise<void> => {
    const holds = (): boolean => (typeof text === 'string' ? stderr().includes(text) : text.test(stderr()));
    await until(`standard error holds ${String(text)}`, holds).catch((error: unknown) => {
      throw new Error(`${String(error)}\n${stderr()}`);
    });
  };
  const events = (): readonly RunStreamEvent[] => jsonLines(stdout().replace(/[^\n]*$/, '')) as RunStreamEvent[];
  const id = async (): Promise<string> => {
    await says(/\brun [0-9a-f]{12}\n/);
    return /\brun ([0-9a-f]{12})\n/.exec(stderr())?.[1] ?? '';
  };
  return { pid, stdout, stderr, events, ended, says, id, signal: (signal) => kill(pid, signal), child };
}
