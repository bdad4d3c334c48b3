import type { ProcessFact } from '../kernel/failure.ts';

/** Why a live attempt is ended early. */
export type StopCause =
  | { readonly kind: 'watchdog'; readonly fact: ProcessFact; readonly afterMs: number }
  /** Its result is out, but the process stays: ended without being a failure. */
  | { readonly kind: 'after-result' }
  | { readonly kind: 'cancelled'; readonly because: string; readonly inbox: number }
  | { readonly kind: 'interrupted'; readonly because: string }
  | { readonly kind: 'held'; readonly pid: number | undefined }
  /** The journal or the lease is gone: nothing more may be done or recorded. */
  | { readonly kind: 'broken'; readonly error: unknown };

/** Collects reasons to stop; the first one counts, since what follows is its consequence. */
export interface Stopper {
  request(cause: StopCause): void;
  cause(): StopCause | undefined;
  readonly stopped: Promise<StopCause>;
  /** No more patience: whatever is being waited for is not waited for. */
  hurry(): void;
  readonly hurried: Promise<void>;
}

/** A stopper without a reason yet. */
export function createStopper(): Stopper {
  let first: StopCause | undefined;
  const { promise, resolve } = Promise.withResolvers<StopCause>();
  const haste = Promise.withResolvers<void>();
  return {
    request: (cause) => {
      first ??= cause;
      resolve(first);
    },
    cause: () => first,
    stopped: promise,
    hurry: () => haste.resolve(),
    hurried: haste.promise,
  };
}
