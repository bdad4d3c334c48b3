import type { StoredEvent } from '../kernel/envelope.ts';
import { assertNever, OnwardError } from '../kernel/error.ts';
import type { Lease } from '../kernel/journal.ts';
import type { Signal } from '../kernel/signal.ts';
import type { AgentAdapter } from './adapter.ts';
import { carefulAdapter } from './careful-adapter.ts';
import type { SupervisorDeps } from './deps.ts';
import { planAttempt } from './plan-attempt.ts';
import { recoverAttempt } from './recover-attempt.ts';
import { leaseMs, renewMs, runAttempt } from './run-attempt.ts';
import { type AttemptMode, runEvent } from './run-events.ts';
import { type AttemptState, foldRun, type Phase, type RunState } from './run-state.ts';
import { createRunWriter, LeaseLost, runInbox, runStream, type RunWriter } from './run-writer.ts';
import { settleAttempt } from './settle.ts';
import { isWallUsed } from './situation.ts';
import { createStopper, type Stopper } from './stopper.ts';

/** What one `advance` of a run came to; the shape that an engine expects of its work. */
export type RunAdvance =
  | { readonly kind: 'done' }
  | { readonly kind: 'again'; readonly at: number }
  | { readonly kind: 'waiting'; readonly on: 'question' | 'runner' | 'quota' | 'host' };

/** Keeps one run going in this process. */
export interface Coordinator {
  /** The stream of the run, which is also its key for an engine. */
  readonly prefix: string;
  /** Does the next thing for the run, however it was left; returns within seconds. */
  advance(key: string, signal: Signal): Promise<RunAdvance>;
  /** The run as this process knows it; `undefined` before the first `advance`. */
  state(): RunState | undefined;
  /** Ends the attempt under way or the wait, and checkpoints the run as interrupted (Ctrl-C); twice means at once. */
  interrupt(because: string): void;
  /** Ends what still runs, stops renewing and gives the lease up. The run stays as it is on record. */
  close(): Promise<void>;
}

/** Retry soon: another live process has the conversation, or the lease. */
const heldRetryMs = 2_000;

/** The coordinator of one run. `onRunnerEnd` is told whenever the run is to be advanced again. */
export function createCoordinator(deps: SupervisorDeps, id: string, onRunnerEnd: () => void): Coordinator {
  return new RunCoordinator(deps, id, onRunnerEnd);
}

class RunCoordinator implements Coordinator {
  readonly prefix: string;
  readonly #deps: SupervisorDeps;
  readonly #id: string;
  readonly #onRunnerEnd: () => void;
  readonly #closed = new AbortController();
  #writer: RunWriter | undefined;
  #runner: { readonly stopper: Stopper; readonly done: Promise<void> } | undefined;
  #failed: { readonly error: unknown } | undefined;
  #interrupted: string | undefined;
  #toldHeld = false;
  #toldWait = false;
  #hasStarted = false;
  #seen: RunState | undefined;

  constructor(deps: SupervisorDeps, id: string, onRunnerEnd: () => void) {
    this.#deps = deps;
    this.#id = id;
    this.#onRunnerEnd = onRunnerEnd;
    this.prefix = runStream(id);
  }

  state(): RunState | undefined {
    return this.#writer?.state() ?? this.#seen;
  }

