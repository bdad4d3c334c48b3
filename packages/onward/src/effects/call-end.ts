import type { Failure } from '../kernel/failure.ts';
import type { Signal } from '../kernel/signal.ts';
import { rejectionOf } from './effect-rejected.ts';
import { failureOf } from './failure-of.ts';

/** How a call came back. */
export type CallResult =
  | { readonly kind: 'receipt'; readonly value: unknown }
  | { readonly kind: 'rejected'; readonly failure: Failure }
  | { readonly kind: 'failed'; readonly failure: Failure };

/** How a call ended, or that it goes on although it was told to stop. */
export type CallEnd = CallResult | { readonly kind: 'abandoned' };

/** A call under way: `end` comes with the signal at the latest, `result` when the call itself is over. Neither rejects. */
export interface Call {
  readonly end: Promise<CallEnd>;
  readonly result: Promise<CallResult>;
}

/** Makes a call. One that ignores the signal is not waited for. */
export function startCall(act: (signal: Signal) => Promise<unknown>, signal: Signal): Call {
  const result = settle(async () => act(signal));
  return { result, end: Promise.race([result, abandonment(signal, result)]) };
}

async function settle(act: () => Promise<unknown>): Promise<CallResult> {
  try {
    return { kind: 'receipt', value: await act() };
  } catch (error) {
    const failure = rejectionOf(error);
    return failure === undefined ? { kind: 'failed', failure: failureOf(error) } : { kind: 'rejected', failure };
  }
}

/** Resolves shortly after the signal: a call that obeys it has ended by then, and what it says is worth more. */
async function abandonment(signal: Signal, result: Promise<CallResult>): Promise<CallEnd> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const wake = (): void => resolve();
  signal.addEventListener('abort', wake, { once: true });
  if (signal.aborted) resolve();
  void result.then(wake);
  await promise;
  signal.removeEventListener('abort', wake);
  for (let turn = 0; turn < 2; turn++) await new Promise<void>((next) => setImmediate(next));
  return { kind: 'abandoned' };
}
