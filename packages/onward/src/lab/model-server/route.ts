import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Play } from './answer-request.ts';
import { answerRequest } from './answer-request.ts';
import { sendError } from './deliver.ts';
import type { JsonObject } from './json.ts';
import { parseObject } from './json.ts';
import { readBody } from './read-body.ts';
import type { OtherRequest } from './request-log.ts';
import type { WireFormat } from './wire-format.ts';
import { anthropicMessages } from './wire/anthropic.ts';
import { openAiChat } from './wire/chat.ts';
import { openAiResponses } from './wire/responses.ts';

const FORMATS: readonly WireFormat[] = [anthropicMessages, openAiResponses, openAiChat];

/** Answers any HTTP request: the three model APIs, their small companions, and 404 for the rest. */
export async function route(play: Play, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const path = (request.url ?? '/').split('?')[0] ?? '/';
  const method = request.method ?? 'GET';
  const text = await readBody(request);
  const format = method === 'POST' ? FORMATS.find((each) => each.path === path) : undefined;
  if (format === undefined) {
    answerOther(play, response, { method, path, text });
    return;
  }
  const body = parseObject(text);
  if (body === undefined) {
    sendError(response, format.invalid('The body of the request is not a JSON object.'), play.id('req'));
    return;
  }
  await answerRequest(play, { format, request, response, path, body });
}

interface Plain {
  readonly method: string;
  readonly path: string;
  readonly text: string;
}

function answerOther(play: Play, response: ServerResponse, plain: Plain): void {
  const { method, path } = plain;
  const kind = kindOfOther(method, path);
  play.log.addOther({ at: play.clock.now(), method, path, kind });
  switch (kind) {
    case 'probe':
      response.writeHead(200).end();
      return;
    case 'count-tokens':
      sendJson(response, { input_tokens: Math.ceil(plain.text.length / 4) });
      return;
    case 'websocket':
      // Codex tries a websocket first with its own provider; on this status it goes on over HTTP at once.
      response.writeHead(426, { upgrade: 'none' }).end();
      return;
    case 'models':
      sendJson(response, {
        object: 'list',
        data: [{ id: 'lab', type: 'model', object: 'model', display_name: 'Lab' }],
      });
      return;
    case 'unknown':
    case 'auxiliary':
    case 'compaction': {
      const message = `The lab has nothing at ${method} ${path}.`;
      const body = { type: 'error', error: { type: 'not_found_error', message, code: null, param: null } };
      sendError(response, { status: 404, headers: {}, body }, play.id('req'));
      return;
    }
    default:
      unreachable(kind);
  }
}

function kindOfOther(method: string, path: string): OtherRequest['kind'] {
  if (path === '/' && (method === 'HEAD' || method === 'GET')) return 'probe';
  if (path === '/v1/messages/count_tokens' && method === 'POST') return 'count-tokens';
  if (path === '/v1/responses' && method === 'GET') return 'websocket';
  if (path === '/v1/models' && method === 'GET') return 'models';
  return 'unknown';
}

function sendJson(response: ServerResponse, body: JsonObject): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

function unreachable(value: never): never {
  throw new TypeError(`no such request: ${JSON.stringify(value)}`);
}
