/**
 * A chat route for `useChat` without a framework: an agent that recovers, streamed in the AI SDK's UI message protocol, and resumed
 * by position when the page comes back. `node examples/ai-sdk-route/server.ts` runs it against a model of the lab that breaks off
 * in the middle of its second answer.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { type Agent, createAgent, type CreateAgentOptions, type PromptHandle } from 'onward/agent';
import {
  aiSdkModel,
  fromAiSdkTools,
  resumeOf,
  serverSentEventHeaders,
  toServerSentEvents,
  toUIMessageStream,
} from 'onward/ai-sdk';
import { startModelServer } from 'onward/lab';

/** What a chat needs of the outside. */
export type ChatOptions = Pick<CreateAgentOptions, 'model' | 'tools' | 'plugins' | 'retry'>;

interface Chat {
  readonly agent: Agent;
  last?: PromptHandle;
}

/** Serves `POST /api/chat` and `GET /api/chat/:id/stream` on a free port of this machine. */
export async function startChat(options: ChatOptions): Promise<{ readonly url: string } & AsyncDisposable> {
  const chats = new Map<string, Chat>();
  const server = createServer((request, response) => {
    answer(chats, options, request, response).catch((error: unknown) => {
      console.error(error);
      response.destroy();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/chat`,
    [Symbol.asyncDispose]: () => close(server, chats),
  };
}

async function answer(
  chats: Map<string, Chat>,
  options: ChatOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const url = new URL(request.url ?? '/', 'http://localhost');
  const id = /^\/api\/chat\/([^/]+)\/stream$/.exec(url.pathname)?.[1];
  if (request.method === 'POST' && url.pathname === '/api/chat') {
    const said = JSON.parse(await bodyOf(request)) as { id: string; messages: Message[] };
    const chat = chats.get(said.id) ?? { agent: await createAgent(options) };
    chats.set(said.id, chat);
    chat.last = chat.agent.followup(textOf(said.messages.at(-1)));
    return await send(chat.last, response);
  }
  const last = id === undefined ? undefined : chats.get(id)?.last;
  // What useChat expects where there is nothing to resume.
  if (last === undefined) return void response.writeHead(204).end();
  // Without a position the whole message is sent again, and replaces the one that the page may have.
  const place = JSON.parse(url.searchParams.get('place') ?? 'null') as unknown;
  return await send(last, response, resumeOf({ metadata: { onward: place } }));
}

/** Streams a message, or the rest of it. A page that goes away ends the reading; the agent goes on. */
async function send(
  handle: PromptHandle,
  response: ServerResponse,
  resume?: ReturnType<typeof resumeOf>,
): Promise<void> {
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  response.writeHead(200, { ...serverSentEventHeaders });
  const events = handle.events({ signal: gone.signal });
  for await (const line of toServerSentEvents(toUIMessageStream(events, resume === undefined ? {} : { resume })))
    if (!response.write(line) && !gone.signal.aborted)
      await Promise.race([once(response, 'drain'), once(response, 'close')]);
  response.end();
}

interface Message {
  readonly parts: readonly { readonly type: string; readonly text?: string }[];
}

function textOf(message: Message | undefined): string {
  return (message?.parts ?? []).map((part) => (part.type === 'text' ? part.text : '')).join('');
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let body = '';
  request.setEncoding('utf8');
  for await (const chunk of request) body += chunk as string;
  return body;
}

async function close(server: Server, chats: Map<string, Chat>): Promise<void> {
  for (const { agent } of chats.values()) await agent[Symbol.asyncDispose]();
  server.closeAllConnections();
  server.close();
}

if (import.meta.main) {
  const { tool } = await import('ai');
  const { z } = await import('zod');
  const lab = await startModelServer({
    script: {
      turns: [
        { text: 'I look at the clock. ', calls: [{ name: 'clock', input: {} }] },
        { text: 'It is time to go on.' },
        { text: 'Ask me again after a restart: this list of answers is used up.' },
      ],
      faults: [{ from: 2, fault: { kind: 'cut', at: 'text', how: 'rst' } }],
    },
  });
  const clock = tool({ description: 'The time.', inputSchema: z.object({}), execute: () => new Date().toISOString() });
  const { url } = await startChat({
    model: aiSdkModel(createOpenAICompatible({ name: 'lab', baseURL: `${lab.url}/v1` })('lab')),
    tools: fromAiSdkTools({ clock }, { effects: { clock: 'none' } }),
  });
  const body = JSON.stringify({ id: 'one', messages: [{ role: 'user', parts: [{ type: 'text', text: 'Hello' }] }] });
  console.log(`Point useChat at ${url}, or try it:\n`);
  console.log(`curl -N ${url} -H 'content-type: application/json' -d '${body}'`);
  console.log(`curl -N ${url}/one/stream`);
}
