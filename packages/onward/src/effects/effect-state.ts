import type { NewEvent, StoredEvent } from '../kernel/envelope.ts';
import { assertNever, OnwardError } from '../kernel/error.ts';
import { fold } from '../kernel/fold.ts';
import {
  type AcceptedBy,
  type CallerRef,
  type EffectEventData,
  effectEventTable,
  type EffectEventType,
  type Receipt,
} from './effect-events.ts';

/** Where one key stands. */
export type EffectStage =
  /** The intent is there and no end: the call is being made, or its caller died. */
  | { readonly kind: 'calling'; readonly caller: CallerRef }
  /** Nobody knows what became of the last call; from `endedAt` on (ms since the epoch) it can do nothing more. */
  | { readonly kind: 'unsure'; readonly caller: CallerRef; readonly endedAt?: number; readonly question?: string }
  /** Certainly not done: it may be called. */
  | { readonly kind: 'free'; readonly because: 'rejected' | 'absent' }
  | { readonly kind: 'accepted'; readonly receipt: Receipt; readonly by: AcceptedBy; readonly n: number }
  | { readonly kind: 'given-up' };

/** One key, folded from the stream it shares with the others of its resource. */
export interface EffectState {
  readonly key: string;
  /** Hash of the payload: all its intents have the same. */
  readonly payload: string;
  /** Intents so far. */
  readonly calls: number;
  /** When the service may have seen the key first, ms since the epoch. */
  readonly firstAt: number;
  readonly compensates?: string;
  readonly stage: EffectStage;
  /** Receipts that came too late to be recorded, as evidence. */
  readonly late: readonly { readonly n: number; readonly receipt: Receipt }[];
}

/** All keys of one (scope, action, resource). */
export interface EffectStates {
  readonly keys: ReadonlyMap<string, EffectState>;
  readonly position: number;
}

type Stored = {
  [Type in EffectEventType]: Omit<StoredEvent, 'type' | 'data'> & {
    readonly type: Type;
    readonly data: EffectEventData[Type];
  };
}[EffectEventType];

/** Folds an effect's stream. Throws `journal/...` for one that is damaged, newer, or no effect's. */
export function foldEffects(events: readonly StoredEvent[]): EffectStates {
  const keys = new Map<string, EffectState>();
  fold<undefined, NewEvent>(events, effectEventTable, undefined, (_none, event) => {
    const stored = event as unknown as Stored;
    keys.set(stored.data.key, apply(keys.get(stored.data.key), stored));
    return undefined;
  });
  return { keys, position: events.at(-1)?.position ?? 0 };
}

/** The key that is in flight or of unknown outcome: as long as there is one, no other may act on the resource. */
export function claimOf(states: EffectStates, except: string): EffectState | undefined {
  return [...states.keys.values()].find((state) => state.key !== except && isOpen(state));
}

/** True while the outcome of the last call is not on record. */
export function isOpen({ stage }: EffectState): boolean {
  return stage.kind === 'calling' || stage.kind === 'unsure';
}

function apply(before: EffectState | undefined, event: Stored): EffectState {
  if (event.type === 'effect.intended') return intend(before, event.data);
  if (before === undefined)
    throw new OnwardError('journal/not-an-effect', `${event.stream} speaks of a call that it did not announce.`, {
      place: `${event.stream}@${event.position}`,
    });
  switch (event.type) {
    case 'effect.accepted': {
      const { receipt, by, n } = event.data;
      return { ...before, stage: { kind: 'accepted', receipt, by, n } };
    }
    case 'effect.rejected':
      return { ...before, stage: { kind: 'free', because: 'rejected' } };
    case 'effect.unknown':
      return { ...before, stage: unsure(before, event.data) };
    case 'effect.looked-up':
      return event.data.settled ? { ...before, stage: { kind: 'free', because: 'absent' } } : before;
    case 'effect.waiting':
      return before.stage.kind === 'unsure'
        ? { ...before, stage: { ...before.stage, question: event.data.question } }
        : before;
    case 'effect.given-up':
      return { ...before, stage: { kind: 'given-up' } };
    case 'effect.receipt-late':
      return { ...before, late: [...before.late, { n: event.data.n, receipt: event.data.receipt }] };
    default:
      return assertNever(event, 'foldEffects');
  }
}

function intend(before: EffectState | undefined, data: EffectEventData['effect.intended']): EffectState {
  return {
    key: data.key,
    payload: data.payload,
    calls: data.n,
    firstAt: before?.firstAt ?? data.at,
    ...(data.compensates === undefined ? {} : { compensates: data.compensates }),
    stage: { kind: 'calling', caller: data.caller },
    late: before?.late ?? [],
  };
}

function unsure({ stage }: EffectState, data: EffectEventData['effect.unknown']): EffectStage {
  if (stage.kind !== 'calling' && stage.kind !== 'unsure') return stage;
  return { ...stage, kind: 'unsure', ...(data.ended ? { endedAt: data.at } : {}) };
}
