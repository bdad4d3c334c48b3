import { assertNever } from '../kernel/error.ts';
import type { Json } from '../kernel/json.ts';
import type { Question } from '../kernel/question.ts';
import { awaitAnswer, expire, openQuestion } from './ask-question.ts';
import { leftOver } from './close-turn.ts';
import { type LimitHit, limitHit } from './limits.ts';
import { nameOf } from './effect-name.ts';
import { performCall, recordStart } from './perform-call.ts';
import type { CallDecision } from './plugin.ts';
import { messageOf, prepareCall, type PreparedCall } from './prepare-call.ts';
import type { Runtime, StepContext } from './runtime.ts';
import { type CallOutcome, sessionEvent } from './session-events.ts';
import type { CallState } from './session-state.ts';
import { useAppend } from '../kernel/question.ts';

/** What the calls of a step came to. */
export interface CallsResult {
  /** A tool asked that no request follows. */
  readonly concluded: boolean;
  readonly limit?: LimitHit;
}

type Ready = Extract<PreparedCall, { readonly ok: true }>;

/**
 * Runs the calls of the answer that have no outcome yet. Bodies of parallel calls overlap; questions, starts and results are
 * in the order of the calls. After an abort nothing starts; what has started is awaited. Throws a fault of the log, after
 * everything that runs has settled.
 */
export async function runCalls(rt: Runtime, at: StepContext): Promise<CallsResult> {
  const batch = new Batch(rt, at);
  const open = [...(rt.log.state().open?.step?.calls.values() ?? [])].filter(({ outcome }) => outcome === undefined);
  try {
    for (const state of open) {
      // oxlint-disable-next-line no-await-in-loop -- calls start in the order of the model
      await batch.start(state);
    }
  } finally {
    await batch.settled();
  }
  batch.throwFault();
  return { concluded: batch.concluded, ...(batch.limit === undefined ? {} : { limit: batch.limit }) };
}

/** One batch: a rolling pool, with results held back until those before them are on record. */
class Batch {
  readonly #rt: Runtime;
  readonly #at: StepContext;
  readonly #running = new Set<Promise<void>>();
  /** Ids in order, and outcomes that wait for their turn to be recorded. */
  readonly #order: string[] = [];
  readonly #ended = new Map<string, CallOutcome | undefined>();
  #recorded = 0;
  #fault: { readonly error: unknown } | undefined;
  concluded = false;
  limit: LimitHit | undefined;

  constructor(rt: Runtime, at: StepContext) {
    this.#rt = rt;
    this.#at = at;
  }

