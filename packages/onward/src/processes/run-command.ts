import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { platform } from 'node:process';
import type { Readable } from 'node:stream';
import type { Clock } from '../kernel/ports.ts';

/** How a short helper command ended; `undefined` as code when it could not be started, was ended, ran too long or said too much. */
export interface CommandResult {
  readonly code: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
}

/** A short command that is waited for: `agent --version`, `git status`. Never for agents. */
export interface CommandOptions {
  readonly argv: readonly [string, ...string[]];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly clock: Clock;
  /** ms; then it is killed. */
  readonly timeoutMs: number;
  /** Most bytes of each output; more ends it. Default 16 MiB. */
  readonly maxBytes?: number;
}

type Child = ChildProcessByStdio<null, Readable, Readable>;

/**
 * Runs a command without a shell and without input, and waits for it. Never rejects. It leads a group of its own, which is
 * killed as a whole when it runs too long, says too much, or this process exits: the command may be a wrapper of the
 * one that hangs. What it left in the background when it exited by itself is neither waited for nor ended.
 */
export function runCommand(options: CommandOptions): Promise<CommandResult> {
  const child = start(options);
  return child === undefined ? Promise.resolve({ code: undefined, stdout: '', stderr: '' }) : ended(child, options);
}

function start({ argv: [program, ...args], cwd, env }: CommandOptions): Child | undefined {
  try {
    return spawn(program, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], detached: platform !== 'win32' });
  } catch {
    // A NUL in an argument or variable, an empty name, no descriptor left.
    return undefined;
  }
}

function ended(
  child: Child,
  { clock, timeoutMs, maxBytes = 16 * 1024 * 1024 }: CommandOptions,
): Promise<CommandResult> {
  return new Promise((resolve) => {
    let code: number | undefined;
    const done = new AbortController();
    const giveUp = (): void => {
      if (done.signal.aborted) return;
      kill(child);
      code = undefined;
      finish();
    };
    const stdout = collect(child.stdout, maxBytes, giveUp);
    const stderr = collect(child.stderr, maxBytes, giveUp);
    void clock.sleep(timeoutMs, done.signal).then(giveUp);
    const finish = (): void => {
      done.abort('done');
      forget(child);
      for (const pipe of [child.stdout, child.stderr]) pipe.destroy();
      child.unref();
      resolve({ code, stdout: stdout.text(), stderr: stderr.text() });
    };
    child.on('error', finish);
    child.once('exit', (status) => {
      code = status ?? undefined;
      void whenQuiet(() => stdout.bytes() + stderr.bytes()).then(finish);
    });
    child.once('close', finish);
    remember(child);
  });
}

interface Collected {
  readonly bytes: () => number;
  readonly text: () => string;
}

function collect(pipe: Readable, maxBytes: number, tooMuch: () => void): Collected {
  const parts: Buffer[] = [];
  let bytes = 0;
  pipe.on('error', () => undefined);
  pipe.on('data', (part: Buffer) => {
    if (bytes > maxBytes) return;
    bytes += part.length;
    if (bytes > maxBytes) tooMuch();
    else parts.push(part);
  });
  return { bytes: () => bytes, text: () => Buffer.concat(parts).toString('utf8') };
}

/** What a process wrote before its exit waits in the pipe: it has been read once a whole turn of the event loop brought nothing. */
async function whenQuiet(bytes: () => number): Promise<void> {
  for (let quiet = 0, before = bytes(); quiet < 2; before = bytes()) {
    // oxlint-disable-next-line no-await-in-loop -- turn by turn
    await new Promise((resolve) => setImmediate(resolve));
    quiet = bytes() === before ? quiet + 1 : 0;
  }
}

function kill(child: Child): void {
  if (child.pid === undefined) return;
  try {
    process.kill(platform === 'win32' ? child.pid : -child.pid, 'SIGKILL');
  } catch {
    // Nothing of the group lives.
  }
}

/** Commands that run: a group of their own hears no Ctrl-C, so that they must not outlive us. */
const running = new Set<Child>();

function killRunning(): void {
  for (const child of running) kill(child);
}

function remember(child: Child): void {
  if (running.size === 0) process.once('exit', killRunning);
  running.add(child);
}

function forget(child: Child): void {
  running.delete(child);
  if (running.size === 0) process.removeListener('exit', killRunning);
}
