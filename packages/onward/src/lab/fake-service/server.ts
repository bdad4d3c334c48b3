import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type LabClock, systemClock, wait } from '../model-server/clock.ts';
import { LabError } from '../model-server/lab-error.ts';
import { readBody } from '../model-server/read-body.ts';
import { checkBehaviour, type ServiceBehaviour, type Treatment } from './behaviour.ts';
import { type Acceptance, EffectBook, type ServiceRequest } from './effect-book.ts';

/** How to start a fake service. */
export interface FakeServiceOptions {
  readonly behaviour?: ServiceBehaviour;
  /** A free port unless given. */
  readonly port?: number;
  readonly clock?: LabClock;
}

/** A service on loopback that does effects and counts them. Dispose of it to end every connection and free the port. */
export interface FakeService extends AsyncDisposable {
  /** `http://127.0.0.1:PORT` */
  readonly url: string;
  /** All that it has really done, in order: a live list, and the only judge of duplicates. */
  readonly acceptances: readonly Acceptance[];
  /** All that it was asked for, in order; a live list. */
  readonly requests: readonly ServiceRequest[];
  /** Behaves otherwise from the next request on. Throws `LabError` for a behaviour that makes no sense. */
  behave(behaviour: ServiceBehaviour): void;
}

/**
 * Starts a service that does effects, on 127.0.0.1:
 *
 * - `POST /effects`, with an `Idempotency-Key` and any body: 201 `{ receipt }`; 422 for a known key with another body;
 * - `GET /effects/KEY`: 200 `{ receipt }`, 404 when there is nothing, 503 when it cannot say;
 * - `GET /log`: `{ acceptances, requests }`, the truth;
 * - `PUT /behaviour`: behaves otherwise from the next request on.
 *
 * Throws `LabError` for a bad behaviour or a port that cannot be had.
 */
export async function startFakeService(options: FakeServiceOptions = {}): Promise<FakeService> {
  const { behaviour = {}, clock = systemClock, port = 0 } = options;
  checkBehaviour(behaviour);
  const book = new EffectBook(behaviour, clock);
  const server = createServer((request, response) => {
    // A client that goes away leaves nobody to answer.
    answer({ book, clock }, request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause) => {
      reject(new LabError('lab.port-unavailable', `Port ${port} cannot be opened: ${cause.message}.`));
    });
    server.listen(port, '127.0.0.1', resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    acceptances: book.acceptances,
    requests: book.requests,
    behave: (next) => {
      checkBehaviour(next);
      book.behave(next);
    },
    [Symbol.asyncDispose]: async () => {
      const closed = new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
      server.closeAllConnections();
      await closed;
    },
  };
}

interface Desk {
  readonly book: EffectBook;
  readonly clock: LabClock;
}

async function answer(desk: Desk, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { book } = desk;
  const path = (request.url ?? '/').split('?')[0] ?? '/';
  const route = `${request.method ?? ''} ${path.replace(/^\/effects\/.+$/, '/effects/:key')}`;
  switch (route) {
    case 'POST /effects':
      return doEffect(desk, request, response);
    case 'GET /effects/:key': {
      const found = book.find(decodeURIComponent(path.slice('/effects/'.length)));
      if (found.kind === 'found') return send(response, 200, { receipt: found.receipt });
      return send(response, found.kind === 'absent' ? 404 : 503, { error: found.kind });
    }
    case 'GET /log':
      return send(response, 200, { acceptances: book.acceptances, requests: book.requests });
    case 'PUT /behaviour':
      return changeBehaviour(book, await readBody(request), response);
    default:
      return send(response, 404, { error: `there is no ${route}` });
  }
}

async function doEffect({ book, clock }: Desk, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await readBody(request);
  const key = request.headers['idempotency-key'];
  if (typeof key !== 'string' || key === '') return send(response, 400, { error: 'Idempotency-Key is missing' });
  const treatment = book.arrive(key);
  if (treatment.kind === 'drop-request') return reset(request);
  if (treatment.kind === 'refuse')
    return send(response, treatment.status, { error: treatment.message ?? 'it is refused' });
  if (treatment.kind === 'accept-late') await wait(clock, treatment.afterMs);
  const accepted = book.accept(key, body);
  if (accepted === 'conflict') return send(response, 422, { error: 'this key came with another body before' });
  return answerAccepted({ treatment, accepted, clock }, request, response);
}

async function answerAccepted(
  { treatment, accepted, clock }: { treatment: Treatment; accepted: Acceptance; clock: LabClock },
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (treatment.kind === 'drop-answer') return reset(request);
  if (treatment.kind === 'accept-and-fail') return send(response, treatment.status, { error: 'it failed afterwards' });
  if (treatment.kind === 'answer-late') await wait(clock, treatment.afterMs);
  return send(response, 201, { receipt: accepted.receipt });
}

function changeBehaviour(book: EffectBook, text: string, response: ServerResponse): void {
  try {
    const behaviour = JSON.parse(text) as ServiceBehaviour;
    checkBehaviour(behaviour);
    book.behave(behaviour);
    send(response, 200, {});
  } catch (error) {
    send(response, 400, { error: error instanceof Error ? error.message : 'it is no behaviour' });
  }
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

/** Ends the connection as a crash would: with a reset instead of an end. */
function reset(request: IncomingMessage): void {
  request.socket.resetAndDestroy();
}
