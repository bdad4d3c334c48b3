import type { Agent } from '../../agent/index.ts';
import { exitCodeOfSignal, type StopSignal } from '../exit-codes.ts';
import type { Io } from '../io.ts';

/** What ended this process's work on a session from outside. */
export interface StopSignals {
  signal(): StopSignal | undefined;
  forget(): void;
}

/**
 * Ctrl-C cancels the turn, the second time it ends the process at once, as the log can bear at any moment. SIGTERM and a
 * closed terminal end the turn cleanly; a question that waits stays open for whoever comes next.
 */
export function listenForStop(io: Io, agent: Agent, leave: (code: number) => void): StopSignals {
  let first: StopSignal | undefined;
  const stop = (signal: StopSignal): void => {
    const isSecond = first !== undefined;
    first ??= signal;
    if (isSecond) process.exit(exitCodeOfSignal(first));
    if (signal === 'SIGINT') {
      io.err('onward: cancelling; once more ends it at once');
      return agent.cancel('user');
    }
    io.err(`onward: ${signal}, ending`);
    if (agent.status === 'waiting') return leave(exitCodeOfSignal(signal));
    void agent[Symbol.asyncDispose]();
  };
  const handlers = (['SIGINT', 'SIGTERM', 'SIGHUP'] as const).map((signal) => [signal, () => stop(signal)] as const);
  for (const [signal, handler] of handlers) process.on(signal, handler);
  return {
    signal: () => first,
    forget: () => {
      for (const [signal, handler] of handlers) process.off(signal, handler);
    },
  };
}

/** Ends this process when all is written, and leaves the session as it is: a turn that waits for an answer goes on waiting. */
export async function leaveAsItIs(code: number): Promise<never> {
  for (const stream of [process.stdout, process.stderr]) {
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    await new Promise<void>((resolve) => (stream.destroyed ? resolve() : stream.write('', () => resolve())));
  }
  process.exit(code);
}
