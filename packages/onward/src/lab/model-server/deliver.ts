import type { ServerResponse } from 'node:http';
import type { LabClock } from './clock.ts';
import { wait } from './clock.ts';
import type { Fault, Place } from './fault.ts';
import type { JsonObject } from './json.ts';
import type { ErrorAnswer, Frame } from './wire-format.ts';

/** A fault that acts inside an answer rather than instead of it. */
export type StreamFault = Extract<Fault, { readonly at: Place }>;

/** Where an answer goes, and what its delivery needs. */
export interface Delivery {
  readonly response: ServerResponse;
  readonly clock: LabClock;
  readonly requestId: string;
  /** Keep-alive of this API. */
  readonly ping: string;
  /** The error inside a stream of this API, for `error-event` faults. */
  readonly errorEvent: (fault: Extract<Fault, { readonly kind: 'error-event' }>) => string;
  /** The HTTP error of this API: what an error event is to a request that does not stream. */
  readonly errorAnswer: (fault: Extract<Fault, { readonly kind: 'error-event' }>) => ErrorAnswer;
  /** Called when the answer has gone silent with its connection open, and right before it is reset. */
  readonly reached: (state: 'at-fault' | 'cut') => void;
}

/** Time for the bytes before a reset to be read: a reset may throw away what still waits in the receiver's buffer. */
const RESET_GRACE_MS = 40;

/** If a turn has no such place, the fault acts at the nearest earlier one. */
const NEAREST: Readonly<Record<Place, readonly Place[]>> = {
  start: ['start'],
  text: ['text', 'start'],
  'after-text': ['after-text', 'text', 'start'],
  'tool-json': ['tool-json', 'after-text', 'text', 'start'],
  'after-call': ['after-call', 'after-text', 'text', 'start'],
};

/** Sends an answer as server-sent events, with a fault in it or not. */
export async function sendStream(delivery: Delivery, frames: readonly Frame[], fault?: StreamFault): Promise<void> {
  const { response, requestId } = delivery;
  response.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache',
    ...requestIdHeaders(requestId),
  });
  const place = fault === undefined ? undefined : nearest(frames, fault.at);
  let broken = false;
  for (const frame of frames) {
    await write(
      response,
      broken ? `${frame.wire.slice(0, Math.ceil(frame.wire.length * 0.6)).trimEnd()}\n\n` : frame.wire,
    );
    broken = false;
    if (fault === undefined || frame.mark !== place) continue;
    if (fault.kind !== 'malformed-chunk') {
      await breakOff(delivery, fault);
      return;
    }
    broken = true;
  }
  response.end();
}

/** Sends an answer as one JSON body; faults of a stream act in the middle of it. */
export async function sendWhole(delivery: Delivery, body: JsonObject, fault?: StreamFault): Promise<void> {
  const { response, requestId } = delivery;
  const text = JSON.stringify(body);
  if (fault?.kind === 'error-event') {
    sendError(response, delivery.errorAnswer(fault), requestId);
    return;
  }
  response.writeHead(200, { 'content-type': 'application/json', ...requestIdHeaders(requestId) });
  if (fault === undefined) {
    response.end(text);
    return;
  }
  await write(response, text.slice(0, Math.ceil(text.length / 2)));
  if (fault.kind === 'malformed-chunk') response.end();
  else await breakOff(delivery, fault);
}

/** Sends an HTTP error. */
export function sendError(response: ServerResponse, answer: ErrorAnswer, requestId: string): void {
  const html = typeof answer.body === 'string';
  response.writeHead(answer.status, {
    'content-type': html ? 'text/html' : 'application/json',
    ...requestIdHeaders(requestId),
    ...answer.headers,
  });
  response.end(typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body));
}

/** Ends the connection so that the client sees ECONNRESET. */
export function reset(delivery: Delivery): void {
  delivery.reached('cut');
  delivery.response.socket?.resetAndDestroy();
}

async function breakOff(
  delivery: Delivery,
  fault: Exclude<StreamFault, { readonly kind: 'malformed-chunk' }>,
): Promise<void> {
  const { response } = delivery;
  switch (fault.kind) {
    case 'cut':
      if (fault.how === 'fin') {
        response.end();
        return;
      }
      await wait(delivery.clock, RESET_GRACE_MS);
      reset(delivery);
      return;
    case 'stall':
      delivery.reached('at-fault');
      return;
    case 'ping-only':
      delivery.reached('at-fault');
      keepPinging(delivery, fault.everyMs);
      return;
    case 'error-event':
      await write(response, delivery.errorEvent(fault));
      response.end();
      return;
    default:
      unreachable(fault);
  }
}

function keepPinging(delivery: Delivery, everyMs: number): void {
  const { response, clock, ping } = delivery;
  const again = (): void => {
    if (response.destroyed || response.writableEnded) return;
    response.write(ping);
    stop = clock.after(everyMs, again);
  };
  let stop = clock.after(everyMs, again);
  response.once('close', () => {
    stop();
  });
}

function nearest(frames: readonly Frame[], at: Place): Place | undefined {
  return NEAREST[at].find((place) => frames.some((frame) => frame.mark === place));
}

/** Resolves once the bytes were handed to the system, or the client has gone. */
async function write(response: ServerResponse, text: string): Promise<void> {
  await new Promise<void>((resolve) => {
    if (response.destroyed) resolve();
    else response.write(text, () => resolve());
  });
}

/** Both providers name each request in a header of their own. */
function requestIdHeaders(id: string): Record<string, string> {
  return { 'request-id': id, 'x-request-id': id };
}

function unreachable(value: never): never {
  throw new TypeError(`no such fault: ${JSON.stringify(value)}`);
}
