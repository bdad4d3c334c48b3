import type { Failure } from '../kernel/failure.ts';
import { classify } from '../kernel/classify.ts';
import { toFailure } from '../models/to-failure.ts';
import type { AgentStatus, FinalSettlement } from './agent-api.ts';
import { type AbortReason, closeOpen, endOfFailure } from './close-turn.ts';
import type { Handles } from './handles.ts';
import { messageOf } from './prepare-call.ts';
import type { Admission } from './plugin.ts';
import { readAdmission } from './read-admission.ts';
import { offer, runTurn, type TurnResult, type TurnStart } from './run-turn.ts';
import type { Runtime } from './runtime.ts';
import { sessionEvent } from './session-events.ts';
import type { Found } from './open-session.ts';

/** Runs what is queued, one prompt after the other, each with its whole chain of retries. One at a time. */
export class Driver {
  readonly #rt: Runtime;
  readonly #handles: Handles;
  readonly #onStatus: (status: AgentStatus) => void;
  #status: AgentStatus = 'idle';
  #running: Promise<void> | undefined;
  #scheduled = false;
  #parked = false;
  #controller: AbortController | undefined;
  #disposed = false;
  #suspended: Extract<Found, { kind: 'suspended' }> | undefined;
  #crashed: Extract<Found, { kind: 'interrupted' }> | undefined;
  readonly #waiters = new Set<() => void>();
  /** Input came after the turn under way was closed: it does not wait behind that turn's failure. */
  #woken = false;
  #lost = false;
  /** The prompt whose admission is under way: input given now reaches its turn. */
  #admitting = false;

  constructor(rt: Runtime, handles: Handles, onStatus: (status: AgentStatus) => void) {
    this.#rt = rt;
    this.#handles = handles;
    this.#onStatus = onStatus;
    rt.log.observe(({ type }) => {
      if (type === 'turn.closed') this.#woken = false;
    });
  }

  get status(): AgentStatus {
    return this.#status;
  }

  /** True while steering reaches a turn. */
  get open(): boolean {
    return this.#admitting || (this.#running !== undefined && this.#rt.log.state().open !== undefined);
  }

