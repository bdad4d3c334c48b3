import { startModelServer } from '../../../../src/lab/index.ts';
import type { SessionFormat } from '../../../../src/session-check/index.ts';
import { chatBody, messagesBody, piecesOf, responsesBody } from './wire.ts';

/** A strict provider on loopback, to ask whether it takes a history. */
export interface Provider extends AsyncDisposable {
  /** What each wire says to the history of a file: 'ok', or its refusal. */
  ask(format: SessionFormat, text: string): Promise<Readonly<Record<Wire, string>>>;
}

export type Wire = 'messages' | 'responses' | 'chat';

/** Takes every history that is well-formed. */
export async function startProvider(): Promise<Provider> {
  const server = await startModelServer({ script: { turns: Array.from({ length: 100_000 }, () => ({ text: 'ok' })) } });
  const post = async (path: string, body: object): Promise<string> => {
    const response = await fetch(`${server.url}/v1/${path}`, { method: 'POST', body: JSON.stringify(body) });
    const text = await response.text();
    return response.ok ? 'ok' : text;
  };
  return {
    async ask(format, text) {
      const pieces = piecesOf(format, text);
      const [messages, responses, chat] = await Promise.all([
        post('messages', messagesBody(pieces)),
        post('responses', responsesBody(pieces)),
        post('chat/completions', chatBody(pieces)),
      ]);
      return { messages, responses, chat };
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

/** What they say to a history that is well-formed. */
export const taken: Readonly<Record<Wire, string>> = { messages: 'ok', responses: 'ok', chat: 'ok' };
