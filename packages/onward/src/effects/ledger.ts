import { isOnwardError, OnwardError } from '../kernel/error.ts';
import type { Holder, Journal } from '../kernel/journal.ts';
import { findNonJson } from '../kernel/json.ts';
import type { Clock, Hash, Ids } from '../kernel/ports.ts';
import type { Signal } from '../kernel/signal.ts';
import type { EffectCalls, EffectLedger, EffectName, EffectOutcome } from './effect.ts';
import { payloadOf } from './effect-question.ts';
import { EffectRun, type EffectRequest, type LedgerParts } from './effect-run.ts';
import { effectKey, effectStream, runStream } from './key.ts';
import type { Ended } from './record-end.ts';

/** What a ledger is made of. One for each journal in a process: it knows which of its own calls still go on. */
export interface LedgerOptions {
  readonly journal: Journal;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly hash: Hash;
  /** This process, for the leases of callers that have none of their own. */
  readonly holder?: Holder;
  /** True for a holder whose process is known to be gone, so that nobody waits for its lease to run out. */
  readonly isDead?: (holder: Holder) => boolean;
  /** How long such a lease lasts without being renewed, ms; 15 s when absent. */
  readonly leaseMs?: number;
}

const LEASE_MS = 15_000;

/**
 * Makes a ledger on a journal. `run` throws what a broken journal throws: before the intent is stored the service hears
 * nothing. It throws `effects/end-not-stored` when a call came back and that could not be written for some seconds; the next
 * `run` of this ledger writes it.
 */
export function createLedger(options: LedgerOptions): EffectLedger {
  const { journal, clock, ids, hash, isDead = () => false, leaseMs = LEASE_MS } = options;
  if (!(leaseMs > 0)) throw new OnwardError('effects/bad-options', `A lease cannot last ${leaseMs} ms.`);
  const id = ids.uuid();
  const holder = options.holder ?? { id, host: 'unknown', pid: 0, startedAt: 'unknown' };
  const memory = { calling: new Set<string>(), unstored: new Map<string, Ended>() };
  const parts: LedgerParts = { journal, clock, ids, hash, holder, isDead, leaseMs, id, ...memory };
  const flights = new Map<string, Promise<unknown>>();
  return {
    keyOf: (name) => effectKey(hash, name),
    run: async (name, calls, caller, signal) => {
      const bad = badInput(hash, name, calls);
      if (bad !== undefined) return bad;
      const key = effectKey(hash, name);
      const owner = caller.owner === '' ? runStream(key) : caller.owner;
      const request = { key, stream: effectStream(hash, name), name, calls, caller, owner, signal };
      // Two at once in one process: the second waits, and then finds the receipt of the first.
      for (let other = flights.get(key); other !== undefined && !signal.aborted; other = flights.get(key))
        await untilEither(other, signal);
      if (signal.aborted) return abortedBefore(request);
      const flight = new EffectRun(parts, request).run();
      flights.set(key, flight);
      try {
        return await flight;
      } finally {
        flights.delete(key);
      }
    },
  };
}

function abortedBefore({ key, name }: EffectRequest): EffectOutcome {
  return { kind: 'refused', key, because: 'aborted', message: `${name.action} was aborted before it began.` };
}

function badInput(hash: Hash, name: EffectName, calls: EffectCalls): EffectOutcome | undefined {
  let key = '';
  try {
    key = effectKey(hash, name);
  } catch (error) {
    if (!isOnwardError(error, 'effects/bad-name')) throw error;
    return { kind: 'refused', key, because: 'bad-input', message: error.message };
  }
  const place = findNonJson(payloadOf(name, calls));
  const message =
    place === undefined
      ? (badTime('settleMs', calls.settleMs) ?? badTime('keyLifetimeMs', calls.keyLifetimeMs))
      : `The payload is no plain JSON at ${place}.`;
  return message === undefined ? undefined : { kind: 'refused', key, because: 'bad-input', message };
}

function badTime(field: string, ms: number | undefined): string | undefined {
  return ms === undefined || ms >= 0 ? undefined : `${field} must be a time in ms from 0, and is ${ms}.`;
}

async function untilEither(flight: Promise<unknown>, signal: Signal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const wake = (): void => resolve();
  signal.addEventListener('abort', wake, { once: true });
  flight.then(wake, wake);
  await promise;
  signal.removeEventListener('abort', wake);
}
