import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Program, Task } from './program.ts';
import { toolDescription } from './program.ts';

interface Call {
  id: string;
  type: 'function';
  function: { name: string; arguments: string };
}

type Message =
  | { role: 'user'; content: string }
  | { role: 'assistant'; content: string; tool_calls?: Call[] }
  | { role: 'tool'; tool_call_id: string; content: string };

/** The loop that people write first: fetch, three tries for what may pass, a file of messages. No library. */
export const program: Program = async (task) => {
  const messages = load(task);
  const add = (message: Message): void => {
    messages.push(message);
    if (task.store !== undefined) appendFileSync(join(task.store, 'messages.jsonl'), `${JSON.stringify(message)}\n`);
  };
  if (messages.length === 0) add({ role: 'user', content: task.prompt });
  for (;;) {
    const last = messages.at(-1);
    // oxlint-disable-next-line no-await-in-loop -- a conversation
    const answer = last?.role === 'assistant' ? last : await ask(task, messages);
    if (answer !== last) add(answer);
    if (answer.tool_calls === undefined) return { text: answer.content };
    for (const call of answer.tool_calls) {
      const { id } = JSON.parse(call.function.arguments) as { id: string };
      // oxlint-disable-next-line no-await-in-loop -- one tool after the other
      add({ role: 'tool', tool_call_id: call.id, content: await task.record(id) });
    }
  }
};

function load(task: Task): Message[] {
  const file = task.store === undefined ? undefined : join(task.store, 'messages.jsonl');
  if (file === undefined || !existsSync(file)) return [];
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Message);
}

async function ask(task: Task, messages: readonly Message[]): Promise<Message & { role: 'assistant' }> {
  const response = await request(task, messages);
  const answer: Message & { role: 'assistant' } = { role: 'assistant', content: '' };
  const calls: Call[] = [];
  for await (const data of lines(response)) {
    const chunk = JSON.parse(data) as Chunk;
    if (chunk.error !== undefined) throw new Error(chunk.error.message);
    const delta = chunk.choices[0]?.delta;
    if (delta?.content !== undefined && delta.content !== '') {
      answer.content += delta.content;
      task.show(delta.content);
    }
    for (const part of delta?.tool_calls ?? []) {
      const call = (calls[part.index] ??= {
        id: part.id ?? '',
        type: 'function',
        function: { name: '', arguments: '' },
      });
      call.function.name += part.function.name ?? '';
      call.function.arguments += part.function.arguments;
    }
  }
  return calls.length === 0 ? answer : { ...answer, tool_calls: calls };
}

interface Chunk {
  error?: { message: string };
  choices: {
    delta?: {
      content?: string;
      tool_calls?: { index: number; id?: string; function: { name?: string; arguments: string } }[];
    };
  }[];
}

async function request(task: Task, messages: readonly Message[]): Promise<Response> {
  for (let attempt = 1; ; attempt++) {
    // oxlint-disable-next-line no-await-in-loop -- one attempt after the other
    const response = await fetch(`${task.baseUrl}/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: 'Bearer test' },
      body: JSON.stringify({ model: 'lab', stream: true, messages, tools }),
      ...(task.timeouts ? { signal: AbortSignal.timeout(10_000) } : {}),
    }).catch((error: unknown) => error as Error);
    const isPassing = response instanceof Error || response.status === 429 || response.status >= 500;
    if (response instanceof Response && response.ok) return response;
    if (!isPassing || attempt === 3) throw response instanceof Error ? response : await statusError(response);
    const asked = response instanceof Error ? null : response.headers.get('retry-after');
    // oxlint-disable-next-line no-await-in-loop -- as above
    await sleep(asked === null ? 500 * 2 ** (attempt - 1) : Number(asked) * 1000);
  }
}

async function statusError(response: Response): Promise<Error> {
  return Object.assign(new Error(await response.text()), { status: response.status });
}

const tools = [
  {
    type: 'function',
    function: {
      name: 'record',
      description: toolDescription,
      parameters: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] },
    },
  },
];

async function* lines(response: Response): AsyncGenerator<string> {
  let rest = '';
  for await (const piece of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    const parts = (rest + piece).split('\n');
    rest = parts.pop() ?? '';
    for (const part of parts) if (part.startsWith('data: ') && part !== 'data: [DONE]') yield part.slice(6);
  }
}
