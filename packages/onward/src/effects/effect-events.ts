import type { NewEvent } from '../kernel/envelope.ts';
import type { Failure } from '../kernel/failure.ts';
import type { EventTable } from '../kernel/fold.ts';
import type { BlobRef } from '../kernel/journal.ts';
import type { Json } from '../kernel/json.ts';

/** A receipt as it is kept: inline, as a blob when it is large, or noted as something that JSON cannot say. */
export type Receipt =
  | { readonly json: Json }
  | { readonly blob: BlobRef }
  /** The service accepted; its answer had something at `place` that JSON would lose or change. */
  | { readonly unreadable: true; readonly place: string };

/** Which live program makes a call: it is gone when its lease is, whatever became of the call. */
export interface CallerRef {
  /** The ledger object that made it. */
  readonly ledger: string;
  /** The leased stream that fences it; no epoch = not leased. */
  readonly stream: string;
  readonly epoch?: number;
}

/** Why a call may be made. */
export type CallReason =
  | 'first'
  /** The last one was rejected: certainly not done. */
  | 'rejected'
  /** The service says that it did not happen, late enough to be believed. */
  | 'absent'
  /** The service dedupes on the key. */
  | 'deduped'
  /** A person said that it did not happen. */
  | 'person';

/** Who said that the effect happened. */
export type AcceptedBy = 'call' | 'lookup' | 'person' | 'late-receipt';

/** Why nobody knows what became of a call. */
export type UnknownReason = 'failed' | 'aborted' | 'caller-gone';

/** Of which effect and which call of it, counted from 1, an event speaks. */
interface Of {
  readonly key: string;
  readonly n: number;
}

/** What lies in `effect:<hash>`, by type. Times are ms since the epoch. */
export interface EffectEventData {
  /** Durable before the call. */
  'effect.intended': Of & {
    readonly at: number;
    readonly scope: string;
    readonly task?: string;
    readonly action: string;
    /** Cut when it is long. */
    readonly resource: string;
    readonly occurrence: number;
    /** The key that this one undoes. */
    readonly compensates?: string;
    /** Hash of the payload: the same key with another one is another effect under a wrong name. */
    readonly payload: string;
    readonly caller: CallerRef;
    readonly because: CallReason;
  };
  'effect.accepted': Of & { readonly receipt: Receipt; readonly by: AcceptedBy; readonly person?: string };
  /** Certainly not done. */
  'effect.rejected': Of & { readonly failure: Failure };
  /** Nobody knows. `ended`: the call can do nothing more from `at` on. */
  'effect.unknown': Of & {
    readonly because: UnknownReason;
    readonly ended: boolean;
    readonly at: number;
    readonly failure?: Failure;
  };
  /** What the service said when asked, if not that it happened. `settled`: late enough to be believed. */
  'effect.looked-up': Of & {
    readonly found: 'absent' | 'unknown';
    readonly settled: boolean;
    readonly failure?: Failure;
  };
  'effect.waiting': Of & { readonly question: string };
  'effect.given-up': Of & { readonly person: string };
  /** A receipt that came after another had taken over: evidence, never a state by itself. */
  'effect.receipt-late': Of & { readonly receipt: Receipt };
}

/** The types in `effect:<hash>`. */
export type EffectEventType = keyof EffectEventData;

/** Version and upcasts of each type; this folder owns them all. */
export const effectEventTable: EventTable & Readonly<Record<EffectEventType, { readonly v: number }>> = {
  'effect.intended': { v: 1 },
  'effect.accepted': { v: 1 },
  'effect.rejected': { v: 1 },
  'effect.unknown': { v: 1 },
  'effect.looked-up': { v: 1 },
  'effect.waiting': { v: 1 },
  'effect.given-up': { v: 1 },
  'effect.receipt-late': { v: 1 },
};

/** Builds an event in its newest version. */
export function effectEvent<Type extends EffectEventType>(type: Type, data: EffectEventData[Type]): NewEvent {
  return { type, v: effectEventTable[type].v, data: data as unknown as Json };
}
