import { styleText } from 'node:util';
import { OnwardError } from '../kernel/error.ts';
import type { Json } from '../kernel/json.ts';
import { createRedactor } from '../kernel/redact.ts';
import { exitCodes } from './exit-codes.ts';
import { onlyColors, withoutControls } from './plain-text.ts';

/** The styles of the command line. */
export type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan';

/** Where a command's output goes. Standard output carries only what was asked for; everything else goes to standard error. */
export interface Io {
  /** Prints lines on standard output. */
  out(text: string): void;
  /** Prints a piece of text on standard output as it stands, without a line end. What it shows must be redacted as a whole. */
  write(text: string): void;
  /** Prints a value as one line of JSON on standard output. Redacted by its parts, so that it stays JSON. */
  json(value: unknown): void;
  /** Prints lines on standard error. */
  err(text: string): void;
  /** On a terminal a last line that the next one overwrites; '' takes it away. Nowhere else anything. */
  status(text: string): void;
  /** Resolves when standard output can take more, at once when nobody reads it any more: a slow reader costs no memory. */
  drained(): Promise<void>;
  /** Aborted when the reader of standard output is gone (`| head`). */
  readonly gone: AbortSignal;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** Standard error is a terminal that can redraw a line. */
  readonly isTerminal: boolean;
  /** Standard output is a terminal: a person reads along. */
  readonly isOutTerminal: boolean;
  /** Colours for standard error, by NO_COLOR, FORCE_COLOR and the terminal. */
  color(style: Style, text: string): string;
  /** A command line of ours to be pasted: with the journal where `--journal` named one. */
  hint(words: string): string;
}

/** What an `Io` prints on and knows of its surroundings; `process` fits. */
export interface Surroundings {
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
  readonly env: Readonly<Record<string, string | undefined>>;
  cwd(): string;
  exitCode?: number | string | null | undefined;
}

/** An `Io` on these streams, with `process` on the real ones; secrets are redacted, whoever prints. */
export function createIo(around: Surroundings, hint: (words: string) => string): Io {
  const { stdout, stderr, env } = around;
  const redactor = createRedactor(env);
  const isTerminal = stderr.isTTY && env['TERM'] !== 'dumb';
  const color = (style: Style, text: string): string => styleText(style, text, { stream: stderr });
  const isColored = color('bold', 'x') !== 'x';
  let shown = '';
  const status = (text: string): void => {
    if (!isTerminal || text === shown) return;
    shown = text;
    // Some terminals do not say how wide they are.
    const width = stderr.columns > 0 ? stderr.columns : 80;
    stderr.write(`\r\u001B[2K${withoutControls(text).slice(0, width - 1)}`);
  };
  const err = (text: string): void => {
    status('');
    const safe = redactor.text(text);
    stderr.write(`${isColored ? onlyColors(safe) : withoutControls(safe)}\n`);
  };
  const gone = watchOutput(around, err);
  return {
    out: (text) => {
      const safe = redactor.text(text);
      stdout.write(`${stdout.isTTY ? withoutControls(safe) : safe}\n`);
    },
    write: (text) => {
      status('');
      stdout.write(stdout.isTTY ? withoutControls(text) : text);
    },
    json: (value) => void stdout.write(`${JSON.stringify(redactor.json(plain(value)))}\n`),
    err,
    status,
    drained: () => drained(stdout, gone),
    gone,
    env,
    get cwd() {
      return existingCwd(around);
    },
    isTerminal,
    isOutTerminal: stdout.isTTY,
    color,
    hint,
  };
}

/** Only asked for where it matters: the directory may have been removed under this process. */
function existingCwd(around: Surroundings): string {
  try {
    return around.cwd();
  } catch (cause) {
    throw new OnwardError('cli/no-directory', 'The directory that onward was started in is gone.', {
      next: ['Go to a directory that exists: cd'],
      cause,
    });
  }
}

/** Exactly what JSON would say, so that the redactor meets nothing else. */
function plain(value: unknown): Json {
  return JSON.parse(JSON.stringify(value)) as Json;
}

/**
 * A reader that goes away is no error of ours, and neither is a terminal that is closed (EIO). Anything else, such as a full
 * disk behind `> file`, is said once and makes the status say so: what should have been printed was not.
 */
function watchOutput(around: Surroundings, err: (text: string) => void): AbortSignal {
  const gone = new AbortController();
  around.stderr.on('error', () => undefined);
  around.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (gone.signal.aborted) return;
    gone.abort(error.code);
    const fault = outputFault(gone.signal);
    if (fault === undefined) return;
    err(`onward: standard output cannot be written (${fault}); what is on record stays: onward show`);
    around.exitCode = exitAfterOutput(gone.signal, Number(around.exitCode ?? 0));
  });
  return gone.signal;
}

function outputFault(gone: AbortSignal): string | undefined {
  if (!gone.aborted || gone.reason === 'EPIPE' || gone.reason === 'EIO') return undefined;
  return String(gone.reason);
}

/** The exit status, given what became of standard output: an answer that could not be written is no success. */
export function exitAfterOutput(gone: AbortSignal, status: number): number {
  return status === 0 && outputFault(gone) !== undefined ? exitCodes.usage.code : status;
}

function drained(stdout: NodeJS.WriteStream, gone: AbortSignal): Promise<void> {
  if (!stdout.writableNeedDrain || gone.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const done = (): void => {
      stdout.off('drain', done);
      gone.removeEventListener('abort', done);
      resolve();
    };
    stdout.once('drain', done);
    gone.addEventListener('abort', done, { once: true });
  });
}
