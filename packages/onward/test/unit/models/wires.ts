import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import type { Api } from '../../../src/lab/index.ts';
import type { Failure } from '../../../src/kernel/failure.ts';
import type { Model, ModelPart, ModelRequest } from '../../../src/models/model.ts';
import { type AiSdkLanguageModel, aiSdkModel, type AiSdkModelOptions } from '../../../src/models/ai-sdk/index.ts';

/** A real provider of the AI SDK, and the API of the lab that it speaks. */
export interface Wire {
  readonly name: string;
  readonly api: Api;
  readonly make: (url: string) => AiSdkLanguageModel;
}

/** A key that must appear in nothing that is written. */
export const KEY = 'canary-key-4f1d9c';

export const WIRES: readonly Wire[] = [
  {
    name: 'anthropic',
    api: 'anthropic-messages',
    make: (url) => createAnthropic({ baseURL: `${url}/v1`, apiKey: KEY })('claude-sonnet-4-5'),
  },
  {
    name: 'openai responses',
    api: 'openai-responses',
    make: (url) => createOpenAI({ baseURL: `${url}/v1`, apiKey: KEY }).responses('gpt-5.1'),
  },
  {
    name: 'openai chat',
    api: 'openai-chat',
    make: (url) => createOpenAI({ baseURL: `${url}/v1`, apiKey: KEY }).chat('gpt-4.1'),
  },
  {
    name: 'openai-compatible',
    api: 'openai-chat',
    make: (url) => createOpenAICompatible({ name: 'lab', baseURL: `${url}/v1`, apiKey: KEY })('some-model'),
  },
];

export function modelAt(wire: Wire, url: string, options: AiSdkModelOptions = {}): Model {
  return aiSdkModel(wire.make(url), options);
}

export const TOOL = {
  name: 'note',
  description: 'Writes a note.',
  input: { type: 'object', properties: { word: { type: 'string' } }, required: ['word'], additionalProperties: false },
} as const;

export const REQUEST: ModelRequest = {
  system: 'You are brief.',
  messages: [{ role: 'user', content: [{ type: 'text', text: 'Do the secret-prompt task.' }] }],
  tools: [TOOL],
  settings: { maxOutputTokens: 1000 },
};

/** All parts of one attempt. `until` ends it, by its signal, as soon as it is true. */
export async function partsOf(
  model: Model,
  request: ModelRequest = REQUEST,
  signal: AbortSignal = AbortSignal.timeout(20_000),
): Promise<readonly ModelPart[]> {
  const parts: ModelPart[] = [];
  for await (const part of model.stream(request, signal)) parts.push(part);
  return parts;
}

/** The text of an answer. */
export function textIn(parts: readonly ModelPart[]): string {
  const blocks = new Set(parts.flatMap((part) => (part.type === 'block' && part.kind === 'text' ? [part.block] : [])));
  return parts.map((part) => (part.type === 'delta' && blocks.has(part.block) ? part.text : '')).join('');
}

/** The failure that an attempt ended with. Throws if it is not the last part, or not the only end. */
export function failureIn(parts: readonly ModelPart[]): Failure {
  const last = parts.at(-1);
  const ends = parts.filter(({ type }) => type === 'failed' || type === 'finish');
  if (last?.type !== 'failed' || ends.length !== 1) throw new Error(`no failure at the end: ${JSON.stringify(parts)}`);
  return last.failure;
}
