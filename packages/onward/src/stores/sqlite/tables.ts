import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { BlobTable } from './blob-table.ts';
import type { Sha256 } from './chain.ts';
import { EventTable } from './event-table.ts';
import { StreamTable } from './stream-table.ts';

/** The highest epoch of erased streams: newer claims go above it, so that zombies of an erased stream stay fenced. */
export class Fence {
  readonly #select: StatementSync;
  readonly #raise: StatementSync;

  constructor(db: DatabaseSync) {
    this.#select = db.prepare('select epoch_floor from fence');
    this.#raise = db.prepare('update fence set epoch_floor = max(epoch_floor, ?)');
  }

  floor(): number {
    return (this.#select.get() as { epoch_floor: number }).epoch_floor;
  }

  raise(epoch: number): void {
    this.#raise.run(epoch);
  }
}

/** All tables of one connection. */
export interface Tables {
  readonly streams: StreamTable;
  readonly events: EventTable;
  readonly blobs: BlobTable;
  readonly fence: Fence;
  /** `pragma data_version`. */
  version(): number;
}

/** Prepares the statements of a connection. */
export function openTables(db: DatabaseSync, sha256: Sha256): Tables {
  const version = db.prepare('pragma data_version');
  return {
    streams: new StreamTable(db, sha256),
    events: new EventTable(db, sha256),
    blobs: new BlobTable(db),
    fence: new Fence(db),
    version: () => (version.get() as { data_version: number }).data_version,
  };
}
