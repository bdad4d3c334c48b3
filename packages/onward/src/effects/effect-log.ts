import type { NewEvent } from '../kernel/envelope.ts';
import { assertNever } from '../kernel/error.ts';
import type { Append, Journal } from '../kernel/journal.ts';
import { foldQuestion, type QuestionState, questionStream } from '../kernel/question.ts';
import { claimOf, type EffectState, foldEffects } from './effect-state.ts';

/** What is on record of one key at one moment. */
export interface EffectView {
  readonly position: number;
  readonly effect?: EffectState;
  /** Another key that is open on the same resource. */
  readonly claim?: EffectState;
  /** The question it waits for, wherever that stands. */
  readonly question?: QuestionState;
}

/**
 * What became of a write. `moved`: somebody wrote in between, so look again and decide again; `stale`: another has taken
 * over from this caller; `held`: another live program has the key.
 */
export type Written = 'ok' | 'moved' | 'stale' | 'held';

/** What goes into one append besides events of the effect. */
export interface Beside {
  readonly more?: readonly Append[];
  /** Without it the append is evidence that anybody may add. */
  readonly fenced?: boolean;
}

/** The stream of an effect as one caller sees and writes it. */
export class EffectLog {
  readonly journal: Journal;
  readonly stream: string;
  readonly key: string;
  readonly #fence: () => Promise<Append | 'held'>;

  constructor(journal: Journal, at: { readonly stream: string; readonly key: string }, fence: EffectLog['fence']) {
    this.journal = journal;
    this.stream = at.stream;
    this.key = at.key;
    this.#fence = fence;
  }

  /** The append that holds a batch to the caller's epoch. */
  fence(): Promise<Append | 'held'> {
    return this.#fence();
  }

  async read(): Promise<EffectView> {
    const states = foldEffects(await this.journal.read(this.stream));
    const effect = states.keys.get(this.key);
    const claim = claimOf(states, this.key);
    const asked = effect?.stage.kind === 'unsure' ? effect.stage.question : undefined;
    const question = asked === undefined ? undefined : foldQuestion(await this.journal.read(questionStream(asked)));
    return {
      position: states.position,
      ...(effect === undefined ? {} : { effect }),
      ...(claim === undefined ? {} : { claim }),
      ...(question === undefined ? {} : { question }),
    };
  }

  /** Appends under the caller's fence, if the stream still ends where it was seen to end. */
  async append(position: number, events: readonly NewEvent[], beside: Beside = {}): Promise<Written> {
    const fence = beside.fenced === false ? undefined : await this.fence();
    if (fence === 'held') return 'held';
    const appended = await this.journal.append([
      { stream: this.stream, expected: position, events },
      ...(beside.more ?? []),
      ...(fence === undefined ? [] : [fence]),
    ]);
    if (appended.ok) return 'ok';
    switch (appended.refusal.kind) {
      case 'stale-position':
        return appended.refusal.stream === fence?.stream ? 'stale' : 'moved';
      case 'stale-epoch':
        return 'stale';
      default:
        return assertNever(appended.refusal, 'the append to an effect');
    }
  }

  /**
   * Whether nothing has happened since a write, and the caller still has its lease. Asked right before the call: a process that
   * was stopped in between finds that another has taken over, instead of calling.
   */
  async isCurrent(position: number): Promise<boolean> {
    const fence = await this.fence();
    if (fence === 'held' || (await this.journal.read(this.stream, position)).length > 0) return false;
    return fence.epoch === undefined || (await this.journal.lease(fence.stream))?.epoch === fence.epoch;
  }
}
