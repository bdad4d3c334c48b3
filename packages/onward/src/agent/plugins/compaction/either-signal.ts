import type { Signal } from '../../../kernel/signal.ts';

/** Runs something under a signal that aborts with the first of several, and leaves no listener behind. */
export async function eitherSignal<Result>(
  signals: readonly Signal[],
  run: (signal: Signal) => Promise<Result>,
): Promise<Result> {
  const controller = new AbortController();
  const offs = signals.map((signal) => {
    const abort = (): void => controller.abort(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    return () => signal.removeEventListener('abort', abort);
  });
  try {
    return await run(controller.signal);
  } finally {
    for (const off of offs) off();
  }
}