  /** Something to run has come. Everything queued runs, also what was parked. */
  wake(): void {
    this.#parked = false;
    this.#woken = true;
    if (this.#disposed || this.#scheduled || this.#running !== undefined) return;
    this.#scheduled = true;
    queueMicrotask(() => {
      this.#scheduled = false;
      if (this.#disposed || this.#running !== undefined) return this.#rest();
      // Known as running before anybody hears of it: a listener may dispose at once, and must then be waited for.
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#running = promise;
      void this.#drain().finally(resolve);
    });
  }

  /** Prompts of an earlier process stay where they are until the next input. */
  park(): void {
    this.#parked = true;
    this.#setStatus('parked');
  }

  /** Goes on with what opening found: a suspended turn now waits; an interrupted request is offered. */
  resume(found: Found): void {
    if (found.kind === 'suspended') this.#suspended = found;
    else if (found.kind === 'interrupted') this.#crashed = found;
    else return;
    const parked = this.#rt.log.state().queue.length > 0;
    this.wake();
    this.#parked = parked;
  }

  abort(reason: AbortReason): void {
    if (this.#controller !== undefined && !this.#controller.signal.aborted)
      this.#controller.abort(Object.freeze(reason));
  }

  /** Another process has the session: what runs is told to stop, and nobody waits here any more for what is queued. */
  lose(): void {
    this.#lost = true;
    this.abort({ kind: 'dispose' });
    if (this.#running === undefined) this.#giveUp();
  }

  /** True once another process is known to have the session. */
  get lost(): boolean {
    return this.#lost || this.#rt.log.lost();
  }

  get active(): boolean {
    return this.#controller !== undefined;
  }

  async whenIdle(): Promise<void> {
    if (!this.#scheduled && (this.#running === undefined || this.#status === 'waiting')) return;
    await new Promise<void>((resolve) => this.#waiters.add(resolve));
  }

  /** Nothing new begins; what runs is awaited. */
  async end(): Promise<void> {
    this.#disposed = true;
    this.abort({ kind: 'dispose' });
    await this.#running;
    this.#setStatus('disposed');
    this.#rest();
  }

  waiting(is: boolean): void {
    if (this.#disposed) return;
    this.#setStatus(is ? 'waiting' : 'running');
    if (is) this.#rest();
  }

  #rest(): void {
    for (const resolve of this.#waiters) resolve();
    this.#waiters.clear();
  }

  #setStatus(status: AgentStatus): void {
    if (this.#status === status) return;
    this.#status = status;
    try {
      this.#onStatus(status);
    } catch {
      // A listener watches; what it throws changes nothing (A13).
    }
  }

  async #drain(): Promise<void> {
    this.#setStatus('running');
    do {
      if (this.#disposed) break;
      try {
        // oxlint-disable-next-line no-await-in-loop -- one piece of work after the other
        await this.#runNext();
      } catch (error) {
        this.#breakOff(error);
      }
      // oxlint-disable-next-line no-await-in-loop
      await this.#rt.log.flush().catch(() => undefined);
    } while (!this.#disposed && !this.#parked && this.#rt.log.state().queue.length > 0 && !this.lost);
    this.#running = undefined;
    if (this.lost) this.#giveUp();
    this.#setStatus(this.#rt.log.state().queue.length > 0 ? 'parked' : 'idle');
    this.#rest();
  }

  async #runNext(): Promise<void> {
    if (this.#suspended !== undefined) {
      this.#suspended = undefined;
      await this.#resumeSuspended();
    } else if (this.#crashed !== undefined) {
      const crashed = this.#crashed;
      this.#crashed = undefined;
      await this.#offerCrash(crashed);
    } else {
      const next = this.#parked ? undefined : this.#rt.log.state().queue[0];
      if (next !== undefined) await this.#runPrompt(next.id);
    }
  }

  /** The log refuses even what should end a prompt, e.g. since the fold of a plugin throws at it: that prompt has failed. */
  #breakOff(error: unknown): void {
    this.#parked = true;
    this.#admitting = false;
    this.#finish();
    const { turn, queue, chain, open } = this.#rt.log.state();
    const id = open === undefined ? queue[0]?.id : chain?.prompt;
    const failure = toFailure(error, this.#rt.clock.now());
    if (id !== undefined) this.#handles.settle(id, { kind: 'failed', turn, failure, class: classify(failure).class });
  }

  #giveUp(): void {
    const { turn, prompts } = this.#rt.log.state();
    const failure = { message: `Another process has taken over ${this.#rt.log.stream}.`, code: 'session/lost-lease' };
    const end = { kind: 'failed' as const, turn, failure, class: classify(failure).class };
    for (const [id, prompt] of prompts) if (prompt.state !== 'ended') this.#handles.settle(id, end);
  }

  async #runPrompt(id: string): Promise<void> {
    const controller = this.#begin();
    const before = new Set(this.#rt.log.state().staged.map((message) => message.id));
    this.#admitting = true;
    const admission = await this.#admit(id, controller.signal);
    this.#admitting = false;
    const prompt = this.#rt.log.state().queue.find((message) => message.id === id);
    if (prompt === undefined) return this.#finish();
    if (admission.kind === 'block' || controller.signal.aborted) {
      const cause = controller.signal.aborted ? cancelledBy(controller.signal) : undefined;
      if (cause?.kind === 'dispose') return this.#finish();
      const because = cause?.kind === 'cancel' ? `cancelled: ${cause.cause}` : blockedBecause(admission);
      this.#rt.log.add(sessionEvent('message.dropped', { ids: [id], because }));
      await this.#settle(id, undefined);
      return this.#finish();
    }
    const commit = (): void => this.#commitPrompt(id, admission, before);
    const turn = this.#rt.log.state().turn + 1;
    await this.#chain(id, turn, { kind: 'new', trigger: { kind: 'prompt', id }, commit });
  }

  async #admit(id: string, signal: AbortSignal): Promise<Admission> {
    const prompt = this.#rt.log.state().queue.find((message) => message.id === id);
    if (prompt === undefined) return { kind: 'block', because: 'it is no longer queued' };
    const payload = Object.freeze({ id, content: prompt.content, signal });
    try {
      return readAdmission(await this.#rt.waterfalls.run('agent/prompt-admission', payload, () => ({ kind: 'allow' })));
    } catch (error) {
      return { kind: 'block', because: `admission failed: ${messageOf(error)}` };
    }
  }

  /** What was staged before the prompt, the prompt, contexts of admission, what was staged during it. */
  #commitPrompt(id: string, admission: Extract<Admission, { kind: 'allow' }>, before: ReadonlySet<string>): void {
    const { log } = this.#rt;
    const { staged, queue } = log.state();
    const early = staged.filter((message) => before.has(message.id)).map((message) => ({ id: message.id }));
    const late = staged.filter((message) => !before.has(message.id)).map((message) => ({ id: message.id }));
    if (!queue.some((message) => message.id === id)) return;
    const contexts = (admission.contexts ?? []).map((content) => {
      const context = { id: this.#rt.ids.uuid(), kind: 'context' as const, content };
      log.add(sessionEvent('message.accepted', context));
      return { id: context.id };
    });
    const prompt = { id, ...(admission.content === undefined ? {} : { content: admission.content }) };
    log.add(sessionEvent('input.committed', { items: [...early, prompt, ...contexts, ...late] }));
  }

  /** A turn and its retries: a loop, so that a long chain costs what its last turn costs. */
  async #chain(prompt: string, root: number, first: TurnStart): Promise<void> {
    const stopClock = this.#startDeadline();
    let start = first;
    let turn = first.kind === 'suspended' ? this.#rt.log.state().turn : this.#rt.log.state().turn + 1;
    let result: TurnResult;
    const steered = new Set<string>();
    for (;;) {
      // oxlint-disable-next-line no-await-in-loop -- what is open on record must not be taken for the turn that begins
      const failure = !this.#disposed && this.#isLeftOver(start) ? await this.#closeLeftOver() : undefined;
      if (failure !== undefined) {
        result = { kind: 'unrecorded', failure };
        break;
      }
      const signal = this.#controller?.signal ?? AbortSignal.abort({ kind: 'dispose' });
      // oxlint-disable-next-line no-await-in-loop -- one turn after the other
      result = await runTurn(this.#rt, start, { turn, chain: root, signal, steered });
      // A cancel that comes when the failed turn is closed, and the next not yet open, is one of this chain, too.
      if (result.kind !== 'retry' || this.#disposed || signal.aborted) break;
      const { of } = result;
      turn = this.#rt.log.state().turn + 1;
      start = { kind: 'new', trigger: { kind: 'retry', of }, commit: () => this.#commitAll() };
      this.#begin();
    }
    stopClock();
    if (result.kind === 'left') return this.#finish();
    if (result.kind === 'unrecorded' || (result.kind === 'over' && isTerminal(result.end.reason) && !this.#isSentOn()))
      this.#parked = true;
    await this.#settle(prompt, result.kind === 'unrecorded' ? result.failure : undefined);
    this.#finish();
  }

  /** What is queued need not wait behind a failure: input has come since, or somebody cancelled the rest of this chain only. */
  #isSentOn(): boolean {
    const reason = this.#controller?.signal.reason as AbortReason | undefined;
    return this.#woken || reason?.kind === 'cancel';
  }

  #isLeftOver(start: TurnStart): boolean {
    return start.kind === 'new' && this.#rt.log.state().open !== undefined;
  }

  /** A turn that could not be closed when it ended is closed before the next one opens. Returns why it still cannot be. */
  async #closeLeftOver(): Promise<Failure | undefined> {
    try {
      closeOpen(this.#rt.log, {}, { reason: 'interrupted' });
      await this.#rt.log.flush();
      return undefined;
    } catch (error) {
      return toFailure(error, this.#rt.clock.now());
    }
  }

  #commitAll(): void {
    const { staged } = this.#rt.log.state();
    if (staged.length > 0)
      this.#rt.log.add(sessionEvent('input.committed', { items: staged.map(({ id }) => ({ id })) }));
  }

  #startDeadline(): () => void {
    const limit = this.#rt.limits.turn?.wallMs;
    if (limit === undefined) return () => undefined;
    const over = new AbortController();
    const run = async (): Promise<void> => {
      await this.#rt.clock.sleep(limit, over.signal);
      if (!over.signal.aborted) this.abort({ kind: 'limit', unit: 'wallMs', limit });
    };
    void run();
    return () => over.abort();
  }

  async #resumeSuspended(): Promise<void> {
    const { open, chain } = this.#rt.log.state();
    if (open === undefined || chain === undefined) return;
    this.#begin();
    await this.#chain(chain.prompt, chain.root, { kind: 'suspended' });
  }

  async #offerCrash(found: Extract<Found, { kind: 'interrupted' }>): Promise<void> {
    const { signal } = this.#begin();
    const { turn, chain, model } = found;
    const prompt = this.#rt.log.state().chain?.prompt ?? '';
    const failure: Failure = { message: 'The process died during this request.', process: 'host-crashed' };
    await this.#rt.log.flush().catch(() => undefined);
    const retry = await offer(this.#rt, { turn, chain, signal }, { model, failure, interrupted: true });
    const end =
      retry && !signal.aborted ? endOfFailure(failure, this.#rt.clock.now()) : { reason: 'interrupted' as const };
    closeOpen(this.#rt.log, {}, end);
    const closed = await this.#rt.log.flush().then(
      () => true,
      () => false,
    );
    if (!retry || !closed || signal.aborted) {
      await this.#settle(prompt, undefined);
      return this.#finish();
    }
    const start: TurnStart = { kind: 'new', trigger: { kind: 'retry', of: turn }, commit: () => this.#commitAll() };
    await this.#chain(prompt, chain, start);
  }

  #begin(): AbortController {
    this.#controller = new AbortController();
    return this.#controller;
  }

  #finish(): void {
    this.#controller = undefined;
  }

  /** Tells whoever waits for the prompt, after its end is durable; or that the log is what failed. */
  async #settle(id: string, unrecorded: Failure | undefined): Promise<void> {
    const { log } = this.#rt;
    let failure = unrecorded;
    if (failure === undefined) {
      try {
        await log.flush();
      } catch (error) {
        failure = toFailure(error, this.#rt.clock.now());
      }
    }
    if (failure !== undefined) {
      if (!log.lost() && log.state().queue.some((message) => message.id === id))
        log.add(sessionEvent('message.dropped', { ids: [id], because: `the journal failed: ${failure.message}` }));
      return this.#handles.settle(id, {
        kind: 'failed',
        turn: log.state().turn,
        failure,
        class: classify(failure).class,
      });
    }
    const known = log.state().prompts.get(id);
    const settlement: FinalSettlement =
      known?.state === 'ended' ? known.settlement : { kind: 'interrupted', turn: log.state().turn };
    this.#handles.settle(id, settlement);
  }
}

/** Ends after which what is queued behind would most likely only fail, too. */
function isTerminal(reason: string): boolean {
  return reason === 'failed' || reason === 'limit';
}

function cancelledBy(signal: AbortSignal): AbortReason {
  return signal.reason as AbortReason;
}

function blockedBecause(admission: Admission): string {
  return admission.kind === 'block' ? admission.because : 'the time limit passed';
}