  interrupt(because: string): void {
    if (this.#interrupted !== undefined) this.#runner?.stopper.hurry();
    this.#interrupted ??= because;
    this.#runner?.stopper.request({ kind: 'interrupted', because });
    this.#onRunnerEnd();
  }

  async close(): Promise<void> {
    this.#closed.abort();
    // Nobody renews the lease any more, so nothing may run on under it.
    this.#runner?.stopper.request({ kind: 'broken', error: new LeaseLost('this process gave the run up') });
    await this.#runner?.done;
    if (this.#writer !== undefined) await this.#deps.journal.release(this.#writer.lease).catch(() => undefined);
  }

  async advance(_key: string, signal: Signal): Promise<RunAdvance> {
    try {
      return await this.#advance(signal);
    } catch (error) {
      throw error instanceof LeaseLost ? await this.#lost() : error;
    }
  }

  /** What a person is told when another process has taken the run over: who has it now. */
  async #lost(): Promise<OnwardError> {
    const lease = await this.#deps.journal.lease(runStream(this.#id));
    return runHeld(this.#id, lease?.holder.pid);
  }

  async #advance(signal: Signal): Promise<RunAdvance> {
    if (this.#failed !== undefined) throw this.#failed.error;
    if (this.#runner !== undefined) return { kind: 'waiting', on: 'runner' };
    // Under the lease nobody else adds to the run: what is known needs no second reading, however long it is.
    const before = this.#writer?.state() ?? (await this.#load());
    const resting = restOf(before, this.#deps.host.holder.host);
    // A paused run can still be cancelled; nothing else moves one that rests.
    if (
      resting !== undefined &&
      (before.phase.kind !== 'paused' || (await this.#findCancel(before.inbox)) === undefined)
    )
      return resting;
    const writer = await this.#claim();
    if (signal.aborted) return { kind: 'again', at: this.#deps.clock.now() };
    return (await this.#obey(writer)) ?? (await this.#next(writer));
  }

  async #load(): Promise<RunState> {
    this.#seen = foldRun(this.#id, await this.#deps.journal.read(runStream(this.#id)));
    if (this.#seen !== undefined) return this.#seen;
    throw new OnwardError('run/unknown', `There is no run ${this.#id}.`, { next: ['List them: onward ls'] });
  }

  /** The lease and a state folded after it was taken, so that nothing can have been added in between. */
  async #claim(): Promise<RunWriter> {
    if (this.#writer !== undefined) return this.#writer;
    const { journal, host, clock } = this.#deps;
    const claimed = await journal.claim(runStream(this.#id), host.holder, leaseMs, (held) => host.isDead(held));
    if (!claimed.ok) throw runHeld(this.#id, claimed.held.holder.pid);
    this.#writer = createRunWriter(journal, clock, claimed.lease, await this.#load());
    void this.#keepLease(claimed.lease);
    return this.#writer;
  }

  async #keepLease(lease: Lease): Promise<void> {
    const { clock, journal } = this.#deps;
    for (;;) {
      // oxlint-disable-next-line no-await-in-loop -- a heartbeat
      await clock.sleep(renewMs, this.#closed.signal);
      if (this.#closed.signal.aborted) return;
      try {
        // oxlint-disable-next-line no-await-in-loop -- a heartbeat
        if (await journal.renew(lease, leaseMs)) continue;
        this.#runner?.stopper.request({ kind: 'broken', error: new LeaseLost('another process has claimed the run') });
        return;
      } catch (error) {
        this.#runner?.stopper.request({ kind: 'broken', error });
        return;
      }
    }
  }

  /** A cancel or an interrupt wins over whatever would come next. While an attempt runs, its own stopper hears of them. */
  async #obey(writer: RunWriter): Promise<RunAdvance | undefined> {
    const run = writer.state();
    if (run.phase.kind === 'running') return undefined;
    const cancel = await this.#findCancel(run.inbox);
    if (cancel !== undefined) {
      const events = [
        runEvent('inbox.read', { position: cancel.inbox }),
        runEvent('run.ended', { outcome: 'cancelled', because: cancel.because }),
      ];
      await writer.append(events, { due: null, inboxRead: true });
      return { kind: 'done' };
    }
    if (this.#interrupted === undefined) return undefined;
    await writer.append([runEvent('run.paused', { reason: 'interrupted', because: this.#interrupted })], { due: null });
    return { kind: 'waiting', on: 'question' };
  }

  async #findCancel(after: number): Promise<{ readonly because: string; readonly inbox: number } | undefined> {
    const messages = await this.#deps.journal.read(runInbox(this.#id), after);
    return messages.map(cancelIn).find((cancel) => cancel !== undefined);
  }

  async #next(writer: RunWriter): Promise<RunAdvance> {
    const { phase } = writer.state();
    switch (phase.kind) {
      case 'ready':
        return this.#start(writer, phase.mode);
      case 'waiting':
        if (phase.at > this.#deps.clock.now()) return this.#wait(writer.state(), phase);
        return this.#start(writer, phase.mode);
      case 'running':
        return this.#recover(writer);
      case 'paused':
      case 'ended':
        return restOf(writer.state(), this.#deps.host.holder.host) ?? { kind: 'done' };
      default:
        return assertNever(phase, 'advance');
    }
  }

  /** A wait that another process decided on is told of: its events are of the past for whoever follows this one. */
  #wait(run: RunState, phase: Extract<Phase, { kind: 'waiting' }>): RunAdvance {
    const text = `attempt ${run.attempts.length + 1} begins at ${new Date(phase.at).toISOString()}: ${phase.because}`;
    const attempt = run.attempts.length;
    if (!this.#hasStarted && !this.#toldWait)
      this.#deps.live?.({ run: run.id, attempt, observation: { kind: 'notice', text } });
    this.#toldWait = true;
    return { kind: 'again', at: phase.at };
  }

  async #start(writer: RunWriter, mode: AttemptMode): Promise<RunAdvance> {
    if (isWallUsed(writer.state(), this.#deps.clock.now())) {
      const because = 'the time limit of all attempts and waits is used up';
      await writer.append([runEvent('run.paused', { reason: 'limit', because })], { due: null });
      return { kind: 'waiting', on: 'question' };
    }
    const adapter = this.#adapter(writer.state());
    const planned = await planAttempt(this.#deps, writer, adapter, mode);
    await writer.append(planned.events);
    this.#hasStarted = true;
    const attempt = writer.state().attempts.at(-1) as AttemptState;
    const stopper = createStopper();
    const carryOut = async (): Promise<void> => {
      const lookForCancel = async (): Promise<void> => {
        const cancel = await this.#findCancel(writer.state().inbox);
        if (cancel !== undefined) stopper.request({ kind: 'cancelled', ...cancel });
      };
      const plan = { adapter, attempt, prompt: planned.prompt, stopper, lookForCancel };
      const result = await runAttempt(this.#deps, writer, plan);
      const settled = await settleAttempt(this.#deps, writer, adapter, result);
      await writer.append(settled.events, { due: settled.due, inboxRead: settled.inboxRead });
    };
    this.#run(stopper, carryOut);
    if (this.#interrupted !== undefined) stopper.request({ kind: 'interrupted', because: this.#interrupted });
    return { kind: 'waiting', on: 'runner' };
  }

  async #recover(writer: RunWriter): Promise<RunAdvance> {
    const { clock } = this.#deps;
    const adapter = this.#adapter(writer.state());
    const attempt = writer.state().attempts.at(-1) as AttemptState;
    const recovered = await recoverAttempt(this.#deps, writer, adapter, attempt);
    if (recovered.kind === 'held') return this.#waitForHolder(attempt.n, recovered.pid);
    const cancel = await this.#findCancel(writer.state().inbox);
    const result =
      cancel === undefined
        ? recovered.result
        : { ...recovered.result, stopped: { kind: 'cancelled' as const, ...cancel } };
    const settled = await settleAttempt(this.#deps, writer, adapter, result);
    await writer.append(settled.events, { due: settled.due, inboxRead: settled.inboxRead });
    return { kind: 'again', at: clock.now() };
  }

  /** The other one may have been stopped or asleep for a while only: it lets go when it learns that the run has moved on. */
  #waitForHolder(attempt: number, pid: number | undefined): RunAdvance {
    if (this.#interrupted !== undefined) throw runHeld(this.#id, pid);
    const who = pid === undefined ? 'Another live process' : `A live process (pid ${pid})`;
    const text = `${who} still has this conversation; waiting until it lets go.`;
    if (!this.#toldHeld) this.#deps.live?.({ run: this.#id, attempt, observation: { kind: 'notice', text } });
    this.#toldHeld = true;
    return { kind: 'again', at: this.#deps.clock.now() + heldRetryMs };
  }

  /** Long work goes on beside the engine; its end, good or bad, leads to another advance. */
  #run(stopper: Stopper, work: () => Promise<void>): void {
    const over = new AbortController();
    void this.#watchInbox(stopper, over.signal);
    const done = work()
      .catch((error: unknown) => {
        this.#failed = { error };
      })
      .finally(() => {
        over.abort();
        this.#runner = undefined;
        this.#onRunnerEnd();
      });
    this.#runner = { stopper, done };
  }

  async #watchInbox(stopper: Stopper, signal: AbortSignal): Promise<void> {
    const after = this.#writer?.state().inbox ?? 0;
    try {
      for await (const message of this.#deps.journal.follow(runInbox(this.#id), after, signal)) {
        const cancel = cancelIn(message);
        if (cancel !== undefined) stopper.request({ kind: 'cancelled', ...cancel });
      }
    } catch (error) {
      stopper.request({ kind: 'broken', error });
    }
  }

  #adapter(run: RunState): AgentAdapter {
    const adapter = this.#deps.adapters.find((candidate) => candidate.name === run.accepted.agent);
    if (adapter !== undefined) return carefulAdapter(adapter, run.accepted.identity);
    throw new OnwardError('run/unknown-agent', `No adapter named ${run.accepted.agent} is known here.`, {
      place: runStream(this.#id),
    });
  }
}

/** The error for a run that another live process keeps going. */
export function runHeld(id: string, pid: number | undefined): OnwardError {
  const who = pid === undefined ? 'Another process' : `A live process (pid ${pid})`;
  return new OnwardError('run/held', `${who} is keeping this run going.`, {
    place: runStream(id),
    next: [`onward tail ${id}`, `onward cancel ${id}`],
  });
}

/** What a run waits for that nobody here can bring about; `undefined` when there is something to do. */
function restOf(run: RunState, host: string): RunAdvance | undefined {
  if (run.phase.kind === 'ended') return { kind: 'done' };
  if (run.phase.kind === 'paused') return { kind: 'waiting', on: run.phase.reason === 'parked' ? 'quota' : 'question' };
  return run.accepted.host === host ? undefined : { kind: 'waiting', on: 'host' };
}

/** The cancel that a message of the inbox asks for; `undefined` for any other message. */
function cancelIn({
  type,
  data,
  position,
}: StoredEvent): { readonly because: string; readonly inbox: number } | undefined {
  return type === 'cancel.requested' ? { because: causeOf(data), inbox: position } : undefined;
}

function causeOf(data: unknown): string {
  const cause = typeof data === 'object' && data !== null && 'cause' in data ? data.cause : undefined;
  return typeof cause === 'string' && cause !== '' ? cause : 'cancelled';
}
