import { isOnwardError } from '../../kernel/error.ts';
import type { BlobRef, Claimed, Lease } from '../../kernel/journal.ts';
import type { Write } from '../commit.ts';
import { checkMayErase, checkMayStore, type Claim, claimed, isHeldBy, leaseOf, type StreamState } from '../rules.ts';
import type { Work } from './commit-queue.ts';
import { EMPTY_HEAD, type StreamRow } from './stream-table.ts';
import type { Tables } from './tables.ts';

/** Takes a lease, or says who has it. */
export function claimWork(tables: Tables, stream: string, claim: () => Omit<Claim, 'epochFloor'>): Work<Claimed> {
  return () => {
    const row = tables.streams.get(stream);
    const before = row ?? EMPTY_HEAD;
    const state = claimed(before, { ...claim(), epochFloor: tables.fence.floor() });
    const held = leaseOf(stream, state ?? before) as Lease;
    if (state === undefined) return { value: { ok: false, held }, writes: [] };
    tables.streams.put(stream, { ...before, ...state }, row?.id);
    return { value: { ok: true, lease: held }, writes: [write('claim', stream)] };
  };
}

/** Changes the row of a lease that is still the one on record; otherwise returns false. */
export function heldWork(
  tables: Tables,
  kind: 'renew' | 'release',
  lease: Lease,
  update: (state: StreamState) => StreamState,
): Work<boolean> {
  return () => {
    const row = tables.streams.get(lease.stream);
    if (row === undefined || !isHeldBy(row, lease)) return { value: false, writes: [] };
    tables.streams.put(lease.stream, { ...row, ...update(row) }, row.id);
    return { value: true, writes: [write(kind, lease.stream)] };
  };
}

/** Stores bytes, and that the stream uses them. */
export function blobWork(
  tables: Tables,
  { stream, epoch }: { readonly stream: string; readonly epoch: number | undefined },
  ref: BlobRef,
  bytes: Uint8Array,
): Work<BlobRef> {
  return () => {
    const row = tables.streams.get(stream);
    checkMayStore(stream, row ?? EMPTY_HEAD, epoch);
    const id = row?.id ?? tables.streams.put(stream, EMPTY_HEAD, undefined);
    tables.blobs.put(id, ref, bytes);
    return { value: ref, writes: [write('blob', stream)] };
  };
}

/** Erases all of a stream. */
export function eraseWork(tables: Tables, stream: string, epoch: number | undefined): Work<void> {
  return () => {
    const row = erasable(tables, stream, epoch);
    if (row === undefined) return { value: undefined, writes: [] };
    tables.fence.raise(row.epoch);
    tables.events.delete(row.id);
    tables.blobs.deleteOf(row.id);
    tables.streams.delete(row.id);
    return { value: undefined, writes: [write('erase', stream)] };
  };
}

/** Nobody claims a damaged stream that often before it is erased. */
const EPOCHS_OF_DAMAGE = 2 ** 20;

/**
 * What is to be erased. A row whose seal is broken has no epoch to go by, and no append can follow: it may always go. Its
 * true epoch is not known, so later ones begin well above whatever it was.
 */
function erasable(
  tables: Tables,
  stream: string,
  epoch: number | undefined,
): { id: number; epoch: number } | undefined {
  let row: StreamRow | undefined;
  try {
    row = tables.streams.get(stream);
  } catch (error) {
    if (!isOnwardError(error, 'journal/damaged')) throw error;
    const remains = tables.streams.remains(stream);
    if (remains === undefined) return undefined;
    return { id: remains.id, epoch: Math.max(remains.epoch, tables.fence.floor()) + EPOCHS_OF_DAMAGE };
  }
  checkMayErase(stream, row ?? EMPTY_HEAD, epoch);
  return row;
}

function write(kind: Write['kind'], stream: string): Write {
  return { kind, stream, types: [] };
}
