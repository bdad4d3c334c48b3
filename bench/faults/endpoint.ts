import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { answerChunks, type Chunk, endChunks, envelope, textChunks } from './chunks.ts';
import { type Act, type Fault, stallMs } from './faults.ts';
import { historyFault, textOf, type WireMessage } from './history.ts';
import { nextStep, saysUnknown } from './next-step.ts';
import { recordedText, type Script } from './script.ts';

/** What became of one request. */
export interface RequestRecord {
  /** ms since the endpoint began. */
  readonly at: number;
  readonly bytes: number;
  readonly kind: 'step' | 'summary' | 'refused';
  readonly fault: boolean;
  /** Why its history was refused, where it was. */
  readonly because?: string;
  /** It holds a piece of a text that was never finished. */
  readonly junk: boolean;
  /** It holds a result that says that nobody knows what a call did. */
  readonly unknown: boolean;
}

/** Where a process can be killed from outside. */
export type KillPoint = 'after-tool' | 'mid-final' | 'mid-call';

/** What an endpoint does. */
export interface EndpointOptions {
  readonly script: Script;
  readonly fault: Fault;
  readonly cautious?: boolean;
  /** Called once, at that point of the conversation. */
  readonly kill?: { readonly point: KillPoint; readonly now: () => void };
}

/** A running endpoint: one case, one conversation. */
export interface Endpoint {
  readonly url: string;
  readonly requests: readonly RequestRecord[];
  close(): Promise<void>;
}

