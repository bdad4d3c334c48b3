import type {
  LanguageModelV4CallOptions,
  LanguageModelV4FilePart,
  LanguageModelV4FunctionTool,
  LanguageModelV4Message,
  LanguageModelV4TextPart,
  LanguageModelV4ToolResultPart,
  SharedV4ProviderOptions,
} from '@ai-sdk/provider';
import type {
  MediaPart,
  Message,
  ModelRequest,
  ModelSettings,
  Opaque,
  ResultPart,
  TextPart,
  ToolSpec,
} from '../model.ts';

/** Which model is asked: its id in the log, its provider's name, and the version of its interface. */
export interface Asked {
  readonly id: string;
  readonly provider: string;
  readonly version: 'v2' | 'v3' | 'v4';
}

type AssistantPart = Extract<LanguageModelV4Message, { role: 'assistant' }>['content'][number];

/**
 * The request in the words of the AI SDK. Of messages that another model wrote only text and calls are kept: thinking and
 * what its provider attached mean nothing to this one, and some refuse it.
 */
export function toCall(request: ModelRequest, asked: Asked, signal: AbortSignal): LanguageModelV4CallOptions {
  const { maxOutputTokens, temperature, toolChoice } = request.settings;
  const providerOptions = optionsFor(request.settings, asked);
  const system: LanguageModelV4Message[] = request.system === '' ? [] : [{ role: 'system', content: request.system }];
  return {
    prompt: [...system, ...request.messages.flatMap((message) => cached(message, asked))],
    ...(request.tools.length === 0 ? {} : { tools: request.tools.map(toTool) }),
    ...(request.tools.length === 0 || toolChoice === undefined ? {} : { toolChoice: { type: toolChoice } }),
    ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(providerOptions === undefined ? {} : { providerOptions }),
    abortSignal: signal,
  };
}

/** A history is the same messages again and again, frozen, so that each has to be put into words only once. */
const words = new WeakMap<Asked, WeakMap<Message, readonly LanguageModelV4Message[]>>();

function cached(message: Message, asked: Asked): readonly LanguageModelV4Message[] {
  if (!Object.isFrozen(message)) return toMessages(message, asked);
  let known = words.get(asked);
  if (known === undefined) words.set(asked, (known = new WeakMap()));
  let said = known.get(message);
  if (said === undefined) known.set(message, (said = toMessages(message, asked)));
  return said;
}

/**
 * OpenAI's Responses API keeps answers by default, and the AI SDK then sends ids in place of the history. Ours is to load
 * without that server's memory, so that `store` is off unless the caller turns it on.
 */
function optionsFor(settings: ModelSettings, { provider }: Asked): SharedV4ProviderOptions | undefined {
  const given = settings.providerOptions as SharedV4ProviderOptions | undefined;
  if (!/^(openai|azure)\b.*\bresponses$/u.test(provider)) return given;
  // Azure's provider reads options under both names, its own first.
  const name = provider.startsWith('azure') && given?.['azure'] !== undefined ? 'azure' : 'openai';
  return { ...given, [name]: { store: false, ...given?.[name] } };
}

function toTool({ name, description, input }: ToolSpec): LanguageModelV4FunctionTool {
  return { type: 'function', name, description, inputSchema: input as LanguageModelV4FunctionTool['inputSchema'] };
}

function toMessages(message: Message, asked: Asked): LanguageModelV4Message[] {
  switch (message.role) {
    case 'user':
      return [{ role: 'user', content: message.content.map((part) => toUserPart(part, asked)) }];
    case 'assistant': {
      const content = message.content.flatMap((part) => toAssistantParts(part, message.model === asked.id));
      // An answer that held nothing for this model is none: providers refuse an empty one.
      return content.length === 0 ? [] : [{ role: 'assistant', content }];
    }
    case 'tool':
      return [{ role: 'tool', content: message.content.map(toResult) }];
    default:
      return message satisfies never;
  }
}

function toUserPart(part: TextPart | MediaPart, asked: Asked): LanguageModelV4TextPart | LanguageModelV4FilePart {
  if (part.type === 'text') return { type: 'text', text: part.text, ...attached(part.opaque) };
  return { type: 'file', mediaType: part.mediaType, data: fileData(part.data, asked) };
}

/** Base64 has no colon, an address always has one. Versions 2 and 3 of the interface take the bare text or URL. */
function fileData(data: string, { version }: Asked): LanguageModelV4FilePart['data'] {
  const inline = /^data:[^,]*;base64,(.*)$/su.exec(data)?.[1];
  const base64 = inline ?? (data.includes(':') ? undefined : data);
  if (version === 'v4')
    return base64 === undefined ? { type: 'url', url: new URL(data) } : { type: 'data', data: base64 };
  return (base64 ?? new URL(data)) as unknown as LanguageModelV4FilePart['data'];
}

type Said = Extract<Message, { readonly role: 'assistant' }>['content'][number];

function toAssistantParts(part: Said, own: boolean): AssistantPart[] {
  const options = own ? attached(part.opaque) : {};
  switch (part.type) {
    case 'text':
      return part.text === '' ? [] : [{ type: 'text', text: part.text, ...options }];
    case 'thinking':
      return own ? [{ type: 'reasoning', text: part.text, ...options }] : [];
    case 'call':
      return [{ type: 'tool-call', toolCallId: part.id, toolName: part.tool, input: part.input, ...options }];
    default:
      return part satisfies never;
  }
}

function toResult({ id, tool, output, isError }: ResultPart): LanguageModelV4ToolResultPart {
  return { type: 'tool-result', toolCallId: id, toolName: tool, output: toOutput(output, isError === true) };
}

function toOutput(output: ResultPart['output'], isError: boolean): LanguageModelV4ToolResultPart['output'] {
  if (typeof output === 'string') return { type: isError ? 'error-text' : 'text', value: output };
  return { type: isError ? 'error-json' : 'json', value: output };
}

function attached(opaque: Opaque | undefined): { readonly providerOptions?: SharedV4ProviderOptions } {
  return opaque === undefined ? {} : { providerOptions: opaque as SharedV4ProviderOptions };
}
