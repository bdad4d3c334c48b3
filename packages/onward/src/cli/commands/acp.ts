import { Console } from 'node:console';
import { Readable } from 'node:stream';
import { serveAcp } from '../../acp/index.ts';
import { createRedactor } from '../../kernel/redact.ts';
import { chatRecordIn, createChatAgent, readApprove, resolveModel } from '../../library/chat/index.ts';
import { systemClock } from '../../processes/index.ts';
import { exitCodes } from '../exit-codes.ts';
import type { Io } from '../io.ts';
import { withJournal } from '../open-journal.ts';

/** Flags of `onward acp serve`. */
export interface AcpFlags {
  readonly model?: string;
  readonly baseUrl?: string;
  readonly approve?: string;
  readonly journal?: string;
}

/**
 * `onward acp serve`: the agent of `onward chat` for an editor, over ACP on standard input and output, until the input
 * ends. What must be wrong from the start, such as a missing key, is said before the first line.
 */
export async function acpServe(io: Io, flags: AcpFlags, version: string): Promise<number> {
  const { model: named, baseUrl } = flags;
  const approve = flags.approve === undefined ? undefined : readApprove(flags.approve);
  const model = await resolveModel({
    ...(named === undefined ? {} : { model: named }),
    ...(baseUrl === undefined ? {} : { baseUrl }),
    env: io.env,
    cwd: io.cwd,
  });
  // Standard output belongs to the protocol: what a package prints there would break it.
  globalThis.console = new Console(process.stderr, process.stderr);
  if (process.stdin.isTTY) io.err('onward acp: this speaks a protocol; let an editor start it. Ctrl-D ends it.');
  const stopping = stopSignals();
  try {
    await withJournal(io, flags.journal, async (journal) => {
      const parts = {
        model,
        journal,
        env: io.env,
        ...(approve === undefined ? {} : { approve }),
        ...(baseUrl === undefined ? {} : { baseUrl }),
      };
      await serveAcp({
        input: Readable.toWeb(process.stdin) as ReadableStream<Uint8Array>,
        output: standardOutput(),
        sessions: {
          create: async (cwd) => await createChatAgent({ ...parts, cwd }),
          open: async (id, cwd) => await createChatAgent({ ...parts, cwd, id, open: true }),
          cwdIn: (event) => chatRecordIn(event)?.cwd,
        },
        journal,
        clock: systemClock,
        redactor: createRedactor(io.env),
        log: (line) => io.err(`onward acp: ${line}`),
        version,
        signal: AbortSignal.any([stopping.signal, io.gone]),
      });
    });
  } finally {
    stopping.end();
  }
  return exitCodes.done.code;
}

/** Of our own: Node's adapter waits for ever for a write to a pipe whose reader is gone. */
function standardOutput(): WritableStream<Uint8Array> {
  return new WritableStream({
    write: async (chunk) =>
      await new Promise<void>((resolve, reject) => {
        process.stdout.write(chunk, (error) => (error === null || error === undefined ? resolve() : reject(error)));
      }),
  });
}

/** Aborts on the signals by which an editor or a shell ends us. */
function stopSignals(): { readonly signal: AbortSignal; readonly end: () => void } {
  const controller = new AbortController();
  const stop = (): void => controller.abort();
  const names = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const name of names) process.once(name, stop);
  return {
    signal: controller.signal,
    end: () => {
      for (const name of names) process.off(name, stop);
    },
  };
}
