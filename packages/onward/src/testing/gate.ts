import type { Signal } from '../kernel/signal.ts';

/** Holds whoever comes until the test opens it, so that a test decides the order of things without any sleep. */
export interface Gate {
  /** Resolves when somebody waits here for the first time (at once if somebody has). */
  readonly entered: Promise<void>;
  /** How many wait now. */
  readonly waiting: number;
  readonly isOpen: boolean;
  /** Lets all through, now and later. */
  open(): void;
  /** Waits until it is open, or until the signal aborts; the caller looks at the signal. */
  wait(signal?: Signal): Promise<void>;
}

/** A closed gate. */
export function createGate(): Gate {
  const opened = Promise.withResolvers<void>();
  const entered = Promise.withResolvers<void>();
  let isOpen = false;
  let waiting = 0;
  return {
    entered: entered.promise,
    get waiting() {
      return waiting;
    },
    get isOpen() {
      return isOpen;
    },
    open: () => {
      isOpen = true;
      opened.resolve();
    },
    wait: async (signal) => {
      entered.resolve();
      waiting += 1;
      await untilAborted(opened.promise, signal);
      waiting -= 1;
    },
  };
}

/** Resolves with the promise, or when the signal aborts; leaves no listener behind. */
export async function untilAborted(wanted: Promise<void>, signal: Signal | undefined): Promise<void> {
  if (signal === undefined) return await wanted;
  if (signal.aborted) return;
  const aborted = Promise.withResolvers<void>();
  signal.addEventListener('abort', aborted.resolve, { once: true });
  await Promise.race([wanted, aborted.promise]);
  signal.removeEventListener('abort', aborted.resolve);
}