/** Starts a chat completions endpoint with one fault on a free port of the loopback. */
export async function startEndpoint(options: EndpointOptions): Promise<Endpoint> {
  const conversation = new Conversation(options);
  const server = createServer((request, response) => void conversation.serve(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    requests: conversation.requests,
    close: () => {
      conversation.closed.abort();
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

interface Body {
  readonly messages?: readonly WireMessage[];
  readonly tools?: readonly object[];
}

class Conversation {
  readonly requests: RequestRecord[] = [];
  readonly closed: AbortController = new AbortController();
  readonly #options: EndpointOptions;
  readonly #start = performance.now();
  #killed = false;

  constructor(options: EndpointOptions) {
    this.#options = options;
  }

  async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on('error', () => undefined);
    const text = await bodyOf(request);
    const { messages = [], tools = [] } = JSON.parse(text) as Body;
    const because = historyFault(messages);
    const kind = because === undefined ? (tools.length === 0 ? 'summary' : 'step') : 'refused';
    const number = this.requests.filter((one) => one.kind === 'step').length + 1;
    const act = kind === 'step' ? this.#act(number, text.length) : undefined;
    this.requests.push({
      at: performance.now() - this.#start,
      bytes: text.length,
      kind,
      fault: act !== undefined,
      ...(because === undefined ? {} : { because }),
      junk: messages.some((message) => message.role === 'assistant' && this.#isJunk(textOf(message.content))),
      unknown: messages.some((message) => message.role === 'tool' && saysUnknown(textOf(message.content))),
    });
    if (because !== undefined) return refuse(response, 400, { message: because, type: 'invalid_request_error' });
    if (kind === 'summary') return this.#send(response, textChunks(this.#summary(text)));
    if (this.#kill('after-tool', number === 3)) return;
    await this.#answer(response, nextStep(messages, this.#options.script, this.#options.cautious === true), act);
  }

  #act(number: number, bytes: number): Act | undefined {
    const { fault } = this.#options;
    if (fault.bytes !== undefined) return bytes > fault.bytes ? fault.act : undefined;
    return number >= fault.at && number < fault.at + fault.times ? fault.act : undefined;
  }

  async #answer(response: ServerResponse, step: number, act: Act | undefined): Promise<void> {
    const { script } = this.#options;
    switch (act?.kind) {
      case undefined:
        return this.#send(response, answerChunks(script, { step }));
      case 'status':
        return refuse(response, act.status, act.error, act.retryAfter);
      case 'reset':
        return void response.socket?.resetAndDestroy();
      case 'hang-headers':
        return;
      case 'empty': {
        const whole = answerChunks(script, { step });
        return this.#send(response, [...whole.filter((one) => one.phase === 'role'), ...endChunks(envelope(), 'stop')]);
      }
      case 'bad-args':
        return this.#send(
          response,
          answerChunks(script, { step, args: `{"id": "${script.items[step] ?? ''}", "n" 1}` }),
        );
      case 'part':
        return this.#part(response, answerChunks(script, { step }), act);
      default:
        throw new Error('no such act');
    }
  }

  async #part(response: ServerResponse, chunks: readonly Chunk[], act: Act & { kind: 'part' }): Promise<void> {
    const places = chunks.flatMap((chunk, place) => (chunk.phase === act.phase ? [place] : []));
    const at = (places[act.whole === true ? places.length - 1 : Math.floor(places.length / 2)] ?? 0) + 1;
    const head = chunks.slice(0, at);
    switch (act.ending) {
      case 'cut':
        await this.#write(response, head);
        // What was sent must have arrived: a reset may throw away what was not read yet.
        await sleep(60);
        return void response.socket?.resetAndDestroy();
      case 'eof':
        return this.#send(response, head);
      case 'hang':
        return this.#write(response, head);
      case 'stall':
        await this.#write(response, head);
        await sleep(stallMs, undefined, { signal: this.closed.signal }).catch(() => undefined);
        return this.#send(response, chunks.slice(at));
      case 'error': {
        const error = {
          message: 'The server had an error while answering',
          type: 'server_error',
          code: 'server_error',
        };
        return this.#send(response, [...head, { phase: 'done', data: JSON.stringify({ error }) }]);
      }
      case 'junk-chunk':
        return this.#send(response, [
          ...head,
          { phase: 'text', data: '{"id":"chatcmpl-x","choices":[{"delta":{"con' },
          ...chunks.slice(at),
        ]);
      case 'length':
        return this.#send(response, [...head, ...endChunks(envelope(), 'length')]);
      default:
        throw new Error('no such ending');
    }
  }

  async #send(response: ServerResponse, chunks: readonly Chunk[]): Promise<void> {
    await this.#write(response, chunks);
    if (!response.destroyed) response.end();
  }

  async #write(response: ServerResponse, chunks: readonly Chunk[]): Promise<void> {
    if (!response.headersSent)
      response.writeHead(200, { 'content-type': 'text/event-stream', 'x-request-id': 'req_lab' });
    const isFinal = !chunks.some((chunk) => chunk.phase === 'args');
    const point = isFinal ? 'mid-final' : 'mid-call';
    const middle = chunks.findIndex((chunk) => chunk.phase === (isFinal ? 'text' : 'args')) + 2;
    for (const [place, chunk] of chunks.entries()) {
      if (place === middle && this.#killsAt(point)) {
        // oxlint-disable-next-line no-await-in-loop -- what was sent must have arrived
        await sleep(60);
        if (this.#kill(point, true)) return;
      }
      if (response.destroyed) return;
      response.write(`data: ${chunk.data}\n\n`);
      // oxlint-disable-next-line no-await-in-loop -- one chunk after the other is the point
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  #killsAt(point: KillPoint): boolean {
    const steps = this.requests.filter((one) => one.kind === 'step').length;
    return !this.#killed && this.#options.kill?.point === point && steps === (point === 'mid-final' ? 3 : 2);
  }

  #kill(point: KillPoint, when: boolean): boolean {
    if (!when || this.#killed || this.#options.kill?.point !== point) return false;
    this.#killed = true;
    this.#options.kill.now();
    return true;
  }

  #isJunk(text: string): boolean {
    return this.#options.script.texts.some((whole) => text.includes(whole.slice(0, 8)) && !text.includes(whole.trim()));
  }

  #summary(text: string): string {
    const done = this.#options.script.items.filter((item) => text.includes(recordedText(item)));
    return `Summary: ${done.map((item) => recordedText(item)).join(', ')}. The task goes on.`;
  }
}

function refuse(response: ServerResponse, status: number, error: object, retryAfter?: number): void {
  const header = retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) };
  response.writeHead(status, { 'content-type': 'application/json', 'x-request-id': 'req_lab', ...header });
  response.end(JSON.stringify({ error }));
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts).toString('utf8');
}
