import { hash } from 'node:crypto';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { OnwardError } from '../../kernel/error.ts';
import type { BlobRef } from '../../kernel/journal.ts';
import { damagedError } from './sqlite-error.ts';

/** The tables of blobs and of the streams that use them. */
export class BlobTable {
  readonly #insert: StatementSync;
  readonly #use: StatementSync;
  readonly #select: StatementSync;
  readonly #deleteUnshared: StatementSync;
  readonly #deleteUses: StatementSync;

  constructor(db: DatabaseSync) {
    this.#insert = db.prepare('insert or replace into blob values (?, ?)');
    this.#use = db.prepare('insert into blob_use values (?, ?) on conflict do nothing');
    this.#select = db.prepare('select bytes from blob where sha256 = ?');
    this.#deleteUnshared = db.prepare(
      'delete from blob where sha256 in (select sha256 from blob_use where stream = :stream) and not exists ' +
        '(select 1 from blob_use where blob_use.sha256 = blob.sha256 and stream <> :stream)',
    );
    this.#deleteUses = db.prepare('delete from blob_use where stream = ?');
  }

  put(stream: number, ref: BlobRef, bytes: Uint8Array): void {
    const stored = this.#bytes(ref.sha256);
    // Bytes that were damaged since are mended by whoever still has them.
    if (stored === undefined || sha256Of(stored) !== ref.sha256) this.#insert.run(ref.sha256, bytes);
    this.#use.run(stream, ref.sha256);
  }

  /** The bytes. Throws `journal/blob-missing`, or `journal/damaged` when they are not those of that name. */
  get(sha256: string): Uint8Array {
    const bytes = this.#bytes(sha256);
    if (bytes === undefined)
      throw new OnwardError('journal/blob-missing', `There is no blob ${sha256}.`, { place: sha256 });
    if (sha256Of(bytes) !== sha256) throw damagedError(`blob ${sha256}`, 'its bytes are not those that were stored');
    return bytes;
  }

  /** Forgets what a stream uses, and the bytes that nobody else uses. */
  deleteOf(stream: number): void {
    this.#deleteUnshared.run({ stream });
    this.#deleteUses.run(stream);
  }

  #bytes(sha256: string): Uint8Array | undefined {
    return (this.#select.get(sha256) as { bytes: Uint8Array } | undefined)?.bytes;
  }
}

/** SHA-256 of bytes as hexadecimal digits. */
export function sha256Of(bytes: Uint8Array): string {
  return hash('sha256', bytes, 'hex');
}
