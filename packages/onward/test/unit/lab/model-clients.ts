import { request } from 'node:http';
import type { Api } from '../../../src/lab/index.ts';

/** What a test says to a model, in any of the three APIs. */
export type Said =
  | { readonly kind: 'user' | 'assistant'; readonly text: string }
  | { readonly kind: 'call'; readonly id: string; readonly name: string; readonly input: object }
  | { readonly kind: 'result'; readonly id: string; readonly text: string };

/** What came back over HTTP, whole or broken. */
export interface Reply {
  readonly status: number | null;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  /** The error code of the connection; `null` if the body ended properly. */
  readonly error: string | null;
}

/** The model's turn as a client reads it. */
export interface Heard {
  readonly text: string;
  readonly calls: readonly { readonly id: string; readonly name: string; readonly input: Record<string, unknown> }[];
  readonly stop: string | null;
}

export const APIS: readonly Api[] = ['anthropic-messages', 'openai-responses', 'openai-chat'];

export const PATHS: Readonly<Record<Api, string>> = {
  'anthropic-messages': '/v1/messages?beta=true',
  'openai-responses': '/v1/responses',
  'openai-chat': '/v1/chat/completions',
};

/** The shell tool as each API's best known agent offers it. */
const PARAMETERS = {
  bash: {
    type: 'object',
    properties: { command: { type: 'string' }, description: { type: 'string' } },
    required: ['command'],
  },
  exec: {
    type: 'object',
    properties: { cmd: { type: 'string' }, yield_time_ms: { type: 'number' } },
    required: ['cmd'],
  },
};

export function bodyOf(api: Api, said: readonly Said[], options: { stream?: boolean; tools?: boolean } = {}): object {
  const stream = options.stream ?? true;
  const tools = options.tools ?? true;
  switch (api) {
    case 'anthropic-messages':
      return {
        model: 'claude-sonnet-4-5',
        max_tokens: 100,
        stream,
        messages: said.map(toAnthropic),
        ...(tools ? { tools: [{ name: 'Bash', input_schema: PARAMETERS.bash }] } : {}),
      };
    case 'openai-responses':
      return {
        model: 'gpt-5.1-codex',
        stream,
        input: said.map(toResponses),
        ...(tools ? { tools: [{ type: 'function', name: 'exec_command', parameters: PARAMETERS.exec }] } : {}),
      };
    case 'openai-chat':
    default:
      return {
        model: 'lab',
        stream,
        messages: said.map(toChat),
        ...(tools ? { tools: [{ type: 'function', function: { name: 'bash', parameters: PARAMETERS.bash } }] } : {}),
      };
  }
}

function toAnthropic(item: Said): object {
  switch (item.kind) {
    case 'call':
      return { role: 'assistant', content: [{ type: 'tool_use', id: item.id, name: item.name, input: item.input }] };
    case 'result':
      return { role: 'user', content: [{ type: 'tool_result', tool_use_id: item.id, content: item.text }] };
    case 'user':
    case 'assistant':
    default:
      return { role: item.kind, content: [{ type: 'text', text: item.text }] };
  }
}

function toResponses(item: Said): object {
  switch (item.kind) {
    case 'call':
      return { type: 'function_call', call_id: item.id, name: item.name, arguments: JSON.stringify(item.input) };
    case 'result':
      return { type: 'function_call_output', call_id: item.id, output: item.text };
    case 'user':
    case 'assistant':
    default: {
      const type = item.kind === 'user' ? 'input_text' : 'output_text';
      return { type: 'message', role: item.kind, content: [{ type, text: item.text }] };
    }
  }
}

function toChat(item: Said): object {
  switch (item.kind) {
    case 'call':
      return {
        role: 'assistant',
        content: null,
        tool_calls: [
          { id: item.id, type: 'function', function: { name: item.name, arguments: JSON.stringify(item.input) } },
        ],
      };
    case 'result':
      return { role: 'tool', tool_call_id: item.id, content: item.text };
    case 'user':
    case 'assistant':
    default:
      return { role: item.kind, content: item.text };
  }
}

/** Posts a body and resolves with whatever came, however it ended. `seen` is called with all text so far. */
export async function post(
  url: string,
  body: object | string,
  options: {
    signal?: AbortSignal;
    method?: string;
    headers?: Record<string, string>;
    seen?: (text: string) => void;
  } = {},
): Promise<Reply> {
  return await new Promise<Reply>((resolve) => {
    let status: number | null = null;
    let headers: Reply['headers'] = {};
    let text = '';
    const end = (error: string | null): void => resolve({ status, headers, text, error });
    const sent = request(
      url,
      {
        method: options.method ?? 'POST',
        agent: false,
        headers: { 'content-type': 'application/json', ...options.headers },
        ...(options.signal === undefined ? {} : { signal: options.signal }),
      },
      (response) => {
        status = response.statusCode ?? null;
        headers = response.headers;
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => {
          text += chunk;
          options.seen?.(text);
        });
        response.on('end', () => end(null));
        response.on('error', (cause) => end(codeOf(cause)));
      },
    );
    sent.on('error', (cause) => end(codeOf(cause)));
    sent.end(typeof body === 'string' ? body : JSON.stringify(body));
  });
}

