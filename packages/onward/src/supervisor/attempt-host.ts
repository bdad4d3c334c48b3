import type { Failure } from '../kernel/failure.ts';
import type { Holder } from '../kernel/journal.ts';
import type { Launch, StopStep } from './adapter.ts';

/** What the coordinator wants started. */
export interface AttemptSpec {
  readonly launch: Launch;
  readonly cwd: string;
  /** The user's environment, to which the launch's own variables are added. */
  readonly env: Readonly<Record<string, string>>;
  /** Names every process of the attempt. */
  readonly marker: string;
}

/** One line of the agent's output; `end` is the byte of the spool after it. A line that is no text has its reason instead. */
export type SpoolLine =
  | { readonly text: string; readonly end: number }
  | { readonly rejected: string; readonly end: number };

/** What is left of an attempt's processes after all was tried. */
export type Swept =
  | { readonly gone: true; readonly killed: number }
  | { readonly gone: false; readonly pids: readonly number[] };

/** A live attempt. Nothing of it throws. */
export interface LiveAttempt {
  readonly pid: number;
  readonly startedAt: string;
  /** Every line from the first byte; ends when the agent has exited, or `finish` has given up, and all is read. One reader. */
  readonly lines: AsyncIterable<SpoolLine>;
  /** Output waits that nobody has read yet. */
  hasUnread(): boolean;
  readonly exited: Promise<{ readonly code: number | null; readonly signal: string | null }>;
  write(line: string): Promise<void>;
  endInput(): void;
  /** Walks the steps until the agent has exited; resolves at the exit or after the last step. */
  stop(steps: readonly StopStep[], resultSeen: Promise<void>): Promise<void>;
  /** No more waiting between the steps: a second Ctrl-C. */
  hurry(): void;
  stderr(): Promise<string>;
  /** Ends all that is left of the attempt, within the bound, and gives the guard its leave. */
  finish(boundMs: number): Promise<Swept>;
}

/** What an attempt of a host process that died has left. */
export interface LeftAttempt {
  readonly swept: Swept;
  /** False when the spool was never made: it is proven that nothing was started. */
  readonly begun: boolean;
  readonly lines: AsyncIterable<SpoolLine>;
  readonly stderr: string;
}

/** The one conversation lock of a host, or the process that has it. */
export type Locked = { readonly ok: true; release(): void } | { readonly ok: false; readonly pid: number | undefined };

/** A program that was found, or why not. `version` is what it prints, or `unknown`. */
export type Inspected =
  | { readonly ok: true; readonly binary: string; readonly version: string }
  | { readonly ok: false; readonly sentence: string; readonly next: readonly string[] };

/**
 * Processes and files, as the coordinator sees them; the only thing between it and the machine. The real one is
 * `process-host.ts`, tests script their own.
 */
export interface AttemptHost {
  /** This process, as a lease holder. */
  readonly holder: Holder;
  /** True when that holder's process is known to be gone. */
  isDead(holder: Holder): boolean;
  /** Finds a program and asks it for its version. */
  inspect(program: string, cwd: string): Promise<Inspected>;
  lock(agent: string, sessionId: string): Promise<Locked>;
  start(
    spec: AttemptSpec,
  ): Promise<{ readonly ok: true; readonly attempt: LiveAttempt } | { readonly ok: false; readonly failure: Failure }>;
  /** Ends what lives of an earlier attempt, then gives its output from the first byte. */
  leftBy(
    marker: string,
    seen: { readonly pid: number; readonly startedAt: string } | undefined,
    boundMs: number,
  ): Promise<LeftAttempt>;
  /** Copies a conversation's file beside the attempt's spool; gives the copy's path. */
  copySession(path: string, marker: string): Promise<string>;
  /** The end of a text file; empty when there is none. */
  tail(path: string, bytes: number): Promise<string>;
  /** A short hash of what the working directory's repository looks like; `undefined` outside one. */
  fingerprint(cwd: string): Promise<string | undefined>;
}
