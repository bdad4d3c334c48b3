import type { IncomingMessage, ServerResponse } from 'node:http';
import { chooseFault } from './choose-fault.ts';
import type { LabClock } from './clock.ts';
import type { Delivery } from './deliver.ts';
import { reset, sendError, sendStream, sendWhole } from './deliver.ts';
import type { Fault } from './fault.ts';
import { summarise } from './history.ts';
import type { JsonObject } from './json.ts';
import { auxiliaryTurn, kindOf, playTurn, summaryTurn } from './play-turn.ts';
import type { RequestLog, RequestRecord } from './request-log.ts';
import { roleOf } from './temperament.ts';
import type { PlayedScript } from './turn-script.ts';
import type { Turn } from './turn.ts';
import { argumentsOf } from './turn.ts';
import type { ErrorDetails, ReadRequest, WireFormat } from './wire-format.ts';

/** What the server knows while it answers: the script, how far it has come, and the means to make ids and tell time. */
export interface Play {
  readonly clock: LabClock;
  readonly log: RequestLog;
  readonly id: (prefix: string) => string;
  script: PlayedScript;
  /** Main requests since the script was set, by agent. */
  counts: { main: number; subagent: number };
  /** Answers of a list that were given since the script was set. */
  given: number;
}

/** One request to one of the three APIs, read and parsed. */
export interface Exchange {
  readonly format: WireFormat;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly path: string;
  readonly body: JsonObject;
}

type Change = ReturnType<RequestLog['add']>;

/** Answers a request to a model API as the script says, and keeps a record of it. */
export async function answerRequest(play: Play, exchange: Exchange): Promise<void> {
  const read = exchange.format.read(exchange.body);
  const kind = play.script.list === undefined ? kindOf(read.history, read.tools) : 'main';
  if (kind === 'main') {
    await answerMain(play, exchange, read);
    return;
  }
  play.log.addOther({ at: play.clock.now(), method: 'POST', path: exchange.path, kind });
  const turn = kind === 'compaction' ? summaryTurn(play.script, read.history) : auxiliaryTurn(exchange.body);
  await sendTurn(
    deliveryOf(play, exchange, read, () => undefined),
    exchange.format,
    { turn, read, play },
  );
}

async function answerMain(play: Play, exchange: Exchange, read: ReadRequest): Promise<void> {
  const role = roleOf(read.history, play.script.task);
  play.counts[role.agent] += 1;
  const overall = play.counts.main + play.counts.subagent;
  const refused = exchange.format.refusal(exchange.body) ?? usedUp(play) ?? null;
  const number = { agent: role.agent, overall, ofAgent: play.counts[role.agent] };
  const fault = refused === null ? (chooseFault(play.script, number) ?? null) : null;
  const scripted = play.script.list?.[play.given] ?? play.script.turns?.[overall - 1];
  const turn = faulted(scripted ?? playTurn(play.script, role.task, read.history, read.tools), fault);
  const record: RequestRecord = {
    ...describeRequest(play, exchange, read),
    agent: role.agent,
    ofAgent: number.ofAgent,
    answer: refused === null ? describeTurn(turn) : null,
    fault,
    refused,
  };
  if (fault === null && refused === null) play.given += 1;
  const change = play.log.add(record);
  followResponse(exchange.response, record, change);
  if (refused !== null) {
    sendError(exchange.response, exchange.format.invalid(refused), play.id('req'));
    return;
  }
  await sendFaulted(play, exchange, { read, turn, fault, change });
}

/** Why a list of answers has none for the next request. */
function usedUp({ script, given }: Play): string | undefined {
  if (script.list === undefined || given < script.list.length) return undefined;
  return `The lab's script has ${script.list.length} turns, and all of them were given.`;
}

function describeRequest(
  play: Play,
  exchange: Exchange,
  read: ReadRequest,
): Omit<RequestRecord, 'agent' | 'ofAgent' | 'answer' | 'fault' | 'refused'> {
  const { headers } = exchange.request;
  const bearer = headers.authorization === undefined ? 'none' : 'authorization';
  return {
    index: play.log.main.length + 1,
    at: play.clock.now(),
    api: exchange.format.api,
    path: exchange.path,
    model: read.model,
    streaming: read.streaming,
    auth: headers['x-api-key'] === undefined ? bearer : 'x-api-key',
    history: summarise(read.history),
    status: null,
    state: 'open',
    body: exchange.body,
  };
}

