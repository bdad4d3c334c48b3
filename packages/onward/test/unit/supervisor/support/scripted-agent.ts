import type { Failure } from '../../../../src/kernel/failure.ts';
import type {
  AttemptSpec,
  LiveAttempt,
  Observation,
  SpoolLine,
  StopStep,
  Swept,
} from '../../../../src/supervisor/index.ts';
import type { ScriptedEnd, ScriptedLine } from './scripted-adapter.ts';

/** What one started process does. It runs beside the coordinator and says things by the agent's methods. */
export type AgentScript = (agent: ScriptedAgent) => void | Promise<void>;

/** What a process has printed so far; stays when it and its host are gone. */
export interface Spool {
  readonly lines: SpoolLine[];
  stderr: string;
  ended: boolean;
  wake(): void;
  changed: Promise<void>;
}

/** An empty spool. */
export function newSpool(): Spool {
  const next = Promise.withResolvers<void>();
  const spool: Spool = { lines: [], stderr: '', ended: false, changed: next.promise, wake: () => undefined };
  let resolve = next.resolve;
  spool.wake = () => {
    const wakeAll = resolve;
    const again = Promise.withResolvers<void>();
    spool.changed = again.promise;
    resolve = again.resolve;
    wakeAll();
  };
  return spool;
}

/** A process that does what a test says. */
export class ScriptedAgent implements LiveAttempt {
  readonly pid: number;
  readonly startedAt: string;
  readonly spec: AttemptSpec;
  /** Lines that were written to it, oldest first. */
  readonly input: string[] = [];
  inputEnded = false;
  /** How it was asked to stop, once for each time. */
  readonly stops: (readonly StopStep[])[] = [];
  isAlive = true;
  /** What it does when asked to stop: dies of SIGTERM, unless a test says otherwise. */
  onStop: () => void = () => this.exit(null, 'SIGTERM');
  /** Processes that no sweep can end. */
  immortal: readonly number[] = [];
  /** How far a reader has come. */
  taken = 0;
  readonly exited: LiveAttempt['exited'];
  readonly #spool: Spool;
  readonly #stopRequested = Promise.withResolvers<void>();
  readonly #resolveExit: (exit: Awaited<LiveAttempt['exited']>) => void;
  #heard = Promise.withResolvers<void>();

  constructor(pid: number, spec: AttemptSpec, spool: Spool) {
    this.pid = pid;
    this.startedAt = `started-${pid}`;
    this.spec = spec;
    this.#spool = spool;
    const exit = Promise.withResolvers<Awaited<LiveAttempt['exited']>>();
    this.exited = exit.promise;
    this.#resolveExit = exit.resolve;
  }

  /** Resolves when it is asked to stop. */
  get stopRequested(): Promise<void> {
    return this.#stopRequested.promise;
  }

  get lines(): AsyncIterable<SpoolLine> {
    return this.#read();
  }

  /** Prints one line with these observations. */
  say(...observations: readonly Observation[]): void {
    this.line({ observations });
  }

  /** Prints one line of the scripted protocol. */
  line(line: ScriptedLine): void {
    this.raw(JSON.stringify(line));
  }

  /** Prints a text as it is. */
  raw(text: string): void {
    const before = this.#spool.lines.at(-1)?.end ?? 0;
    this.#spool.lines.push({ text, end: before + text.length + 1 });
    this.#spool.wake();
  }

  stderrText(text: string): void {
    this.#spool.stderr += text;
  }

  /** Says that its conversation is this one. */
  session(id: string): void {
    this.say({ kind: 'session', id });
  }

  /** A block of text that has ended. */
  text(id: string, text: string): void {
    this.say({ kind: 'message', id, text });
  }

  /** A call without a gate, begun and finished. */
  call(callId: string, input: string, output: string, tool = 'Bash'): void {
    this.say({ kind: 'call-started', callId, tool, input: { command: input } });
    this.say({ kind: 'call-finished', callId, ok: true, output });
  }

  /** Its last word: success. */
  answer(text: string): void {
    this.#end({ ok: true, text });
    this.exit(0);
  }

  /** Its last word: a failure. */
  fail(failure: Partial<Failure>, text?: string): void {
    const full = { message: 'it failed', ...failure };
    this.#end(text === undefined ? { ok: false, failure: full } : { ok: false, failure: full, text });
    this.exit(1);
  }

  /** Its last word, without an exit. */
  lastWord(text: string): void {
    this.#end({ ok: true, text });
  }

  #end(end: ScriptedEnd): void {
    this.line({ end, observations: [{ kind: 'result' }] });
  }

  exit(code: number | null, signal: string | null = null): void {
    if (!this.isAlive) return;
    this.isAlive = false;
    this.#spool.ended = true;
    this.#spool.wake();
    this.#resolveExit({ code, signal });
  }

  /** The line number `n` (from 0) that was written to it. */
  async heard(n: number): Promise<string> {
    for (;;) {
      const line = this.input[n];
      if (line !== undefined) return line;
      await this.#heard.promise;
    }
  }

  hasUnread(): boolean {
    return this.taken < this.#spool.lines.length;
  }

  async write(line: string): Promise<void> {
    this.input.push(line);
    this.#heard.resolve();
    this.#heard = Promise.withResolvers<void>();
  }

  endInput(): void {
    this.inputEnded = true;
  }

  async stop(steps: readonly StopStep[]): Promise<void> {
    this.stops.push(steps);
    this.#stopRequested.resolve();
    this.onStop();
  }

  hurry(): void {
    // A scripted agent has no patience that could be cut short, unless a test gives it one.
  }

  async stderr(): Promise<string> {
    return this.#spool.stderr;
  }

  async finish(): Promise<Swept> {
    if (this.immortal.length > 0) {
      this.#spool.ended = true;
      this.#spool.wake();
      return { gone: false, pids: this.immortal };
    }
    const killed = this.isAlive ? 1 : 0;
    this.exit(null, 'SIGKILL');
    return { gone: true, killed };
  }

  async *#read(): AsyncGenerator<SpoolLine> {
    for (;;) {
      const line = this.#spool.lines[this.taken];
      if (line !== undefined) {
        this.taken += 1;
        yield line;
      } else if (this.#spool.ended) return;
      else await this.#spool.changed;
    }
  }
}