  async start(state: CallState): Promise<void> {
    const { call } = state;
    this.#order.push(call.id);
    if (this.#stopped()) return this.#end(call.id, this.#unstarted(state));
    const prepared = await prepareCall(call, this.#rt.tools, this.#at.signal);
    const alone = !prepared.ok || !prepared.parallel || this.#rt.parallelCalls <= 1;
    await this.#room(alone);
    if (this.#stopped()) return this.#end(call.id, this.#unstarted(state));
    if (!prepared.ok) {
      await this.#giveUp(state.question, 'the call can no longer be made');
      // What cannot run counts like what does: a model that makes the same mistake for ever is stopped, too.
      const refusal = this.#limited() ?? prepared.outcome;
      return this.#end(call.id, state.started ? leftOver(true) : refusal);
    }
    // One that had begun was permitted then; what it waits for is the answer about its outcome, which the ledger uses.
    const refused = await this.#guarded(async () =>
      state.started ? undefined : await this.#before(prepared, state.question),
    );
    if (refused !== undefined) return this.#end(call.id, refused);
    // What should be on record first is not: the body does not run.
    if (this.#fault !== undefined) return this.#end(call.id, undefined);
    const tracked: Promise<void> = this.#body(prepared, state.started).finally(
      () => void this.#running.delete(tracked),
    );
    this.#running.add(tracked);
    if (alone) await tracked;
  }

  async #body(ready: Ready, resumed: boolean): Promise<void> {
    const { id, tool, input } = ready.call;
    const { turn, step } = this.#at;
    this.#rt.live({ type: 'live.call', turn, step, id, tool, input, state: 'started' });
    const outcome = await this.#guarded(async () => await performCall(this.#rt, this.#at, ready, resumed));
    this.#rt.live({ type: 'live.call', turn, step, id, tool, input, state: 'ended' });
    this.#end(id, outcome);
  }

  async settled(): Promise<void> {
    while (this.#running.size > 0) {
      // oxlint-disable-next-line no-await-in-loop -- until none is left
      await Promise.all(this.#running);
    }
  }

  throwFault(): void {
    if (this.#fault !== undefined) throw this.#fault.error;
  }

  #stopped(): boolean {
    return this.#at.signal.aborted || this.#fault !== undefined;
  }

  /** Of one that began in an earlier process nobody can say that nothing was done; after a fault the close of the step speaks. */
  #unstarted({ started }: CallState): CallOutcome | undefined {
    if (this.#fault !== undefined) return undefined;
    return started ? leftOver(true) : undispatched;
  }

  /** The first fault of the machinery (not of a tool) stops new starts and is thrown at the end (A117). */
  async #guarded<Value>(act: () => Promise<Value>): Promise<Value | undefined> {
    try {
      return await act();
    } catch (error) {
      this.#fault ??= { error };
      return undefined;
    }
  }

  async #room(alone: boolean): Promise<void> {
    const most = alone ? 0 : this.#rt.parallelCalls - 1;
    while (this.#running.size > most) {
      // oxlint-disable-next-line no-await-in-loop -- until there is room
      await Promise.race(this.#running);
    }
  }

  /** Everything that may stand in the way of a call: limits, listeners, a person. Then its start is on record. */
  async #before(ready: Ready, asked: string | undefined): Promise<CallOutcome | undefined> {
    const { call, entry } = ready;
    const over = this.#limited();
    if (over !== undefined) {
      await this.#giveUp(asked, 'a limit is used up');
      return over;
    }
    const named = nameOf(this.#rt, ready);
    if (named.kind === 'bad') return named.outcome;
    const effect = entry.effect !== 'none';
    const { turn, step, chain, signal } = this.#at;
    const view = Object.freeze({ id: call.id, tool: call.tool, input: call.input, effect });
    const decision = await this.#rt.waterfalls
      .run('agent/tool-call', { turn, step, chain, signal, call: view }, () => ownDecision(ready))
      .then(readDecision, (error: unknown) => deny(`a listener failed: ${messageOf(error)}`));
    if (signal.aborted) {
      await this.#giveUp(asked, 'the work that asked was cancelled');
      return undispatched;
    }
    const question = await this.#permit(ready, decision, asked);
    if (typeof question === 'object') return question;
    if (signal.aborted) return undispatched;
    await recordStart(this.#rt, this.#at, ready, question);
    return undefined;
  }

  /** A question that nobody waits for any more is not left open. */
  async #giveUp(question: string | undefined, because: string): Promise<void> {
    if (question !== undefined) await this.#guarded(async () => await expire(this.#rt, question, because));
  }

  #limited(): CallOutcome | undefined {
    // Calls before this one that are not yet on record are not yet counted either.
    const inFlight = this.#order.length - 1 - this.#recorded;
    this.limit ??= limitHit(this.#rt.limits, this.#rt.log.state(), { for: 'call', inFlight });
    return this.limit === undefined ? undefined : limited(this.limit);
  }

  /** The outcome that refuses the call; the id of the question whose answer allows it; or `undefined`: nobody was asked. */
  async #permit(
    ready: Ready,
    decision: CallDecision,
    asked: string | undefined,
  ): Promise<CallOutcome | string | undefined> {
    switch (decision.kind) {
      case 'allow':
        if (asked !== undefined) await expire(this.#rt, asked, 'the rule that asked no longer does');
        return undefined;
      case 'deny':
        if (asked !== undefined) await expire(this.#rt, asked, 'a rule denies the call');
        return { ok: false, code: 'denied', message: `Denied: ${decision.because}` };
      case 'ask':
        return await this.#ask(ready, decision, asked);
      default:
        return assertNever(decision, 'a decision about a call');
    }
  }

  async #ask(
    ready: Ready,
    rule: Extract<CallDecision, { readonly kind: 'ask' }>,
    asked: string | undefined,
  ): Promise<CallOutcome | string> {
    const { call, entry } = ready;
    let id = asked;
    for (;;) {
      if (id === undefined) {
        const question = this.#question(ready, rule);
        id = question.id;
        // oxlint-disable-next-line no-await-in-loop -- asked again only when the rule has changed
        await openQuestion(this.#rt, this.#at, call.id, { question, open: false });
      }
      // oxlint-disable-next-line no-await-in-loop
      const result = await awaitAnswer(this.#rt, id, this.#at.signal);
      if (result.kind === 'aborted') return undispatched;
      if (result.kind === 'answered' && result.question.policyVersion === rule.policyVersion) {
        if (result.answer.choice === 'approve') return id;
        const note = result.answer.note === undefined ? '' : `: ${result.answer.note}`;
        const message = `Denied by ${result.answer.by}${note}`;
        this.#record(call.id, { ok: false, code: 'denied', message });
        // oxlint-disable-next-line no-await-in-loop
        await this.#rt.log.flush([useAppend(id)]);
        return { ok: false, code: 'denied', message };
      }
      if (result.kind === 'answered') {
        // oxlint-disable-next-line no-await-in-loop
        await expire(this.#rt, id, `the rule changed (${entry.tool.name}); it is asked again`);
      }
      id = undefined;
    }
  }

  #question(ready: Ready, rule: Extract<CallDecision, { readonly kind: 'ask' }>): Question {
    const { call, entry } = ready;
    return {
      id: this.#rt.ids.uuid(),
      owner: this.#rt.log.stream,
      subject: 'approval',
      text: rule.text,
      choices: ['approve', 'deny'],
      details: { tool: call.tool, ...shownInput(call.input), call: call.id },
      policyVersion: rule.policyVersion,
      mayAnswer: entry.tool.approval?.mayAnswer ?? [],
    };
  }

  /** Without an outcome, nothing is said of the call here: what is on record of its start says it. */
  #end(id: string, outcome: CallOutcome | undefined): void {
    this.#ended.set(id, outcome);
    for (;;) {
      const next = this.#order[this.#recorded];
      if (next === undefined || !this.#ended.has(next)) return;
      const ended = this.#ended.get(next);
      this.#ended.delete(next);
      this.#recorded += 1;
      if (ended !== undefined) this.#record(next, ended);
    }
  }

  /** After a fault of the log the call may be gone with the answer that was not stored. */
  #record(id: string, outcome: CallOutcome): void {
    const { turn, step } = this.#at;
    const open = this.#rt.log.state().open?.step?.calls.get(id);
    if (open === undefined || open.outcome !== undefined) return;
    if (outcome.ok && outcome.conclude === true) this.concluded = true;
    this.#rt.log.add(sessionEvent('call.finished', { turn, step, id, outcome }));
    // What others still run beside it for long is not what this result should wait for.
    if (open.started && this.#running.size > 1) this.#rt.log.store().catch(() => undefined);
  }
}

const undispatched: CallOutcome = {
  ok: false,
  code: 'aborted-before-dispatch',
  message: 'The turn was cancelled before this call began; nothing was done.',
};

function limited(hit: LimitHit): CallOutcome {
  return { ok: false, code: 'limit', message: `The limit of ${hit.limit} ${hit.unit} is used up; nothing was done.` };
}

function deny(because: string): Extract<CallDecision, { readonly kind: 'deny' }> {
  return { kind: 'deny', because: because.slice(0, 1_000).toWellFormed() };
}

/** What listeners decided. Anything that is no decision refuses the call. */
function readDecision(decision: unknown): CallDecision {
  const { kind, because, text, policyVersion } = (decision ?? {}) as Readonly<Record<string, unknown>>;
  if (kind === 'allow') return { kind };
  if (kind === 'deny') return deny(typeof because === 'string' ? because : 'by a listener');
  if (kind === 'ask' && typeof text === 'string' && typeof policyVersion === 'string')
    return { kind, text: text.slice(0, 4_000).toWellFormed(), policyVersion };
  return deny('a listener gave no decision');
}

/** A question is one event: arguments over this many characters are only named in it. */
const longestInput = 32_768;

function shownInput(input: Json): { readonly input: Json } | { readonly inputCharacters: number } {
  const { length } = JSON.stringify(input);
  return length > longestInput ? { inputCharacters: length } : { input };
}

/** What the tool's own approval rule says, where no listener decides. */
function ownDecision({ call, entry, input }: Ready): CallDecision {
  const { approval } = entry.tool;
  if (approval === undefined) return { kind: 'allow' };
  if (approval.when !== undefined && !approval.when(input)) return { kind: 'allow' };
  const text = approval.text?.(input) ?? `May ${call.tool} be called with ${JSON.stringify(call.input).slice(0, 200)}?`;
  return { kind: 'ask', text, policyVersion: approval.version };
}
