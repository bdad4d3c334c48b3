import type { JsonObject } from '../json.ts';
import { asList, asObject, asText } from '../json.ts';
import { signatureOf } from '../signature.ts';
import type { ToolCall, Turn } from '../turn.ts';
import { argumentsOf } from '../turn.ts';
import type { Answer, Frame, WireFormat } from '../wire-format.ts';
import { frame, jsonHalves, sse, textMark, textPieces, tokens } from './chunks.ts';
import { openAiError, openAiErrorObject, openAiInvalid, openAiStreamCode } from './openai-errors.ts';
import { readResponses, responsesRefusal } from './responses-read.ts';

/** When every answer was made, seconds since the epoch: it must be there, and nothing depends on it. */
const CREATED_AT = 1_760_000_000;

/** OpenAI's Responses API over server-sent events, as Codex uses it (platform.openai.com, "Responses", "Streaming events"). */
export const openAiResponses: WireFormat = {
  api: 'openai-responses',
  path: '/v1/responses',
  ping: ': keep-alive\n\n',
  read: readResponses,
  refusal: responsesRefusal,
  frames,
  whole: (answer) => finished(answer, answer.id('resp'), outputs(answer)),
  error: openAiError,
  invalid: (message) => openAiInvalid(message, 'input'),
  errorEvent: (condition, details) => {
    const error = {
      code: openAiStreamCode(condition),
      message: asText(openAiErrorObject(condition, details)['message']),
    };
    const response = { id: 'resp_lab', object: 'response', created_at: CREATED_AT, status: 'failed', error };
    // Clients that check shapes want a number; none looks at its order.
    return event('response.failed', { sequence_number: 0, response });
  },
};

function outputs(answer: Answer): readonly JsonObject[] {
  const made: JsonObject[] = [];
  const { turn } = answer;
  if (turn.thinking !== undefined) made.push(reasoningItem(answer, turn.thinking));
  if (turn.text !== '') {
    const part = turn.stop === 'refusal' ? { type: 'refusal', refusal: turn.text } : textPart(turn.text);
    made.push({ id: answer.id('msg'), type: 'message', status: 'completed', role: 'assistant', content: [part] });
  }
  for (const call of turn.calls) made.push(callItem(answer, call));
  return made;
}

/** Thinking shows as a summary; what the model really thought is encrypted. */
function reasoningItem(answer: Answer, thinking: string): JsonObject {
  const summary = [{ type: 'summary_text', text: thinking }];
  return { id: answer.id('rs'), type: 'reasoning', summary, encrypted_content: signatureOf(thinking) };
}

/** A tool that takes text is called by another kind of item than one that takes arguments. */
function callItem(answer: Answer, call: ToolCall): JsonObject {
  const { name, input } = call;
  const group = call.namespace === undefined ? {} : { namespace: call.namespace };
  const rest = { call_id: call.id ?? answer.id('call'), status: 'completed', name, ...group };
  return typeof input === 'string' && call.inputText === undefined
    ? { id: answer.id('ctc'), type: 'custom_tool_call', ...rest, input }
    : { id: answer.id('fc'), type: 'function_call', ...rest, arguments: argumentsOf(call) };
}

function textPart(text: string): JsonObject {
  return { type: 'output_text', text, annotations: [], logprobs: [] };
}

function frames(answer: Answer): readonly Frame[] {
  const id = answer.id('resp');
  const started = {
    id,
    object: 'response',
    created_at: CREATED_AT,
    status: 'in_progress',
    model: answer.model,
    output: [],
  };
  const made = [
    frame(event('response.created', { response: started })),
    frame(event('response.in_progress', { response: started }), 'start'),
  ];
  const all = outputs(answer);
  all.forEach((item, index) => made.push(...itemFrames(item, index, index === all.length - 1)));
  made.push(frame(event(finalEvent(answer.turn), { response: finished(answer, id, all) })));
  return made;
}

function itemFrames(item: JsonObject, index: number, isLast: boolean): readonly Frame[] {
  if (item['type'] === 'reasoning') return reasoningFrames(item, index);
  return item['type'] === 'message' ? messageFrames(item, index) : callFrames(item, index, isLast);
}

