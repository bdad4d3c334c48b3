import { randomUUID } from 'node:crypto';
import { type Script, toolName } from './script.ts';

/** Where in an answer a chunk belongs. */
export type Phase = 'role' | 'text' | 'call' | 'args' | 'finish' | 'usage' | 'done';

/** One server-sent event of an answer. */
export interface Chunk {
  readonly phase: Phase;
  /** The data line without its `data: `. */
  readonly data: string;
  /** The text it adds, if any. */
  readonly text?: string;
}

/** What differs from the healthy answer of a step. */
export interface Answer {
  /** 0 and 1 end in a call, 2 does not. */
  readonly step: number;
  /** Instead of the arguments' JSON. */
  readonly args?: string;
}

/** The chunks of a healthy answer as chat completions stream it; ids are unique, for some clients merge by them. */
export function answerChunks(script: Script, { step, args }: Answer): readonly Chunk[] {
  const wrap = envelope();
  const delta = (phase: Phase, value: object, text?: string): Chunk => ({
    phase,
    data: wrap([{ index: 0, delta: value, finish_reason: null }]),
    ...(text === undefined ? {} : { text }),
  });
  const item = script.items[step];
  const calls = item === undefined ? [] : callChunks(delta, args ?? JSON.stringify({ id: item }));
  return [
    delta('role', { role: 'assistant', content: '' }),
    ...pieces(script.texts[step] ?? '', 8).map((text) => delta('text', { content: text }, text)),
    ...calls,
    ...endChunks(wrap, item === undefined ? 'stop' : 'tool_calls'),
  ];
}

/** An answer of a text alone, in one piece. */
export function textChunks(text: string): readonly Chunk[] {
  const wrap = envelope();
  const data = wrap([{ index: 0, delta: { role: 'assistant', content: text }, finish_reason: null }]);
  return [{ phase: 'text', data, text }, ...endChunks(wrap, 'stop')];
}

/** The end of an answer: the reason, the usage, the terminator. */
export function endChunks(wrap: Wrap, reason: 'stop' | 'tool_calls' | 'length'): readonly Chunk[] {
  const usage = { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 };
  return [
    { phase: 'finish', data: wrap([{ index: 0, delta: {}, finish_reason: reason }]) },
    { phase: 'usage', data: wrap([], usage) },
    { phase: 'done', data: '[DONE]' },
  ];
}

/** Makes the JSON of a chunk of one completion. */
export type Wrap = (choices: readonly object[], usage?: object) => string;

/** A new completion. */
export function envelope(): Wrap {
  const head = {
    id: `chatcmpl-${randomUUID()}`,
    object: 'chat.completion.chunk',
    created: 1_790_000_000,
    model: 'lab',
  };
  return (choices, usage) => JSON.stringify({ ...head, choices, ...(usage === undefined ? {} : { usage }) });
}

function callChunks(delta: (phase: Phase, value: object) => Chunk, args: string): readonly Chunk[] {
  const id = `call_${randomUUID().replaceAll('-', '').slice(0, 24)}`;
  return [
    delta('call', call({ id, type: 'function', function: { name: toolName, arguments: '' } })),
    ...pieces(args, 4).map((part) => delta('args', call({ function: { arguments: part } }))),
  ];
}

function call(value: object): object {
  return { tool_calls: [{ index: 0, ...value }] };
}

function pieces(text: string, count: number): readonly string[] {
  const size = Math.ceil(text.length / count);
  return Array.from({ length: Math.ceil(text.length / size) }, (_, n) => text.slice(n * size, (n + 1) * size));
}
