import { OnwardError } from '../kernel/error.ts';
import type { Json } from '../kernel/json.ts';

type Output =
  | { readonly type: 'text' | 'json'; readonly value: Json }
  | { readonly type: 'error-text' | 'error-json'; readonly value: Json }
  | { readonly type: 'execution-denied'; readonly reason?: string }
  | { readonly type: 'content'; readonly value: readonly { readonly type: string; readonly text?: string }[] };

/**
 * What `toModelOutput` of a tool says, as a result of a call. Its errors are thrown, so that the call is one that failed.
 * Throws `ai-sdk/bad-output` for files, which no result of ours can hold.
 */
export function toModelJson(output: unknown): Json {
  const said = output as Output;
  switch (said.type) {
    case 'text':
    case 'json':
      return said.value;
    case 'error-text':
    case 'error-json':
      throw new Error(typeof said.value === 'string' ? said.value : JSON.stringify(said.value));
    case 'execution-denied':
      throw new Error(said.reason ?? 'The call was denied.');
    case 'content':
      return said.value.map((part) => part.text ?? noFile(part.type)).join('\n');
    default:
      return noFile(String((said as { readonly type?: unknown } | undefined)?.type));
  }
}

function noFile(type: string): never {
  throw new OnwardError('ai-sdk/bad-output', `A result of a tool can hold text and JSON, and no ${type}.`, {
    next: ['Return a link or a path, and let the model ask for what is behind it.'],
  });
}
