import type { HistoryItem } from '../history.ts';
import type { Json, JsonObject } from '../json.ts';
import { asList, asObject, asText } from '../json.ts';
import type { ToolSpec } from '../tools.ts';
import type { StopReason, Turn } from '../turn.ts';
import { argumentsOf } from '../turn.ts';
import type { Answer, Frame, ReadRequest, WireFormat } from '../wire-format.ts';
import { frame, jsonHalves, sse, textMark, textPieces, tokens } from './chunks.ts';
import { openAiError, openAiErrorObject, openAiInvalid } from './openai-errors.ts';

/** OpenAI's Chat Completions API, which most other providers copy (platform.openai.com, "Chat", "Streaming"). */
export const openAiChat: WireFormat = {
  api: 'openai-chat',
  path: '/v1/chat/completions',
  ping: ': keep-alive\n\n',
  read,
  refusal,
  frames,
  whole,
  error: openAiError,
  invalid: (message) => openAiInvalid(message, 'messages'),
  errorEvent: (condition, details) => sse(undefined, JSON.stringify({ error: openAiErrorObject(condition, details) })),
};

function read(body: JsonObject): ReadRequest {
  return {
    model: asText(body['model']),
    streaming: body['stream'] === true,
    history: asList(body['messages']).flatMap((each) => items(asObject(each))),
    tools: asList(body['tools']).map(toTool),
  };
}

function toTool(value: Json): ToolSpec {
  const tool = asObject(asObject(value)['function']);
  return { name: asText(tool['name']), schema: asObject(tool['parameters']) };
}

function items(message: JsonObject): HistoryItem[] {
  const text = contentText(message['content']);
  switch (asText(message['role'])) {
    case 'tool':
      return [{ kind: 'result', id: asText(message['tool_call_id']), text }];
    case 'assistant':
      return [...(text === '' ? [] : [{ kind: 'assistant', text } as const]), ...callsOf(message).map(toCall)];
    case 'user':
      return [{ kind: 'user', text }];
    default:
      return [{ kind: 'system', text }];
  }
}

function toCall(call: JsonObject): HistoryItem {
  const called = asObject(call['function']);
  return { kind: 'call', id: asText(call['id']), name: asText(called['name']), input: asText(called['arguments']) };
}

function callsOf(message: JsonObject): readonly JsonObject[] {
  return asList(message['tool_calls']).map(asObject);
}

function contentText(content: Json | undefined): string {
  if (typeof content === 'string') return content;
  return asList(content)
    .map((part) => asText(asObject(part)['text']))
    .join('\n');
}

/** Each call must be answered by tool messages right after it, and each tool message must answer such a call. */
function refusal(body: JsonObject): string | undefined {
  const messages = asList(body['messages']).map(asObject);
  if (messages.length === 0)
    return "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.";
  let open = new Set<string>();
  for (const [index, message] of messages.entries()) {
    if (message['role'] === 'tool') {
      if (!open.delete(asText(message['tool_call_id']))) {
        return `Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'. (messages.[${index}].role)`;
      }
      continue;
    }
    if (open.size > 0) return unanswered(open);
    if (message['role'] === 'assistant') open = new Set(callsOf(message).map((call) => asText(call['id'])));
  }
  return open.size > 0 ? unanswered(open) : undefined;
}

function unanswered(ids: ReadonlySet<string>): string {
  return `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${[...ids].join(', ')}`;
}

function frames(answer: Answer): readonly Frame[] {
  const id = answer.id('chatcmpl');
  const chunk = (delta: JsonObject, finish: string | null = null): string =>
    sse(
      undefined,
      JSON.stringify({
        id,
        object: 'chat.completion.chunk',
        created: 0,
        model: answer.model,
        choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
      }),
    );
  const { text, calls } = answer.turn;
  const pieces = textPieces(text);
  const made = [frame(chunk({ role: 'assistant', content: '' }), 'start')];
  // OpenAI itself sends no thinking; the servers that copy its API send it so.
  for (const thought of textPieces(answer.turn.thinking ?? '')) made.push(frame(chunk({ reasoning_content: thought })));
  pieces.forEach((content, piece) => {
    // There is no event for the end of a text: after its last piece it is complete.
    const mark = piece === pieces.length - 1 ? 'after-text' : textMark(piece, pieces.length);
    made.push(frame(chunk({ content }), mark));
  });
  calls.forEach((call, index) => {
    const [first, second] = jsonHalves(argumentsOf(call));
    const opening = {
      index,
      id: call.id ?? answer.id('call'),
      type: 'function',
      function: { name: call.name, arguments: '' },
    };
    made.push(frame(chunk({ tool_calls: [opening] })));
    made.push(frame(chunk({ tool_calls: [{ index, function: { arguments: first } }] }), 'tool-json'));
    const mark = index === calls.length - 1 ? 'after-call' : undefined;
    made.push(frame(chunk({ tool_calls: [{ index, function: { arguments: second } }] }), mark));
  });
  made.push(frame(chunk({}, finishWord(answer.turn.stop))));
  made.push(frame(usageChunk(id, answer)), frame(sse(undefined, '[DONE]')));
  return made;
}

function usageChunk(id: string, answer: Answer): string {
  const body = {
    id,
    object: 'chat.completion.chunk',
    created: 0,
    model: answer.model,
    choices: [],
    usage: usage(answer.turn),
  };
  return sse(undefined, JSON.stringify(body));
}

function whole(answer: Answer): JsonObject {
  const { text, calls, stop, thinking } = answer.turn;
  const toolCalls = calls.map((call) => ({
    id: call.id ?? answer.id('call'),
    type: 'function',
    function: { name: call.name, arguments: argumentsOf(call) },
  }));
  const content = text === '' ? null : text;
  const message = {
    role: 'assistant',
    content,
    refusal: null,
    ...(thinking === undefined ? {} : { reasoning_content: thinking }),
    ...(toolCalls.length > 0 ? { tool_calls: toolCalls } : {}),
  };
  return {
    id: answer.id('chatcmpl'),
    object: 'chat.completion',
    created: 0,
    model: answer.model,
    choices: [{ index: 0, message, logprobs: null, finish_reason: finishWord(stop) }],
    usage: usage(answer.turn),
  };
}

function usage(turn: Turn): JsonObject {
  const given = turn.usage;
  const taken = given?.inputTokens ?? 100;
  const written = given?.outputTokens ?? tokens(turn.text) + tokens(JSON.stringify(turn.calls));
  return {
    prompt_tokens: taken,
    completion_tokens: written,
    total_tokens: taken + written,
    ...(given?.cacheReadTokens === undefined
      ? {}
      : { prompt_tokens_details: { cached_tokens: given.cacheReadTokens } }),
  };
}

/** A refusal shows as a content filter here, and a paused turn as an ordinary stop. */
function finishWord(stop: StopReason): string {
  switch (stop) {
    case 'end':
    case 'pause':
      return 'stop';
    case 'tool':
      return 'tool_calls';
    case 'max-tokens':
    case 'context-window':
      return 'length';
    case 'refusal':
    case 'content-filter':
      return 'content_filter';
    default:
      return unreachable(stop);
  }
}

function unreachable(value: never): never {
  throw new TypeError(`no such stop reason: ${JSON.stringify(value)}`);
}
