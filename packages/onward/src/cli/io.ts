import { styleText } from 'node:util';
import { isOnwardError } from '../kernel/error.ts';
import { createRedactor } from '../kernel/redact.ts';
import { exitCodeOfError, exitCodes } from './exit-codes.ts';

/** Where a command's output goes. Standard output carries only what was asked for; everything else goes to standard error. */
export interface Io {
  out(text: string): void;
  err(text: string): void;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** Standard error is a terminal: lines may be redrawn. */
  readonly isTerminal: boolean;
  /** Colours, by NO_COLOR, FORCE_COLOR and the terminal. */
  color(style: 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan', text: string): string;
}

/** The real streams of this process; secrets are redacted, whoever prints. A reader of ours that goes away (`| head`) is no error. */
export function processIo(): Io {
  process.stdout.on('error', ignoreClosed);
  process.stderr.on('error', ignoreClosed);
  const redactor = createRedactor(process.env);
  return {
    out: (text) => void process.stdout.write(`${redactor.text(text)}\n`),
    err: (text) => void process.stderr.write(`${redactor.text(text)}\n`),
    env: process.env,
    cwd: process.cwd(),
    isTerminal: process.stderr.isTTY,
    color: (style, text) => styleText(style, text, { stream: process.stderr }),
  };
}

function ignoreClosed(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error;
}

/** Prints an error (as JSON on standard output with `json`) and gives the exit status that goes with it. */
export function reportError(io: Io, error: unknown, json: boolean): number {
  const known = isOnwardError(error);
  const code = known ? error.code : 'bug/unexpected';
  const message = error instanceof Error ? error.message : String(error);
  const place = known ? error.place : undefined;
  const next = known ? error.next : ['This is a defect of onward. Please report it with the text above.'];
  if (json) io.out(JSON.stringify({ error: { code, message, place: place ?? null, next } }));
  io.err(
    `${io.color('red', 'onward:')} ${message} ${io.color('dim', `[${code}${place === undefined ? '' : ` at ${place}`}]`)}`,
  );
  for (const step of next) io.err(`  ${step}`);
  if (!known && io.env['ONWARD_DEBUG'] !== undefined && error instanceof Error) io.err(error.stack ?? '');
  return known ? exitCodeOfError(code) : exitCodes.failed.code;
}
