import type { Journal } from '../kernel/journal.ts';
import type { Signal } from '../kernel/signal.ts';
import type { EffectCalls, EffectLedger, EffectName, EffectOutcome } from './effect.ts';
import { createLedger, type LedgerOptions } from './ledger.ts';

/** The name of an effect that happens once; without a scope, once in the whole journal. */
export type OnceName = Omit<EffectName, 'scope'> & { readonly scope?: string };

/** How one call of `once` is bounded. */
export interface OnceOptions {
  /** Aborts it: before the call nothing is done, during the call the outcome is unknown and asked for. */
  readonly signal?: Signal;
  /** Time for the whole of it, ms; 0 = none. Default 30 min. */
  readonly timeoutMs?: number;
  /** The stream of the work that waits for an answer, and is woken by it. Absent: nobody is, run it again after the answer. */
  readonly owner?: string;
}

/**
 * Does something once, or leaves it known to be unknown: the intent is in the journal before the call and the receipt after
 * it; run again, also in another process after a crash, it returns the receipt instead of calling.
 */
export type Once = (
  journal: Journal,
  name: OnceName,
  calls: EffectCalls,
  options?: OnceOptions,
) => Promise<EffectOutcome>;

/** The scope of an effect that happens once in a whole journal. */
const journalScope = 'journal';

const TIMEOUT_MS = 30 * 60_000;

/** Makes a `once` from the ports of a platform. */
export function createOnce(ports: Omit<LedgerOptions, 'journal'>): Once {
  const ledgers = new WeakMap<Journal, EffectLedger>();
  return async (journal, { scope = journalScope, ...rest }, calls, options = {}) => {
    const ledger = ledgers.get(journal) ?? createLedger({ ...ports, journal });
    ledgers.set(journal, ledger);
    const name: EffectName = { scope, ...rest };
    const limit = new AbortController();
    const stop = (): void => limit.abort(options.signal?.reason);
    options.signal?.addEventListener('abort', stop, { once: true });
    if (options.signal?.aborted === true) stop();
    void endInTime(ports, options.timeoutMs ?? TIMEOUT_MS, limit);
    try {
      return await ledger.run(name, calls, { owner: options.owner ?? '' }, limit.signal);
    } finally {
      options.signal?.removeEventListener('abort', stop);
      limit.abort();
    }
  };
}

/** Aborts after the time, unless it has been aborted by then; then it sleeps no longer either. */
async function endInTime({ clock }: Pick<LedgerOptions, 'clock'>, ms: number, limit: AbortController): Promise<void> {
  if (!(ms > 0)) return;
  await clock.sleep(ms, limit.signal);
  limit.abort(new Error(`It did not end within ${ms} ms.`));
}
