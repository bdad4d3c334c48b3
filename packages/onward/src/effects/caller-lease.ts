import type { Append, Holder, Journal, Lease } from '../kernel/journal.ts';
import type { Clock } from '../kernel/ports.ts';

/** What a lease of a call needs. */
export interface LeaseOptions {
  readonly journal: Journal;
  readonly clock: Clock;
  readonly holder: Holder;
  readonly isDead: (holder: Holder) => boolean;
  /** How long it lasts without being renewed, ms. */
  readonly leaseMs: number;
}

/**
 * The fence of a caller that has none of its own: a lease on a stream that belongs to the key, taken at the first write and
 * renewed until the run ends. So another process can tell a live call from one whose process died.
 */
export class CallerLease {
  readonly #options: LeaseOptions;
  readonly #stream: string;
  readonly #end = new AbortController();
  #lease: Lease | undefined;

  constructor(options: LeaseOptions, stream: string) {
    this.#options = options;
    this.#stream = stream;
  }

  /** The append that holds writes to this lease, or `held` when another program's lease is alive. */
  async fence(): Promise<Append | 'held'> {
    if (this.#lease === undefined) {
      const { journal, holder, leaseMs, isDead } = this.#options;
      const claimed = await journal.claim(this.#stream, holder, leaseMs, isDead);
      if (!claimed.ok) return 'held';
      this.#lease = claimed.lease;
      void this.#keep(claimed.lease);
    }
    return { stream: this.#stream, expected: 'any', epoch: this.#lease.epoch, events: [] };
  }

  /** Stops renewing. `release: false` leaves the rest of the lease to a call that goes on although it was told to stop. */
  async end(options: { readonly release: boolean }): Promise<void> {
    this.#end.abort();
    if (!options.release || this.#lease === undefined) return;
    // It ends by itself soon; what came of the run is more important than that.
    await this.#options.journal.release(this.#lease).catch(() => undefined);
  }

  async #keep(lease: Lease): Promise<void> {
    const { clock, journal, leaseMs } = this.#options;
    const { signal } = this.#end;
    for (;;) {
      await clock.sleep(leaseMs / 3, signal);
      if (signal.aborted) return;
      // A store that fails now may work in time for the next renewal; a lost lease shows at the next write.
      const renewed = await journal.renew(lease, leaseMs).catch(() => true);
      if (!renewed) return;
    }
  }
}
