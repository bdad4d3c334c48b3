import { assertNever, OnwardError } from '../kernel/error.ts';
import type { Holder, Journal } from '../kernel/journal.ts';
import { canonicalJson } from '../kernel/json.ts';
import type { Clock, Hash, Ids } from '../kernel/ports.ts';
import { askAppend } from '../kernel/question.ts';
import type { Signal } from '../kernel/signal.ts';
import { startCall } from './call-end.ts';
import { CallerLease } from './caller-lease.ts';
import { decideEffect, type EffectMove, type EffectSituation } from './decide-effect.ts';
import type { EffectCaller, EffectCalls, EffectName, EffectOutcome } from './effect.ts';
import { type CallerRef, effectEvent } from './effect-events.ts';
import { EffectLog, type EffectView, type Written } from './effect-log.ts';
import { effectQuestion, payloadOf, shownResource, underPresentRules, useAnswer } from './effect-question.ts';
import type { EffectStage } from './effect-state.ts';
import { runStream } from './key.ts';
import { lookUp } from './look-up.ts';
import { keepReceipt, readReceipt } from './receipt.ts';
import { type RecordedRefusal, refusalText } from './refusal-text.ts';
import { type Ended, expirePending, recordEnd } from './record-end.ts';

/** What all runs of one ledger share. */
export interface LedgerParts {
  readonly journal: Journal;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly hash: Hash;
  readonly holder: Holder;
  readonly isDead: (holder: Holder) => boolean;
  readonly leaseMs: number;
  /** Names this ledger in its intents. */
  readonly id: string;
  /** Keys whose call has not come back, also one that was told to stop and did not. */
  readonly calling: Set<string>;
  /** Ends of calls that the journal did not take: written before anything else is done with the key. */
  readonly unstored: Map<string, Ended>;
}

/** One wish for an effect. */
export interface EffectRequest {
  readonly key: string;
  readonly stream: string;
  readonly name: EffectName;
  readonly calls: EffectCalls;
  readonly caller: EffectCaller;
  /** The stream of the work that waits, or of the run itself when nothing does. */
  readonly owner: string;
  readonly signal: Signal;
}

const MOST_ROUNDS = 100;

/** Looks at what is on record, decides, does one thing, and looks again, until there is an outcome. */
export class EffectRun {
  readonly #parts: LedgerParts;
  readonly #request: EffectRequest;
  readonly #log: EffectLog;
  readonly #lease: CallerLease;
  readonly #payload: string;
  #found: EffectSituation['found'];
  #calls = 0;
  #abandoned = false;

  constructor(parts: LedgerParts, request: EffectRequest) {
    const { caller, key, stream } = request;
    this.#parts = parts;
    this.#request = request;
    this.#lease = new CallerLease(parts, runStream(key));
    this.#log = new EffectLog(parts.journal, { stream, key }, async () => caller.fence?.() ?? this.#lease.fence());
    this.#payload = parts.hash.sha256(canonicalJson(payloadOf(request.name, request.calls)));
  }

  async run(): Promise<EffectOutcome> {
    try {
      const unstored = this.#parts.unstored.get(this.#request.key);
      if (unstored !== undefined) await this.#record(unstored);
      for (let round = 0; round < MOST_ROUNDS; round++) {
        const view = await this.#log.read();
        const outcome = await this.#perform(decideEffect(await this.#situation(view)), view);
        if (outcome !== undefined) return outcome;
      }
      throw new OnwardError('effects/contended', `${this.#log.stream} does not come to rest.`, {
        place: this.#log.stream,
        next: ['Run it again.'],
      });
    } finally {
      await this.#lease.end({ release: !this.#abandoned });
    }
  }

  async #situation({ effect, claim, question }: EffectView): Promise<EffectSituation> {
    const { calls, signal } = this.#request;
    return {
      ...(effect === undefined ? {} : { effect }),
      ...(claim === undefined ? {} : { claim }),
      ...(this.#found === undefined ? {} : { found: this.#found }),
      payload: this.#payload,
      can: {
        lookup: calls.lookup !== undefined,
        ...(calls.settleMs === undefined ? {} : { settleMs: calls.settleMs }),
        ...(calls.keyLifetimeMs === undefined ? {} : { keyLifetimeMs: calls.keyLifetimeMs }),
      },
      callerGone: await this.#isCallerGone(effect?.stage),
      question: underPresentRules(question),
      calls: this.#calls,
      aborted: signal.aborted,
      now: this.#parts.clock.now(),
    };
  }

