import { OnwardError } from '../kernel/error.ts';
import type { Holder, Lease, Refusal } from '../kernel/journal.ts';
import type { PreparedAppend } from './batch.ts';

/** What a store keeps of a stream besides its events. A stream that does not exist is `EMPTY_STREAM`. */
export interface StreamState {
  /** Position of the last event; 0 = none. */
  readonly last: number;
  /** The newest epoch; 0 = never claimed. Stays after a release. */
  readonly epoch: number;
  readonly holder: Holder | null;
  /** When the lease of `holder` ends, ms since the epoch. */
  readonly expiresAt: number | null;
  readonly due: number | null;
}

/** The state of a stream that nobody has touched. */
export const EMPTY_STREAM: StreamState = { last: 0, epoch: 0, holder: null, expiresAt: null, due: null };

/** Why an append must not happen, or `undefined`. A zombie is told that it is one before it is told where the stream ends. */
export function refusalOf(state: StreamState, append: PreparedAppend): Refusal | undefined {
  const { stream, expected, epoch } = append;
  if ((epoch ?? 0) !== state.epoch) return { kind: 'stale-epoch', stream, epoch, current: state.epoch };
  if (expected !== 'any' && expected !== state.last) {
    return { kind: 'stale-position', stream, expected, actual: state.last };
  }
  return undefined;
}

/** The lease on record, also when it has run out. */
export function leaseOf(stream: string, state: StreamState): Lease | undefined {
  if (state.holder === null) return undefined;
  return { stream, epoch: state.epoch, holder: state.holder, expiresAt: state.expiresAt ?? 0 };
}

/** Who wants a stream, when, and which lease he has found to belong to a dead holder. */
export interface Claim {
  readonly holder: Holder;
  readonly ttlMs: number;
  readonly now: number;
  /** Epoch of the lease whose holder was found dead. Judged outside the transaction, so it must still be that lease. */
  readonly deadEpoch: number | undefined;
  /** No epoch at or under it is given out: those of erased streams, so that their zombies stay fenced. */
  readonly epochFloor: number;
}

/** The state after a granted claim, or `undefined` when a live lease stands in its way. */
export function claimed(state: StreamState, claim: Claim): StreamState | undefined {
  const free =
    state.holder === null ||
    (state.expiresAt ?? 0) <= claim.now ||
    state.holder.id === claim.holder.id ||
    state.epoch === claim.deadEpoch;
  if (!free) return undefined;
  const epoch = Math.max(state.epoch, claim.epochFloor) + 1;
  return { ...state, epoch, holder: claim.holder, expiresAt: claim.now + claim.ttlMs };
}

/** True when the lease is still the one on record; it may have run out. */
export function isHeldBy(state: StreamState, lease: Lease): boolean {
  return state.holder !== null && state.holder.id === lease.holder.id && state.epoch === lease.epoch;
}

/** A count of rows that every store can take: whole, not negative, and not endless. */
export function toLimit(limit: number): number {
  return Math.max(0, Math.min(Math.floor(limit), Number.MAX_SAFE_INTEGER)) || 0;
}

/** A thousand years: whatever is added to it stays a whole number that every store can keep. */
const LONGEST_TTL = 1000 * 366 * 24 * 3_600_000;

/** Checks and rounds a time to live in milliseconds. Throws `journal/bad-append`. */
export function checkTtl(ttlMs: number): number {
  if (ttlMs >= 0 && ttlMs <= LONGEST_TTL) return Math.ceil(ttlMs);
  throw new OnwardError('journal/bad-append', `A lease cannot last ${ttlMs} ms.`);
}

/** Throws `journal/stale-epoch` unless the stream was never claimed or this is its newest epoch. */
export function checkMayErase(stream: string, state: StreamState, epoch: number | undefined): void {
  if ((epoch ?? 0) === state.epoch) return;
  throw new OnwardError('journal/stale-epoch', `${stream} is not erased: its epoch is ${state.epoch}.`, {
    place: stream,
    next: ['Claim the stream, then erase it with the epoch of that lease.'],
  });
}

/** Throws `journal/stale-epoch` for a blob under an epoch that is not the newest of its stream. */
export function checkMayStore(stream: string, state: StreamState, epoch: number | undefined): void {
  if (epoch === undefined || epoch === state.epoch) return;
  throw new OnwardError('journal/stale-epoch', `Nothing is stored for ${stream}: its epoch is ${state.epoch}.`, {
    place: stream,
    next: ['Another has claimed or erased the stream: stop working on it.'],
  });
}
