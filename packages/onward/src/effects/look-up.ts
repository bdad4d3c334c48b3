import type { Failure } from '../kernel/failure.ts';
import type { Clock } from '../kernel/ports.ts';
import type { Signal } from '../kernel/signal.ts';
import type { EffectCalls } from './effect.ts';
import { failureOf } from './failure-of.ts';

/** What a service said. A lookup that fails, says something else, or takes too long leaves it unknown. */
export type Found =
  | { readonly kind: 'accepted'; readonly receipt: unknown }
  | { readonly kind: 'absent' }
  | { readonly kind: 'unknown'; readonly failure?: Failure };

/** A service that does not answer a question within this time is one that cannot be asked. */
export const lookupLimitMs = 30_000;

/**
 * Asks the service. Ends with the signal, unless that has aborted already: what became of an aborted call is worth one
 * question too.
 */
export async function lookUp(
  lookup: NonNullable<EffectCalls['lookup']>,
  key: string,
  clock: Clock,
  signal: Signal,
): Promise<Found> {
  const stop = new AbortController();
  const end = (): void => stop.abort(signal.reason);
  if (!signal.aborted) signal.addEventListener('abort', end, { once: true });
  const asked = ask(lookup, key, stop.signal);
  const limit = clock.sleep(lookupLimitMs, stop.signal).then((): Found => tooLate(stop.signal.aborted));
  try {
    return await Promise.race([asked, limit]);
  } finally {
    signal.removeEventListener('abort', end);
    stop.abort();
  }
}

async function ask(lookup: NonNullable<EffectCalls['lookup']>, key: string, signal: Signal): Promise<Found> {
  try {
    const said: unknown = await lookup(key, signal);
    const kind = typeof said === 'object' && said !== null ? Reflect.get(said, 'kind') : undefined;
    if (kind === 'accepted') return { kind, receipt: Reflect.get(said as object, 'receipt') };
    if (kind === 'absent' || kind === 'unknown') return { kind };
    return { kind: 'unknown', failure: { message: 'The lookup returned neither accepted, absent nor unknown.' } };
  } catch (error) {
    return { kind: 'unknown', failure: failureOf(error) };
  }
}

function tooLate(aborted: boolean): Found {
  const message = aborted ? 'The lookup was aborted.' : `The lookup did not end within ${lookupLimitMs} ms.`;
  return { kind: 'unknown', failure: { message } };
}