  /** A call can do nothing more when the process that made it is gone, which its lease tells. */
  async #isCallerGone(stage: EffectStage | undefined): Promise<boolean> {
    if (stage?.kind !== 'calling' && stage?.kind !== 'unsure') return false;
    const { ledger, stream, epoch }: CallerRef = stage.caller;
    if (ledger === this.#parts.id) return !this.#parts.calling.has(this.#request.key);
    if (epoch === undefined) return true;
    const lease = await this.#parts.journal.lease(stream);
    return (
      lease === undefined ||
      lease.epoch !== epoch ||
      lease.expiresAt <= this.#parts.clock.now() ||
      this.#parts.isDead(lease.holder)
    );
  }

  /** Does the next thing. No outcome: look again. */
  async #perform(move: EffectMove, view: EffectView): Promise<EffectOutcome | undefined> {
    const { key } = this.#request;
    switch (move.kind) {
      case 'call':
        return this.#call(move, view);
      case 'repeat': {
        const receipt = await readReceipt(this.#parts.journal, move.receipt);
        return { kind: 'accepted', key, receipt, repeated: this.#calls === 0 };
      }
      case 'look-up':
        return this.#lookUp(view);
      case 'wait':
        await this.#parts.clock.sleep(move.until - this.#parts.clock.now(), this.#request.signal);
        return undefined;
      case 'stand':
        return view.question && { kind: 'waiting', key, question: view.question.question };
      case 'in-flight':
        return { kind: 'in-flight', key };
      case 'refuse':
        return this.#refuse(move.because, view);
      case 'take-over':
      case 'settle':
      case 'ask':
      case 'adopt':
      case 'give-up':
        return this.#outcomeOf(await this.#write(move, view));
      default:
        return assertNever(move, 'the effect');
    }
  }

  /** The moves that are one append. */
  async #write(
    move: Extract<EffectMove, { kind: 'take-over' | 'settle' | 'ask' | 'adopt' | 'give-up' }>,
    view: EffectView,
  ): Promise<Written> {
    const of = { key: this.#request.key, n: view.effect?.calls ?? 0 };
    const { clock, ids, journal } = this.#parts;
    switch (move.kind) {
      case 'take-over': {
        const end = { because: 'caller-gone', ended: true, at: clock.now() } as const;
        return this.#log.append(view.position, [effectEvent('effect.unknown', { ...of, ...end })]);
      }
      case 'settle': {
        const event = effectEvent('effect.looked-up', { ...of, found: 'absent', settled: true });
        return this.#log.append(view.position, [event], { more: expirePending(view, 'it did not happen') });
      }
      case 'ask': {
        const { name, calls, owner, key } = this.#request;
        const question = effectQuestion({ id: ids.uuid(), owner, name, calls, key, because: move.because });
        const more = [askAppend(question), ...expirePending(view, 'the rules have changed')];
        return this.#log.append(view.position, [effectEvent('effect.waiting', { ...of, question: question.id })], {
          more,
        });
      }
      case 'adopt': {
        const isPerson = move.from === 'person';
        const receipt = isPerson ? await keepReceipt(journal, this.#log.stream, move.answer.value) : move.receipt;
        const by = isPerson ? { by: 'person' as const, person: move.answer.by } : { by: 'late-receipt' as const };
        const more = isPerson ? useAnswer(view.question) : expirePending(view, 'its receipt came');
        return this.#log.append(view.position, [effectEvent('effect.accepted', { ...of, receipt, ...by })], { more });
      }
      case 'give-up':
        return this.#log.append(view.position, [effectEvent('effect.given-up', { ...of, person: move.answer.by })], {
          more: useAnswer(view.question),
        });
      default:
        return assertNever(move, 'the effect');
    }
  }

  async #lookUp(view: EffectView): Promise<EffectOutcome | undefined> {
    const { key, calls, signal } = this.#request;
    const { clock, journal } = this.#parts;
    if (calls.lookup === undefined) throw new OnwardError('bug/no-lookup', 'A lookup was decided on without one.');
    const at = clock.now();
    const found = await lookUp((...asked) => calls.lookup?.(...asked) as never, key, clock, signal);
    const of = { key, n: view.effect?.calls ?? 0 };
    if (found.kind === 'accepted') {
      const receipt = await keepReceipt(journal, this.#log.stream, found.receipt);
      const accepted = effectEvent('effect.accepted', { ...of, receipt, by: 'lookup' });
      const more = expirePending(view, 'the service says that it happened');
      return this.#outcomeOf(await this.#log.append(view.position, [accepted], { more }));
    }
    const failure = found.kind === 'unknown' && found.failure !== undefined ? { failure: found.failure } : {};
    const event = effectEvent('effect.looked-up', { ...of, found: found.kind, settled: false, ...failure });
    const written = await this.#log.append(view.position, [event]);
    if (written === 'ok') this.#found = { kind: found.kind, at };
    return this.#outcomeOf(written);
  }

  async #call(
    { because }: Extract<EffectMove, { kind: 'call' }>,
    view: EffectView,
  ): Promise<EffectOutcome | undefined> {
    const n = (view.effect?.calls ?? 0) + 1;
    const intent = await this.#intend(n, because, view);
    if (intent !== 'ok') return this.#outcomeOf(intent);
    this.#found = undefined;
    const { signal, key } = this.#request;
    const isCurrent = await this.#log.isCurrent(view.position + 1);
    if (signal.aborted || !isCurrent) {
      const failure = { message: 'It was not called: the caller was stopped after its intent.', code: 'NOT_CALLED' };
      return this.#record({ n, end: { kind: 'rejected', failure } });
    }
    this.#calls += 1;
    this.#parts.calling.add(key);
    const call = startCall((stop) => this.#request.calls.call(key, stop), signal);
    const end = await call.end;
    if (end.kind === 'abandoned') {
      this.#abandoned = true;
      void call.result.then(async (result) => this.#recordLate({ n, end: result }));
    } else this.#parts.calling.delete(key);
    const outcome = await this.#record({ n, end });
    if (outcome !== undefined || end.kind !== 'rejected') return outcome;
    return { kind: 'rejected', key, failure: end.failure };
  }

  async #intend(
    n: number,
    because: Extract<EffectMove, { kind: 'call' }>['because'],
    view: EffectView,
  ): Promise<Written> {
    const fence = await this.#log.fence();
    if (fence === 'held') return 'held';
    const { name, key } = this.#request;
    const { scope, action, task, compensates, occurrence = 0 } = name;
    const event = effectEvent('effect.intended', {
      key,
      n,
      at: this.#parts.clock.now(),
      scope,
      action,
      resource: shownResource(name),
      occurrence,
      ...(task === undefined ? {} : { task }),
      ...(compensates === undefined ? {} : { compensates }),
      payload: this.#payload,
      caller: {
        ledger: this.#parts.id,
        stream: fence.stream,
        ...(fence.epoch === undefined ? {} : { epoch: fence.epoch }),
      },
      because,
    });
    const more = because === 'person' ? useAnswer(view.question) : expirePending(view, 'it is safe to call again');
    return this.#log.append(view.position, [event], { more });
  }

  /** Writes down how a call ended, and keeps what the journal does not take, for the next run of this ledger. */
  async #record(ended: Ended): Promise<EffectOutcome | undefined> {
    const { unstored } = this.#parts;
    const { key } = this.#request;
    try {
      const recorded = await recordEnd(this.#log, this.#parts.clock, ended);
      unstored.delete(key);
      return recorded === 'stale' ? this.#stale() : undefined;
    } catch (error) {
      unstored.set(key, ended);
      throw error;
    }
  }

  /** What a call that was told to stop came to in the end. Nobody waits for this; the next run finds it. */
  async #recordLate(ended: Ended): Promise<void> {
    this.#parts.calling.delete(this.#request.key);
    await this.#record(ended).catch(() => undefined);
    await this.#lease.end({ release: true });
  }

  #outcomeOf(written: Written): EffectOutcome | undefined {
    switch (written) {
      case 'ok':
      case 'moved':
        return undefined;
      case 'stale':
        return this.#stale();
      case 'held':
        return { kind: 'in-flight', key: this.#request.key };
      default:
        return assertNever(written, 'the effect');
    }
  }

  #stale(): EffectOutcome {
    const message =
      'Another has taken over from this caller. What it did is not recorded; a receipt of it is kept as evidence.';
    return { kind: 'refused', key: this.#request.key, because: 'stale-fence', message };
  }

  #refuse(because: RecordedRefusal, view: EffectView): EffectOutcome {
    const { key, name } = this.#request;
    return { kind: 'refused', key, because, message: refusalText(because, name, view.claim?.key) };
  }
}
