import { isOnwardError } from '../kernel/error.ts';
import { exitCodeOfError, exitCodes } from './exit-codes.ts';
import type { Io } from './io.ts';

/** Prints an error (as JSON on standard output with `json`) and gives the exit status that goes with it. */
export function reportError(io: Io, error: unknown, json: boolean): number {
  const known = isOnwardError(error);
  const code = known ? error.code : 'bug/unexpected';
  const message = error instanceof Error ? error.message : String(error);
  const place = known ? error.place : undefined;
  const next = known
    ? error.next.map((step) => withHint(io, step))
    : ['This is a defect of onward. Please report it with the text above; ONWARD_DEBUG=1 shows more.'];
  if (json) io.json({ error: { code, message, place: place ?? null, next } });
  io.err(
    `${io.color('red', 'onward:')} ${message} ${io.color('dim', `[${code}${place === undefined ? '' : ` at ${place}`}]`)}`,
  );
  for (const step of next) io.err(`  ${step}`);
  if (!known && io.env['ONWARD_DEBUG'] !== undefined && error instanceof Error) io.err(error.stack ?? '');
  return known ? exitCodeOfError(code) : exitCodes.failed.code;
}

/** `onward resume ID` in a next step must find the run that it speaks of. */
function withHint(io: Io, step: string): string {
  const found = /^(.*?)\bonward ((?:ls|show|why|tail|resume|cancel|rm)\b.*)$/.exec(step);
  return found === null ? step : `${found[1]}${io.hint(found[2] ?? '')}`;
}
