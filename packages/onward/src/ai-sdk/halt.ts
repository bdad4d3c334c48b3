import type { Failed } from './recovery.ts';

/** Why a request is given up before its end. */
export type Stop = ({ readonly kind: 'failed' } & Failed) | { readonly kind: 'cancelled'; readonly reason: unknown };

/** What can end one request early: the caller's signal, and a stall. The first reason stays. */
export interface Halt {
  /** For the model. */
  readonly signal: AbortSignal;
  /** Resolves when it is stopped; never, if it ends otherwise. */
  readonly stopped: Promise<Stop>;
  /** The reason so far. */
  reason(): Stop | undefined;
  stop(because: Stop): void;
  /** The request is over. Aborts what may still run of it, and listens to the caller no more. */
  end(reason?: unknown): void;
}

/** Begins to listen to the caller. */
export function createHalt(caller: AbortSignal | undefined): Halt {
  const request = new AbortController();
  const { promise: stopped, resolve } = Promise.withResolvers<Stop>();
  let reason: Stop | undefined;
  let over = false;
  const stop = (because: Stop): void => {
    if (over || reason !== undefined) return;
    reason = because;
    resolve(because);
    request.abort(because.kind === 'cancelled' ? because.reason : new Error(because.failure.message));
  };
  const cancel = (): void => stop({ kind: 'cancelled', reason: caller?.reason });
  if (caller?.aborted === true) cancel();
  else caller?.addEventListener('abort', cancel, { once: true });
  return {
    signal: request.signal,
    stopped,
    reason: () => reason,
    stop,
    end(why) {
      over = true;
      caller?.removeEventListener('abort', cancel);
      request.abort(why);
    },
  };
}