function codeOf(cause: Error): string {
  return 'code' in cause ? String(cause.code) : cause.name;
}

/** The data of each server-sent event. */
export function eventsOf(text: string): readonly string[] {
  return text
    .split('\n\n')
    .flatMap((block) => block.split('\n').filter((line) => line.startsWith('data: ')))
    .map((line) => line.slice('data: '.length));
}

/** Reads a turn from a streamed or whole answer, as a client of that API does. */
export function hear(api: Api, text: string, stream: boolean): Heard {
  const all = (stream ? eventsOf(text).filter((data) => data !== '[DONE]') : [text]).map(
    (data) => JSON.parse(data) as Loose,
  );
  switch (api) {
    case 'anthropic-messages':
      return stream ? anthropicStream(all) : anthropicWhole(all[0] ?? {});
    case 'openai-responses':
      return responses(stream ? (all.at(-1)?.['response'] ?? {}) : (all[0] ?? {}), stream ? all : undefined);
    case 'openai-chat':
    default:
      return stream ? chatStream(all) : chatWhole(all[0] ?? {});
  }
}

// A client reads what a server sends: its shape is what these tests are about.
// oxlint-disable-next-line typescript/no-explicit-any
type Loose = Record<string, any>;

function anthropicStream(events: readonly Loose[]): Heard {
  const blocks: Loose[] = [];
  let stop: string | null = null;
  for (const event of events) {
    if (event['type'] === 'content_block_start') blocks[event['index']] = { ...event['content_block'], json: '' };
    if (event['type'] === 'content_block_delta') {
      const block = blocks[event['index']] as Loose;
      if (event['delta'].type === 'text_delta') block['text'] += event['delta'].text;
      else block['json'] += event['delta'].partial_json;
    }
    if (event['type'] === 'message_delta') stop = event['delta'].stop_reason;
  }
  const content = blocks.map((block) =>
    block['type'] === 'tool_use' ? { ...block, input: JSON.parse(block['json']) } : block,
  );
  return anthropicWhole({ content, stop_reason: stop });
}

function anthropicWhole(message: Loose): Heard {
  const content = message['content'] as readonly Loose[];
  return {
    text: content
      .filter((block) => block['type'] === 'text')
      .map((block) => block['text'])
      .join(''),
    calls: content
      .filter((block) => block['type'] === 'tool_use')
      .map((block) => ({ id: block['id'], name: block['name'], input: block['input'] })),
    stop: message['stop_reason'],
  };
}

function responses(response: Loose, events?: readonly Loose[]): Heard {
  const output = (events
    ?.filter((event) => event['type'] === 'response.output_item.done')
    .map((event) => event['item']) ?? response['output']) as readonly Loose[];
  const deltas = events
    ?.filter((event) => event['type'] === 'response.output_text.delta')
    .map((event) => event['delta']);
  const messages = output.filter((item) => item['type'] === 'message');
  return {
    text: deltas?.join('') ?? messages.map((item) => item['content'][0].text).join(''),
    calls: output
      .filter((item) => item['type'] === 'function_call')
      .map((item) => ({ id: item['call_id'], name: item['name'], input: JSON.parse(item['arguments']) })),
    stop: response['incomplete_details']?.reason ?? response['status'],
  };
}

function chatStream(chunks: readonly Loose[]): Heard {
  const calls: Loose[] = [];
  let text = '';
  let stop: string | null = null;
  for (const chunk of chunks) {
    const choice = chunk['choices'][0];
    if (choice === undefined) continue;
    text += choice.delta.content ?? '';
    stop = choice.finish_reason ?? stop;
    for (const part of choice.delta.tool_calls ?? []) {
      calls[part.index] ??= { id: part.id, function: { name: part.function.name, arguments: '' } };
      (calls[part.index] as Loose)['function'].arguments += part.function.arguments;
    }
  }
  return chatWhole({ choices: [{ message: { content: text, tool_calls: calls }, finish_reason: stop }] });
}

function chatWhole(body: Loose): Heard {
  const { message, finish_reason: stop } = body['choices'][0];
  const calls = (message.tool_calls ?? []) as readonly Loose[];
  return {
    text: message.content ?? '',
    calls: calls.map((call) => ({
      id: call['id'],
      name: call['function'].name,
      input: JSON.parse(call['function'].arguments),
    })),
    stop,
  };
}
