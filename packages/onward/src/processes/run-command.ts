import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { platform } from 'node:process';
import type { Readable } from 'node:stream';
import type { Clock } from '../kernel/ports.ts';
import type { Signal } from '../kernel/signal.ts';
import { createOutputBuffer } from './output-buffer.ts';

/** How a short helper command ended; `undefined` as code when it could not be started, was ended, ran too long or said too much. */
export interface CommandResult {
  readonly code: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
  /** Why it was ended, if it was. */
  readonly ended?: 'time' | 'size' | 'signal';
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
  /** True: more than `maxBytes` does not end it; the middle of the output is left out and says so. */
  readonly dropMiddle?: boolean;
  /** Ends it, and its group, when it aborts. */
  readonly signal?: Signal;
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
  { clock, timeoutMs, signal, maxBytes = 16 * 1024 * 1024, dropMiddle = false }: CommandOptions,
): Promise<CommandResult> {
  return new Promise((resolve) => {
    let code: number | undefined;
    let why: Pick<CommandResult, 'ended'> = {};
    const done = new AbortController();
    const giveUp = (reason: 'time' | 'size' | 'signal'): void => {
      if (done.signal.aborted) return;
      kill(child);
      code = undefined;
      why = { ended: reason };
      finish();
    };
    const limits = { maxBytes, dropMiddle };
    const stdout = collect(child.stdout, limits, () => giveUp('size'));
    const stderr = collect(child.stderr, limits, () => giveUp('size'));
    const stop = (): void => giveUp('signal');
    void clock.sleep(timeoutMs, done.signal).then(() => giveUp('time'));
    const finish = (): void => {
      done.abort('done');
      signal?.removeEventListener('abort', stop);
      forget(child);
      for (const pipe of [child.stdout, child.stderr]) pipe.destroy();
      child.unref();
      resolve({ code, stdout: stdout.text(), stderr: stderr.text(), ...why });
    };
    child.on('error', finish);
    child.once('exit', (status) => {
      code = status ?? undefined;
      void whenQuiet(() => stdout.bytes() + stderr.bytes()).then(finish);
    });
    child.once('close', finish);
    remember(child);
    if (signal?.aborted === true) stop();
    else signal?.addEventListener('abort', stop, { once: true });
  });
}

interface Collected {
  readonly bytes: () => number;
  readonly text: () => string;
}

function collect(
  pipe: Readable,
  { maxBytes, dropMiddle }: { readonly maxBytes: number; readonly dropMiddle: boolean },
  tooMuch: () => void,
): Collected {
  const buffer = createOutputBuffer(maxBytes);
  pipe.on('error', () => undefined);
  pipe.on('data', (part: Buffer) => {
    if (!dropMiddle && buffer.bytes() > maxBytes) return;
    buffer.add(part);
    if (!dropMiddle && buffer.bytes() > maxBytes) tooMuch();
  });
  return { bytes: () => buffer.bytes(), text: () => (dropMiddle ? buffer.text() : buffer.head()) };
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
