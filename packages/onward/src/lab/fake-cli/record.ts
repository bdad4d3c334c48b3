import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** One start of the stand-in, as tests look at it. */
export interface Invocation {
  readonly pid: number;
  /** Arguments after the program's name. */
  readonly argv: readonly string[];
  readonly cwd: string;
  /** Names of all environment variables, sorted. */
  readonly envNames: readonly string[];
  /** Values of the variables which the play lists in `recordEnv`. */
  readonly env: { readonly [name: string]: string };
  /** Epoch milliseconds. */
  readonly startedAt: number;
  /** Which attempt of the play it played, from 1; absent for `--version` and for one that was refused. */
  readonly attempt?: number;
  /** Session or thread id it used. */
  readonly session?: string;
  /** Why it was refused, in the words of the CLI. */
  readonly refused?: string;
  /** Everything that came in on standard input, as it came. */
  readonly stdin: string;
  /** Prompts as the model would see them, in order. */
  readonly prompts: readonly string[];
  /** Model requests it began. */
  readonly requests: number;
  /** Tool commands that were really started. */
  readonly tools: readonly string[];
  /** Process ids of those; each is a session of its own and may outlive this process. */
  readonly toolPids: readonly number[];
  /** Signals and interrupts it noticed. */
  readonly signals: readonly string[];
  /** Exit code, where it came to that. */
  readonly exit?: number;
}

/** One line of the record. */
export type RecordEntry =
  | {
      readonly event: 'start';
      readonly pid: number;
      readonly argv: readonly string[];
      readonly cwd: string;
      readonly envNames: readonly string[];
      readonly env: { readonly [name: string]: string };
      readonly startedAt: number;
    }
  | { readonly event: 'attempt'; readonly attempt: number }
  | { readonly event: 'session'; readonly session: string }
  | { readonly event: 'refused'; readonly why: string }
  | { readonly event: 'stdin'; readonly text: string }
  | { readonly event: 'prompt'; readonly text: string }
  | { readonly event: 'request' }
  | { readonly event: 'tool'; readonly command: string; readonly pid: number | undefined }
  | { readonly event: 'signal'; readonly name: string }
  | { readonly event: 'exit'; readonly code: number };

/** Where a stand-in keeps its counter and its record; one folder per installed program. */
export class PlayState {
  readonly folder: string;
  readonly #file: string;

  constructor(folder: string) {
    this.folder = folder;
    this.#file = join(folder, 'invocations.jsonl');
    mkdirSync(join(folder, 'attempts'), { recursive: true });
  }

  /** Adds one line; lines of several processes do not mix. */
  add(entry: RecordEntry): void {
    appendFileSync(this.#file, `${JSON.stringify({ by: process.pid, ...entry })}\n`);
  }

  /** The next attempt number, from 1. Two processes never get the same one. */
  claimAttempt(): number {
    for (let number = readdirSync(join(this.folder, 'attempts')).length + 1; ; number++) {
      try {
        writeFileSync(join(this.folder, 'attempts', String(number)), String(process.pid), { flag: 'wx' });
        return number;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      }
    }
  }

  /** How many attempts were claimed so far. */
  attempts(): number {
    return readdirSync(join(this.folder, 'attempts')).length;
  }

  /** All starts so far, oldest first. */
  invocations(): Invocation[] {
    if (!existsSync(this.#file)) return [];
    const lines = readFileSync(this.#file, 'utf8').split('\n').slice(0, -1);
    const found: Invocation[] = [];
    const current = new Map<number, number>();
    for (const line of lines) {
      const entry = JSON.parse(line) as RecordEntry & { readonly by: number };
      if (entry.event === 'start') current.set(entry.by, found.push(begun(entry)) - 1);
      const index = current.get(entry.by);
      const invocation = index === undefined ? undefined : found[index];
      if (index !== undefined && invocation !== undefined)
        found[index] = { ...invocation, ...change(invocation, entry) };
    }
    return found;
  }
}

function begun(entry: RecordEntry & { readonly event: 'start' }): Invocation {
  const { pid, argv, cwd, envNames, env, startedAt } = entry;
  return {
    pid,
    argv,
    cwd,
    envNames,
    env,
    startedAt,
    stdin: '',
    prompts: [],
    requests: 0,
    tools: [],
    toolPids: [],
    signals: [],
  };
}

function change(now: Invocation, entry: RecordEntry): Partial<Invocation> {
  switch (entry.event) {
    case 'start':
      return {};
    case 'attempt':
      return { attempt: entry.attempt };
    case 'session':
      return { session: entry.session };
    case 'refused':
      return { refused: entry.why };
    case 'stdin':
      return { stdin: now.stdin + entry.text };
    case 'prompt':
      return { prompts: [...now.prompts, entry.text] };
    case 'request':
      return { requests: now.requests + 1 };
    case 'tool':
      return {
        tools: [...now.tools, entry.command],
        toolPids: [...now.toolPids, ...(entry.pid === undefined ? [] : [entry.pid])],
      };
    case 'signal':
      return { signals: [...now.signals, entry.name] };
    case 'exit':
      return { exit: entry.code };
    default:
      return entry satisfies never;
  }
}