function reasoningFrames(item: JsonObject, index: number): readonly Frame[] {
  const place = { item_id: asText(item['id']), output_index: index, summary_index: 0 };
  const part = asObject(asList(item['summary'])[0]);
  const text = asText(part['text']);
  const name = 'response.reasoning_summary';
  return [
    frame(event('response.output_item.added', { output_index: index, item: { ...item, summary: [] } })),
    frame(event(`${name}_part.added`, { ...place, part: { type: 'summary_text', text: '' } })),
    ...textPieces(text).map((delta) => frame(event(`${name}_text.delta`, { ...place, delta }))),
    frame(event(`${name}_text.done`, { ...place, text })),
    frame(event(`${name}_part.done`, { ...place, part })),
    frame(event('response.output_item.done', { output_index: index, item })),
  ];
}

function messageFrames(item: JsonObject, index: number): readonly Frame[] {
  const part = asObject(asList(item['content'])[0]);
  const place = { item_id: asText(item['id']), output_index: index, content_index: 0 };
  const isRefusal = part['type'] === 'refusal';
  const name = isRefusal ? 'response.refusal' : 'response.output_text';
  const text = asText(isRefusal ? part['refusal'] : part['text']);
  const pieces = textPieces(text);
  return [
    frame(
      event('response.output_item.added', {
        output_index: index,
        item: { ...item, status: 'in_progress', content: [] },
      }),
    ),
    frame(
      event('response.content_part.added', {
        ...place,
        part: isRefusal ? { type: 'refusal', refusal: '' } : textPart(''),
      }),
    ),
    ...pieces.map((delta, piece) => frame(event(`${name}.delta`, { ...place, delta }), textMark(piece, pieces.length))),
    frame(event(`${name}.done`, { ...place, [isRefusal ? 'refusal' : 'text']: text })),
    frame(event('response.content_part.done', { ...place, part })),
    frame(event('response.output_item.done', { output_index: index, item }), 'after-text'),
  ];
}

function callFrames(item: JsonObject, index: number, isLast: boolean): readonly Frame[] {
  const place = { item_id: asText(item['id']), output_index: index };
  const isText = item['type'] === 'custom_tool_call';
  const member = isText ? 'input' : 'arguments';
  const name = isText ? 'response.custom_tool_call_input' : 'response.function_call_arguments';
  const [first, second] = jsonHalves(asText(item[member]));
  const opened = { ...item, status: 'in_progress', [member]: '' };
  return [
    frame(event('response.output_item.added', { output_index: index, item: opened })),
    frame(event(`${name}.delta`, { ...place, delta: first }), 'tool-json'),
    frame(event(`${name}.delta`, { ...place, delta: second })),
    frame(event(`${name}.done`, { ...place, [member]: `${first}${second}` })),
    frame(event('response.output_item.done', { output_index: index, item }), isLast ? 'after-call' : undefined),
  ];
}

function event(type: string, rest: JsonObject): string {
  return sse(type, JSON.stringify({ type, ...rest }));
}

function finished(answer: Answer, id: string, output: readonly JsonObject[]): JsonObject {
  const reason = incompleteReason(answer.turn);
  const given = answer.turn.usage;
  const read = given?.inputTokens ?? 100;
  const written = given?.outputTokens ?? tokens(JSON.stringify(output));
  return {
    id,
    object: 'response',
    created_at: CREATED_AT,
    status: reason === undefined ? 'completed' : 'incomplete',
    model: answer.model,
    output,
    error: null,
    incomplete_details: reason === undefined ? null : { reason },
    usage: {
      input_tokens: read,
      input_tokens_details: { cached_tokens: given?.cacheReadTokens ?? 0 },
      output_tokens: written,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: read + written,
    },
  };
}

function finalEvent(turn: Turn): string {
  return incompleteReason(turn) === undefined ? 'response.completed' : 'response.incomplete';
}

/** This API knows two reasons to be incomplete; a paused turn and a refusal are complete responses to it. */
function incompleteReason(turn: Turn): string | undefined {
  switch (turn.stop) {
    case 'max-tokens':
    case 'context-window':
      return 'max_output_tokens';
    case 'content-filter':
      return 'content_filter';
    case 'end':
    case 'tool':
    case 'pause':
    case 'refusal':
      return undefined;
    default:
      return unreachable(turn.stop);
  }
}

function unreachable(value: never): never {
  throw new TypeError(`no such stop reason: ${JSON.stringify(value)}`);
}
