import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import type { LanguageModelV4 } from '@ai-sdk/provider';

/** Each wire format with a real provider of the AI SDK in front of it. */
export type Wire = 'anthropic' | 'openai-responses' | 'openai-chat' | 'openai-compatible';

export const WIRES: readonly Wire[] = ['anthropic', 'openai-responses', 'openai-chat', 'openai-compatible'];

/** A model of that provider at a lab. */
export function modelOf(wire: Wire, url: string): LanguageModelV4 {
  const at = { baseURL: `${url}/v1`, apiKey: 'lab' };
  switch (wire) {
    case 'anthropic':
      return createAnthropic(at)('claude-sonnet-4-5');
    case 'openai-responses':
      return createOpenAI(at).responses('gpt-5.1');
    case 'openai-chat':
      return createOpenAI(at).chat('gpt-5.1');
    case 'openai-compatible':
    default:
      return createOpenAICompatible({ name: 'lab', ...at })('lab');
  }
}
