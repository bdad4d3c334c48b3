import { type ChildProcess, spawn } from 'node:child_process';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { onTestFinished } from 'vitest';
import type { RunStreamEvent } from '../../../src/library/index.ts';
import { kill } from './processes.ts';
import type { Place } from './place.ts';
import { until } from './until.ts';

const BIN = resolve(import.meta.dirname, '../../../bin/onward.js');

/** A process of `onward`, or of a program of ours that stands in for it. */
export interface Onward {
  readonly pid: number;
  /** Events printed so far, with `--json`. */
  readonly events: readonly RunStreamEvent[];
  readonly stdout: () => string;
  readonly stderr: () => string;
  readonly exited: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>;
  /** The run's id, as soon as it was printed. */
  id(): Promise<string>;
  signal(signal: NodeJS.Signals): void;
}

/** Starts `onward` with these arguments in the place. */
export function startOnward(place: Place, env: Readonly<Record<string, string>>, args: readonly string[]): Onward {
  return startProgram(place, env, [BIN, ...args]);
}

/** Starts a program of ours that prints events as `onward --json` does. */
export function startFixture(
  place: Place,
  env: Readonly<Record<string, string>>,
  [name, ...args]: readonly [string, ...string[]],
): Onward {
  return startProgram(place, env, [join(import.meta.dirname, '..', 'fixtures', `${name}.ts`), ...args]);
}

function startProgram(place: Place, env: Readonly<Record<string, string>>, argv: readonly string[]): Onward {
  const child: ChildProcess = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', ...argv], {
    cwd: place.cwd,
    env: { ...place.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const pid = child.pid ?? 0;
  const events: RunStreamEvent[] = [];
  const out: string[] = [];
  const err: string[] = [];
  for (const [stream, lines] of [
    [child.stdout, out],
    [child.stderr, err],
  ] as const)
    if (stream !== null)
      createInterface({ input: stream }).on('line', (line) => {
        lines.push(line);
        if (lines === out && line.startsWith('{"v":1,')) events.push(JSON.parse(line) as RunStreamEvent);
      });
  onTestFinished(() => kill(pid, 'SIGKILL'));
  const exited = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((done) => {
    child.once('close', (code, signal) => done({ code, signal }));
  });
  return {
    pid,
    events,
    stdout: () => out.join('\n'),
    stderr: () => err.join('\n'),
    exited,
    id: () => until('the run is on record', () => events[0]?.run),
    signal: (signal) => kill(pid, signal),
  };
}

/** Runs `onward` to its end. */
export async function runOnward(
  place: Place,
  env: Readonly<Record<string, string>>,
  args: readonly string[],
): Promise<{ readonly code: number | null; readonly stdout: string; readonly stderr: string }> {
  const onward = startOnward(place, env, args);
  const { code } = await onward.exited;
  return { code, stdout: onward.stdout(), stderr: onward.stderr() };
}
