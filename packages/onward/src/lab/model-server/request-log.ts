import type { Fault } from './fault.ts';
import type { JsonObject } from './json.ts';
import type { RequestKind } from './play-turn.ts';
import type { Api } from './wire-format.ts';

/**
 * How far a request has come: being answered; halted at its fault (silent, with the connection open); cut by a reset of ours;
 * answered to the end of the body, however short; or given up by the client.
 */
export type RequestState = 'open' | 'at-fault' | 'cut' | 'ended' | 'client-gone';

/** One main request: one that offers a shell tool, or any if the script is a list of answers. Credentials are never kept, only where one was. */
export interface RequestRecord {
  /** Number among all main requests since the server started, from 1. */
  readonly index: number;
  /** Number among those of its agent since the script was set, from 1. */
  readonly ofAgent: number;
  readonly agent: 'main' | 'subagent';
  /** When it had arrived in full, by the server's clock. */
  readonly at: number;
  readonly api: Api;
  readonly path: string;
  readonly model: string;
  readonly streaming: boolean;
  /** Which header carried a credential. */
  readonly auth: 'x-api-key' | 'authorization' | 'none';
  /** What the model was shown, one short line per item. */
  readonly history: readonly string[];
  /** What the model does: `call Bash {…}` or its text; `null` if the history was refused. */
  readonly answer: string | null;
  readonly fault: Fault | null;
  /** The real API's words for refusing this history; `null` = it is sound. */
  readonly refused: string | null;
  /** The HTTP status sent; `null` as long as no header was. */
  readonly status: number | null;
  readonly state: RequestState;
  /** The whole request body. */
  readonly body: JsonObject;
}

/** Any other request: a probe, a token count, a title, a compaction, an unknown path. Never counted, never faulted. */
export interface OtherRequest {
  readonly at: number;
  readonly method: string;
  readonly path: string;
  readonly kind: Exclude<RequestKind, 'main'> | 'probe' | 'count-tokens' | 'websocket' | 'models' | 'unknown';
}

/** The server's memory of what it was asked, and who waits for it to change. */
export class RequestLog {
  readonly main: RequestRecord[] = [];
  readonly others: OtherRequest[] = [];
  readonly #waiting = new Set<() => void>();

  /** Adds a main request; the returned function changes that very record as more becomes known. */
  add(record: RequestRecord): (change: Partial<Pick<RequestRecord, 'status' | 'state'>>) => void {
    this.main.push(record);
    this.changed();
    return (change) => {
      Object.assign(record, change);
      this.changed();
    };
  }

  addOther(other: OtherRequest): void {
    this.others.push(other);
    this.changed();
  }

  /** Resolves as soon as `holds` is true; rejects with the signal's reason if that comes first. */
  async until(holds: () => boolean, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    if (holds()) return;
    await new Promise<void>((resolve, reject) => {
      const check = (): void => {
        if (!holds()) return;
        stop();
        resolve();
      };
      const abort = (): void => {
        stop();
        reject(signal?.reason as Error);
      };
      const stop = (): void => {
        this.#waiting.delete(check);
        signal?.removeEventListener('abort', abort);
      };
      this.#waiting.add(check);
      signal?.addEventListener('abort', abort);
    });
  }

  private changed(): void {
    for (const check of this.#waiting) check();
  }
}
