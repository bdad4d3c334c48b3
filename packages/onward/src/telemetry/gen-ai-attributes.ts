import type { Header, SessionEventData } from '../agent/index.ts';
import { safeLabel, safeWord } from './safe-text.ts';
import type { SpanAttributes } from './span-change.ts';

/**
 * Names of the semantic conventions for generative AI (semconv 1.41, status: development), written out: the package that
 * has them as constants changes them from version to version.
 */

type Usage = NonNullable<SessionEventData['answer.completed']['usage']>;

/** The parts of `provider/model`; a name without a slash is a model. */
function namesOf(id: string): { readonly provider: string | undefined; readonly model: string } {
  const slash = id.indexOf('/');
  return slash < 1 ? { provider: undefined, model: id } : { provider: id.slice(0, slash), model: id.slice(slash + 1) };
}

/** The name of a request's span. */
export function chatName(id: string): string {
  return `chat ${safeLabel(namesOf(id).model)}`;
}

/** Which model a request is made to. */
export function chatAttributes(id: string): SpanAttributes {
  const { provider, model } = namesOf(id);
  return {
    'gen_ai.operation.name': 'chat',
    ...(provider === undefined ? {} : { 'gen_ai.provider.name': safeLabel(provider) }),
    'gen_ai.request.model': safeLabel(model),
  };
}

/** Settings of a request that are numbers. */
export function settingAttributes(header: Header | undefined): SpanAttributes {
  const { maxOutputTokens, temperature } = header?.settings ?? {};
  return {
    ...(maxOutputTokens === undefined ? {} : { 'gen_ai.request.max_tokens': maxOutputTokens }),
    ...(temperature === undefined ? {} : { 'gen_ai.request.temperature': temperature }),
  };
}

/** What a request used. */
export function usageAttributes(usage: Usage | undefined): SpanAttributes {
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, usd } = usage ?? {};
  return {
    ...(inputTokens === undefined ? {} : { 'gen_ai.usage.input_tokens': inputTokens }),
    ...(outputTokens === undefined ? {} : { 'gen_ai.usage.output_tokens': outputTokens }),
    ...(cacheReadTokens === undefined ? {} : { 'gen_ai.usage.cache_read.input_tokens': cacheReadTokens }),
    ...(cacheWriteTokens === undefined ? {} : { 'gen_ai.usage.cache_creation.input_tokens': cacheWriteTokens }),
    ...(usd === undefined ? {} : { 'onward.usage.usd': usd }),
  };
}

/** How an answer ended. The id is that of the HTTP request, which is what a provider's support asks for. */
export function answerAttributes({ finish, usage, requestId }: SessionEventData['answer.completed']): SpanAttributes {
  const id = safeWord(requestId);
  return {
    ...usageAttributes(usage),
    'gen_ai.response.finish_reasons': [finish],
    ...(id === undefined ? {} : { 'onward.request_id': id }),
  };
}

/** Which tool a call is of. */
export function toolAttributes(tool: string, call: string): SpanAttributes {
  const id = safeWord(call);
  return {
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': safeWord(tool) ?? 'unknown',
    'gen_ai.tool.type': 'function',
    ...(id === undefined ? {} : { 'gen_ai.tool.call.id': id }),
  };
}
