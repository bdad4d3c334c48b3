import type { Model, ModelPart } from 'onward/agent';

/** Texts and calls of a conversation in which nothing takes time. */
const textPieces = [
  'I am going ',
  'to record ',
  'the next ',
  'item now, ',
  'as the ',
  'task says, ',
  'and then ',
  'go on. ',
];
const argPieces = (turn: number): readonly string[] => ['{"id":', '"item-', `${turn}`, '"}'];

/** Calls the tool `turns` times, then says something and is done. Two ways to ask: an OpenAI endpoint, or our own parts. */
export interface Instant {
  /** Answers as an endpoint of chat completions streams, each event in a piece of its own, without a network. */
  readonly fetch: typeof globalThis.fetch;
  /** The same as the parts that a loop sees, made of nothing. */
  readonly model: Model;
}

/** A conversation of `turns` calls for each prompt; or, without calls, one of prompts that are answered with a text. */
export function createInstant(turns: number): Instant {
  let asked = 0;
  const next = (): number => {
    asked = asked > turns ? 1 : asked + 1;
    return asked;
  };
  return {
    fetch: async () => new Response(sse(next(), turns), { headers: { 'content-type': 'text/event-stream' } }),
    model: { id: 'lab/instant', stream: () => parts(next(), turns) },
  };
}

// oxlint-disable-next-line require-await -- a model streams asynchronously, also when it need not wait
async function* parts(turn: number, turns: number): AsyncGenerator<ModelPart> {
  yield { type: 'started' };
  yield { type: 'block', block: 0, kind: 'text' };
  for (const text of textPieces) yield { type: 'delta', block: 0, text };
  yield { type: 'end', block: 0 };
  if (turn <= turns) {
    yield { type: 'block', block: 1, kind: 'call', id: `call_${turn}`, tool: 'record' };
    for (const text of argPieces(turn)) yield { type: 'delta', block: 1, text };
    yield { type: 'end', block: 1 };
  }
  yield { type: 'finish', reason: turn <= turns ? 'calls' : 'stop', usage: { inputTokens: 100, outputTokens: 20 } };
}

const encoder = new TextEncoder();

function sse(turn: number, turns: number): ReadableStream<Uint8Array> {
  const head = { id: `chatcmpl-${turn}-${Math.random()}`, object: 'chat.completion.chunk', created: 1, model: 'lab' };
  const event = (delta: object, finish: string | null = null): string =>
    `data: ${JSON.stringify({ ...head, choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
  const calls = [
    event(
      call({ id: `call_${turn}_${head.id.slice(-12)}`, type: 'function', function: { name: 'record', arguments: '' } }),
    ),
    ...argPieces(turn).map((text) => event(call({ function: { arguments: text } }))),
  ];
  const usage = { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 };
  const events = [
    event({ role: 'assistant', content: '' }),
    ...textPieces.map((content) => event({ content })),
    ...(turn <= turns ? calls : []),
    event({}, turn <= turns ? 'tool_calls' : 'stop'),
    `data: ${JSON.stringify({ ...head, choices: [], usage })}\n\n`,
    'data: [DONE]\n\n',
  ];
  let sent = 0;
  return new ReadableStream({
    pull(controller) {
      const text = events[sent];
      sent += 1;
      if (text === undefined) controller.close();
      else controller.enqueue(encoder.encode(text));
    },
  });
}

function call(value: object): object {
  return { tool_calls: [{ index: 0, ...value }] };
}
