import type { HistoryItem } from '../history.ts';
import type { Json, JsonObject } from '../json.ts';
import { asList, asObject, asText } from '../json.ts';
import type { ToolSpec } from '../tools.ts';
import type { Turn } from '../turn.ts';
import type { Answer, Frame, ReadRequest, WireFormat } from '../wire-format.ts';
import { frame, jsonHalves, sse, textMark, textPieces, tokens } from './chunks.ts';
import { openAiError, openAiErrorObject, openAiInvalid, openAiStreamCode } from './openai-errors.ts';

/** OpenAI's Responses API over server-sent events, as Codex uses it (platform.openai.com, "Responses", "Streaming events"). */
export const openAiResponses: WireFormat = {
  api: 'openai-responses',
  path: '/v1/responses',
  ping: ': keep-alive\n\n',
  read,
  refusal,
  frames,
  whole: (answer) => finished(answer, answer.id('resp'), outputs(answer)),
  error: openAiError,
  invalid: (message) => openAiInvalid(message, 'input'),
  errorEvent: (condition, details) => {
    const error = {
      code: openAiStreamCode(condition),
      message: asText(openAiErrorObject(condition, details)['message']),
    };
    return event('response.failed', { response: { id: 'resp_lab', object: 'response', status: 'failed', error } });
  },
};

function read(body: JsonObject): ReadRequest {
  const input = body['input'];
  const instructions = asText(body['instructions']);
  const said = typeof input === 'string' ? [{ kind: 'user', text: input } as const] : asList(input).flatMap(toItem);
  return {
    model: asText(body['model']),
    streaming: body['stream'] === true,
    history: instructions === '' ? said : [{ kind: 'system', text: instructions }, ...said],
    tools: asList(body['tools']).map(toTool),
  };
}

function toTool(value: Json): ToolSpec {
  const tool = asObject(value);
  return { name: asText(tool['name']) || asText(tool['type']), schema: asObject(tool['parameters']) };
}

function toItem(value: Json): HistoryItem[] {
  const item = asObject(value);
  const id = asText(item['call_id']);
  switch (asText(item['type'])) {
    case 'function_call':
      return [{ kind: 'call', id, name: asText(item['name']), input: asText(item['arguments']) }];
    case 'function_call_output':
      return [{ kind: 'result', id, text: contentText(item['output']) }];
    case 'message':
    case '': {
      const role = item['role'];
      const kind = role === 'assistant' ? 'assistant' : role === 'user' ? 'user' : 'system';
      return contentParts(item['content']).map((text) => ({ kind, text }));
    }
    default:
      return [];
  }
}

function contentParts(content: Json | undefined): readonly string[] {
  return typeof content === 'string' ? [content] : asList(content).map((part) => asText(asObject(part)['text']));
}

function contentText(output: Json | undefined): string {
  return contentParts(output).join('\n');
}

/** Calls and outputs must pair one to one; a call still open is only allowed when nothing follows, which a request never is. */
function refusal(body: JsonObject): string | undefined {
  const items = asList(body['input']).map(asObject);
  const calls = new Set(
    items.filter((item) => item['type'] === 'function_call').map((item) => asText(item['call_id'])),
  );
  const answered = new Set<string>();
  for (const item of items) {
    if (item['type'] !== 'function_call_output') continue;
    const id = asText(item['call_id']);
    if (!calls.has(id)) return `No tool call found for function call output with call_id ${id}.`;
    if (answered.has(id)) return `Duplicate tool output found for function call ${id}.`;
    answered.add(id);
  }
  const missing = [...calls].find((id) => !answered.has(id));
  return missing === undefined ? undefined : `No tool output found for function call ${missing}.`;
}

function outputs(answer: Answer): readonly JsonObject[] {
  const made: JsonObject[] = [];
  const { turn } = answer;
  if (turn.text !== '') {
    const part = turn.stop === 'refusal' ? { type: 'refusal', refusal: turn.text } : textPart(turn.text);
    made.push({ id: answer.id('msg'), type: 'message', status: 'completed', role: 'assistant', content: [part] });
  }
  for (const call of turn.calls) {
    const ids = { id: answer.id('fc'), call_id: answer.id('call') };
    made.push({
      ...ids,
      type: 'function_call',
      status: 'completed',
      name: call.name,
      arguments: JSON.stringify(call.input),
    });
  }
  return made;
}

function textPart(text: string): JsonObject {
  return { type: 'output_text', text, annotations: [], logprobs: [] };
}

function frames(answer: Answer): readonly Frame[] {
  const id = answer.id('resp');
  const started = { id, object: 'response', status: 'in_progress', model: answer.model, output: [] };
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
  return item['type'] === 'message' ? messageFrames(item, index) : callFrames(item, index, isLast);
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
  const text = asText(item['arguments']);
  const [first, second] = jsonHalves(text);
  const name = 'response.function_call_arguments';
  return [
    frame(
      event('response.output_item.added', {
        output_index: index,
        item: { ...item, status: 'in_progress', arguments: '' },
      }),
    ),
    frame(event(`${name}.delta`, { ...place, delta: first }), 'tool-json'),
    frame(event(`${name}.delta`, { ...place, delta: second })),
    frame(event(`${name}.done`, { ...place, arguments: text })),
    frame(event('response.output_item.done', { output_index: index, item }), isLast ? 'after-call' : undefined),
  ];
}

function event(type: string, rest: JsonObject): string {
  return sse(type, JSON.stringify({ type, ...rest }));
}

function finished(answer: Answer, id: string, output: readonly JsonObject[]): JsonObject {
  const reason = incompleteReason(answer.turn);
  const written = tokens(JSON.stringify(output));
  return {
    id,
    object: 'response',
    status: reason === undefined ? 'completed' : 'incomplete',
    model: answer.model,
    output,
    error: null,
    incomplete_details: reason === undefined ? null : { reason },
    usage: {
      input_tokens: 100,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: written,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 100 + written,
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
