import type { Writable } from 'node:stream';
import type { Signal } from '../kernel/signal.ts';

/** `ended`: there is no pipe, or we ended it; `gone`: the reader is dead or closed it; `cancelled`: it may be half written. */
export type WriteResult =
  | { readonly written: true }
  | { readonly written: false; readonly why: 'ended' | 'gone' | 'cancelled' };

/** The writing end of an agent's input. */
export interface AgentInput {
  readonly write: (line: string, signal?: Signal) => Promise<WriteResult>;
  readonly end: () => void;
}

/**
 * Wraps a child's stdin so that nothing about it throws: a dead reader (EPIPE) is a value. Node destroys the stream at the
 * child's exit, so that a write does not wait for a grandchild that holds the other end.
 */
export function createAgentInput(stdin: Writable | null): AgentInput {
  if (stdin === null) return { write: async () => ({ written: false, why: 'ended' }), end: () => undefined };
  // Each write hears of the error by its own callback; without a listener the stream would throw it as well.
  stdin.on('error', () => undefined);
  return {
    write: (line, signal) => writeLine(stdin, line, signal),
    end: () => {
      if (!stdin.writableEnded && !stdin.destroyed) stdin.end();
    },
  };
}

function writeLine(stdin: Writable, line: string, signal: Signal | undefined): Promise<WriteResult> {
  if (stdin.writableEnded) return Promise.resolve({ written: false, why: 'ended' });
  if (stdin.destroyed) return Promise.resolve({ written: false, why: 'gone' });
  if (signal?.aborted === true) return Promise.resolve({ written: false, why: 'cancelled' });
  return new Promise((resolve) => {
    const finish = (result: WriteResult): void => {
      signal?.removeEventListener('abort', cancel);
      resolve(result);
    };
    const cancel = (): void => finish({ written: false, why: 'cancelled' });
    signal?.addEventListener('abort', cancel, { once: true });
    stdin.write(`${line}\n`, (error) => {
      const failed = error !== undefined && error !== null;
      finish(failed ? { written: false, why: 'gone' } : { written: true });
    });
  });
}
