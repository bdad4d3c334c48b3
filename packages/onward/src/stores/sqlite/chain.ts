import type { Holder } from '../../kernel/journal.ts';
import type { StreamState } from '../rules.ts';

/** SHA-256 of a text as hexadecimal digits. */
export type Sha256 = (text: string) => string;

/** A row of the event table, as it is stored. */
export interface EventRow {
  readonly position: number;
  readonly at: number;
  readonly epoch: number | null;
  readonly type: string;
  readonly v: number;
  readonly id: string | null;
  readonly ignorable: number | null;
  readonly data: string;
  readonly checksum: string;
}

/**
 * Checksum of a row, chained to the row before it. The fields are written as JSON, which holds no line break, so no two
 * rows give the same text.
 */
export function chain(sha256: Sha256, previous: string, stream: string, row: Omit<EventRow, 'checksum'>): string {
  const { position, at, epoch, type, v, id, ignorable } = row;
  return sha256(`${JSON.stringify([previous, stream, position, at, epoch, type, v, id, ignorable])}\n${row.data}`);
}

/** What a stream row holds, with the checksum of its last event (empty = no events) so that a removed tail shows. */
export interface StreamHead extends StreamState {
  readonly head: string;
}

/** Checksum over a whole stream row: a changed epoch would let a zombie write, a changed end would hide events. */
export function seal(sha256: Sha256, name: string, row: StreamHead): string {
  const { last, head, epoch, holder, expiresAt, due } = row;
  return sha256(JSON.stringify(['stream', name, last, head, epoch, holderText(holder), expiresAt, due]));
}

/** A holder as it is stored. */
export function holderText(holder: Holder | null): string | null {
  if (holder === null) return null;
  return JSON.stringify([holder.id, holder.host, holder.pid, holder.startedAt]);
}

/** A holder from its stored text. */
export function toHolder(text: string): Holder {
  const [id, host, pid, startedAt] = JSON.parse(text) as [string, string, number, string];
  return { id, host, pid, startedAt };
}
