import { type AnyMessage, RequestError, type Stream } from '@agentclientprotocol/sdk';
import type { Clock } from '../kernel/ports.ts';
import type { Signal } from '../kernel/signal.ts';

/** Where lines come from and go to. */
export interface LineStreamOptions {
  readonly input: ReadableStream<Uint8Array>;
  readonly output: WritableStream<Uint8Array>;
  /** Longest line that is read, bytes. A longer one is passed over and answered with an error. */
  readonly maxLineBytes: number;
  /** Called when the input has ended; what is still to be answered is answered before the stream ends. */
  readonly onEnd: () => Promise<void>;
  readonly clock: Clock;
  /** Ends the input early. */
  readonly signal?: Signal | undefined;
}

/** How long the end of the input is held back for answers that are still to come, ms. */
const patienceMs = 2_000;

/**
 * JSON-RPC over lines. Of our own, since the SDK's ends the connection at a line that is too long and reads broken UTF-8 as
 * something else; here each bad line gets an error of its own and the next one is read.
 */
export function lineStream(options: LineStreamOptions): Stream {
  const { input, output, maxLineBytes, onEnd, clock, signal } = options;
  const writer = output.getWriter();
  const open = new Answers();
  const write = async (message: AnyMessage): Promise<void> => {
    open.sent(message);
    await writer.write(encoder.encode(`${JSON.stringify(message)}\n`));
  };
  const refuse = (fault: RequestError): void => {
    // A client that is gone hears nothing; that is noticed where the answers are written.
    const heard = write({ jsonrpc: '2.0', id: null, error: fault.toErrorResponse() });
    heard.catch(() => undefined);
  };
  const reader = input.getReader();
  const stop = (): void => void reader.cancel().catch(() => undefined);
  signal?.addEventListener('abort', stop, { once: true });
  if (signal?.aborted === true) stop();
  const readable = new ReadableStream<AnyMessage>({
    async start(controller) {
      const lines = new Lines(maxLineBytes);
      const take = (line: Line): void => {
        const read = readLine(line);
        if (read === undefined) return;
        if (read instanceof RequestError) return refuse(read);
        open.received(read);
        controller.enqueue(read);
      };
      try {
        for (;;) {
          // oxlint-disable-next-line no-await-in-loop -- a stream
          const { done, value } = await reader.read();
          if (done) break;
          for (const line of lines.push(value)) take(line);
        }
        for (const line of lines.end()) take(line);
        signal?.removeEventListener('abort', stop);
        await onEnd();
        const over = new AbortController();
        await Promise.race([open.none(), clock.sleep(patienceMs, over.signal)]);
        over.abort();
        controller.close();
      } catch (error) {
        controller.error(error);
      }
    },
    cancel: async (reason) => await reader.cancel(reason),
  });
  return { readable, writable: new WritableStream<AnyMessage>({ write }) };
}

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { fatal: true });

type Line = Uint8Array | 'too-long';

function readLine(line: Line): AnyMessage | RequestError | undefined {
  if (line === 'too-long') return RequestError.invalidRequest(undefined, 'the line is too long');
  let text: string;
  try {
    text = decoder.decode(line).trim();
  } catch {
    return RequestError.parseError(undefined, 'not UTF-8');
  }
  if (text === '') return undefined;
  try {
    const value = JSON.parse(text) as unknown;
    if (Array.isArray(value)) return RequestError.invalidRequest(undefined, 'batches are not part of ACP');
    if (typeof value !== 'object' || value === null) return RequestError.invalidRequest(undefined, 'not an object');
    return value as AnyMessage;
  } catch {
    return RequestError.parseError();
  }
}

/** Cuts bytes into lines. What is too long is dropped as it comes, so that it costs no memory. */
class Lines {
  readonly #most: number;
  #parts: Uint8Array[] = [];
  #bytes = 0;

  constructor(most: number) {
    this.#most = most;
  }

  *push(chunk: Uint8Array): Generator<Line> {
    let from = 0;
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, from)) {
      this.#add(chunk.subarray(from, at));
      yield this.#take();
      from = at + 1;
    }
    this.#add(chunk.subarray(from));
  }

  *end(): Generator<Line> {
    if (this.#bytes > 0) yield this.#take();
  }

  #add(part: Uint8Array): void {
    this.#bytes += part.length;
    if (this.#bytes > this.#most) this.#parts = [];
    else this.#parts.push(part);
  }

  #take(): Line {
    const line = this.#bytes > this.#most ? 'too-long' : Buffer.concat(this.#parts);
    this.#parts = [];
    this.#bytes = 0;
    return line;
  }
}

/** Which requests of the other side have no answer yet. */
class Answers {
  readonly #open = new Set<unknown>();
  #wake: (() => void) | undefined;

  received(message: AnyMessage): void {
    if ('method' in message && 'id' in message) this.#open.add(message.id);
  }

  sent(message: AnyMessage): void {
    if ('method' in message || !('id' in message)) return;
    this.#open.delete(message.id);
    if (this.#open.size === 0) this.#wake?.();
  }

  async none(): Promise<void> {
    if (this.#open.size > 0) await new Promise<void>((resolve) => (this.#wake = resolve));
  }
}