/** Keeps the record's status and state true until the response is over; a reset of ours has been told before. */
function followResponse(response: ServerResponse, record: RequestRecord, change: Change): void {
  response.once('close', () => {
    if (record.state === 'cut') return;
    change({ status: statusOf(response), state: response.writableFinished ? 'ended' : 'client-gone' });
  });
}

interface Planned {
  readonly read: ReadRequest;
  readonly turn: Turn;
  readonly fault: Fault | null;
  readonly change: Change;
}

async function sendFaulted(play: Play, exchange: Exchange, planned: Planned): Promise<void> {
  const { format, response } = exchange;
  const { fault, turn, read, change } = planned;
  const delivery = deliveryOf(play, exchange, read, (state) => change({ status: statusOf(response), state }));
  switch (fault?.kind) {
    case 'error':
    case 'usage-limit':
      sendError(response, errorOf(play, format, fault, read), delivery.requestId);
      return;
    case 'reset':
      reset(delivery);
      return;
    case 'no-headers':
      delivery.reached('at-fault');
      return;
    case 'empty-body':
      response.writeHead(200, { 'content-type': read.streaming ? 'text/event-stream' : 'application/json' }).end();
      return;
    case 'cut':
    case 'stall':
    case 'ping-only':
    case 'error-event':
    case 'malformed-chunk':
      await sendTurn(delivery, format, { turn, read, play, fault });
      return;
    case undefined:
    case 'empty-answer':
    case 'stop':
    case 'refused':
      await sendTurn(delivery, format, { turn, read, play });
      return;
    default:
      unreachable(fault);
  }
}

interface Sending {
  readonly turn: Turn;
  readonly read: ReadRequest;
  readonly play: Play;
  readonly fault?: Parameters<typeof sendStream>[2];
}

async function sendTurn(delivery: Delivery, format: WireFormat, sending: Sending): Promise<void> {
  const answer = { turn: sending.turn, model: sending.read.model, id: sending.play.id };
  if (sending.read.streaming) await sendStream(delivery, format.frames(answer), sending.fault);
  else await sendWhole(delivery, format.whole(answer), sending.fault);
}

function deliveryOf(play: Play, exchange: Exchange, read: ReadRequest, reached: Delivery['reached']): Delivery {
  const { format, response } = exchange;
  const details = detailsOf(play, read, 3600);
  return {
    response,
    clock: play.clock,
    requestId: play.id('req'),
    ping: format.ping,
    errorEvent: (fault) => format.errorEvent(fault.error, details),
    errorAnswer: (fault) => format.error(fault.error, details),
    reached,
  };
}

function errorOf(
  play: Play,
  format: WireFormat,
  fault: Extract<Fault, { readonly kind: 'error' | 'usage-limit' }>,
  read: ReadRequest,
): ReturnType<WireFormat['error']> {
  if (fault.kind === 'usage-limit') return format.error('usage-limit', detailsOf(play, read, fault.resetsInSeconds));
  const answer = format.error(fault.error, detailsOf(play, read, 3600));
  if (fault.retryAfterSeconds === undefined) return answer;
  return { ...answer, headers: { ...answer.headers, 'retry-after': String(fault.retryAfterSeconds) } };
}

function detailsOf(play: Play, read: ReadRequest, resetsInSeconds: number): ErrorDetails {
  const now = Math.floor(play.clock.now() / 1000);
  return { model: read.model, now, resetsAt: now + resetsInSeconds };
}

/** What the model still says when a fault changes the turn itself. */
function faulted(turn: Turn, fault: Fault | null): Turn {
  if (fault?.kind === 'empty-answer') return { text: '', calls: [], stop: 'end' };
  if (fault?.kind === 'stop') return { text: turn.text, calls: [], stop: fault.reason };
  return turn;
}

function describeTurn(turn: Turn): string {
  const calls = turn.calls.map((call) => `call ${call.name} ${argumentsOf(call)}`);
  return calls.length === 0 ? turn.text : calls.join('; ');
}

function statusOf(response: ServerResponse): number | null {
  return response.headersSent ? response.statusCode : null;
}

function unreachable(value: never): never {
  throw new TypeError(`no such fault: ${JSON.stringify(value)}`);
}
