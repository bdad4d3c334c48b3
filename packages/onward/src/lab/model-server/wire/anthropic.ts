import type { HistoryItem } from '../history.ts';
import type { Json, JsonObject } from '../json.ts';
import { asList, asObject, asText } from '../json.ts';
import type { ToolSpec } from '../tools.ts';
import type { StopReason, Turn } from '../turn.ts';
import { argumentsOf } from '../turn.ts';
import type { Answer, Frame, ReadRequest, WireFormat } from '../wire-format.ts';
import { anthropicError, anthropicInvalid } from './anthropic-errors.ts';
import { anthropicRefusal } from './anthropic-refusal.ts';
import { signatureOf } from '../signature.ts';
import { frame, jsonHalves, sse, textMark, textPieces, tokens } from './chunks.ts';

/** Anthropic's Messages API, as of version header 2023-06-01 (docs.anthropic.com, "Messages", "Streaming", "Errors"). */
export const anthropicMessages: WireFormat = {
  api: 'anthropic-messages',
  path: '/v1/messages',
  ping: sse('ping', '{"type": "ping"}'),
  read,
  refusal: anthropicRefusal,
  frames,
  whole: (answer) => message(answer, blocks(answer), stopWord(answer.turn.stop)),
  error: anthropicError,
  invalid: anthropicInvalid,
  errorEvent: (condition, details) => sse('error', JSON.stringify(anthropicError(condition, details).body)),
};

function read(body: JsonObject): ReadRequest {
  const system = contentText(body['system']);
  return {
    model: asText(body['model']),
    streaming: body['stream'] === true,
    history: [
      ...(system === '' ? [] : [{ kind: 'system', text: system } as const]),
      ...asList(body['messages']).flatMap((each) => items(asObject(each))),
    ],
    tools: asList(body['tools']).map(toTool),
  };
}

function toTool(value: Json): ToolSpec {
  const tool = asObject(value);
  return { name: asText(tool['name']), schema: asObject(tool['input_schema']) };
}

function items(entry: JsonObject): HistoryItem[] {
  const kind = entry['role'] === 'assistant' ? 'assistant' : entry['role'] === 'system' ? 'system' : 'user';
  const content = entry['content'];
  if (typeof content === 'string') return [{ kind, text: content }];
  return asList(content).flatMap((each): HistoryItem[] => {
    const block = asObject(each);
    switch (asText(block['type'])) {
      case 'text':
        return [{ kind, text: asText(block['text']) }];
      case 'tool_use':
        return [
          { kind: 'call', id: asText(block['id']), name: asText(block['name']), input: JSON.stringify(block['input']) },
        ];
      case 'tool_result':
        return [{ kind: 'result', id: asText(block['tool_use_id']), text: contentText(block['content']) }];
      default:
        return [];
    }
  });
}

function contentText(content: Json | undefined): string {
  if (typeof content === 'string') return content;
  return asList(content)
    .map((block) => asText(asObject(block)['text']))
    .join('\n');
}

interface Block {
  readonly open: JsonObject;
  readonly whole: JsonObject;
  readonly deltas: readonly JsonObject[];
  readonly kind: 'text' | 'tool' | 'thinking';
}

function blocks(answer: Answer): readonly Block[] {
  const { text, calls, thinking } = answer.turn;
  const made: Block[] = [];
  if (thinking !== undefined) made.push(thinkingBlock(thinking));
  if (text !== '') made.push(textBlock(text));
  for (const call of calls) {
    const open = { type: 'tool_use', id: call.id ?? answer.id('toolu'), name: call.name };
    const deltas = jsonHalves(argumentsOf(call)).map((half) => ({
      type: 'input_json_delta',
      partial_json: half,
    }));
    made.push({ kind: 'tool', open: { ...open, input: {} }, whole: { ...open, input: call.input }, deltas });
  }
  return made;
}

function textBlock(text: string): Block {
  const deltas = textPieces(text).map((piece) => ({ type: 'text_delta', text: piece }));
  return { kind: 'text', open: { type: 'text', text: '' }, whole: { type: 'text', text }, deltas };
}

function thinkingBlock(thinking: string): Block {
  const signature = signatureOf(thinking);
  const deltas = [
    ...textPieces(thinking).map((piece) => ({ type: 'thinking_delta', thinking: piece })),
    { type: 'signature_delta', signature },
  ];
  const open = { type: 'thinking', thinking: '', signature: '' };
  return { kind: 'thinking', open, whole: { type: 'thinking', thinking, signature }, deltas };
}

function frames(answer: Answer): readonly Frame[] {
  const opening = message({ ...answer, turn: { ...answer.turn, text: '', calls: [] } }, [], null);
  const made = [frame(event('message_start', { message: opening }), 'start'), frame(anthropicMessages.ping)];
  const all = blocks(answer);
  all.forEach((block, index) => made.push(...blockFrames(block, index, index === all.length - 1)));
  const delta = { stop_reason: stopWord(answer.turn.stop), stop_sequence: null };
  made.push(frame(event('message_delta', { delta, usage: { output_tokens: outputTokens(answer.turn) } })));
  made.push(frame(event('message_stop', {})));
  return made;
}

function blockFrames(block: Block, index: number, isLast: boolean): readonly Frame[] {
  const made = [frame(event('content_block_start', { index, content_block: block.open }))];
  block.deltas.forEach((delta, piece) => {
    const inTool = piece === 0 && block.kind === 'tool' ? 'tool-json' : undefined;
    const mark = block.kind === 'text' ? textMark(piece, block.deltas.length) : inTool;
    made.push(frame(event('content_block_delta', { index, delta }), mark));
  });
  const end = isLast && block.kind === 'tool' ? ('after-call' as const) : undefined;
  made.push(frame(event('content_block_stop', { index }), block.kind === 'text' ? 'after-text' : end));
  return made;
}

function event(type: string, rest: JsonObject): string {
  return sse(type, JSON.stringify({ type, ...rest }));
}

function message(answer: Answer, content: readonly Block[], stop: string | null): JsonObject {
  return {
    id: answer.id('msg'),
    type: 'message',
    role: 'assistant',
    model: answer.model,
    content: content.map((block) => block.whole),
    stop_reason: stop,
    stop_sequence: null,
    usage: { ...inputTokens(answer.turn), output_tokens: stop === null ? 1 : outputTokens(answer.turn) },
  };
}

/** Input is counted without what the cache gave and took. */
function inputTokens({ usage }: Turn): JsonObject {
  const {
    inputTokens: all,
    cacheReadTokens: cached = 0,
    cacheWriteTokens: written = 0,
  } = usage ?? { inputTokens: 100 };
  return {
    input_tokens: all - cached - written,
    cache_creation_input_tokens: written,
    cache_read_input_tokens: cached,
  };
}

function outputTokens(turn: Turn): number {
  return turn.usage?.outputTokens ?? tokens(turn.text) + tokens(JSON.stringify(turn.calls));
}

/** There is no stop reason of its own for a content filter: it shows as a refusal. */
function stopWord(stop: StopReason): string {
  switch (stop) {
    case 'end':
      return 'end_turn';
    case 'tool':
      return 'tool_use';
    case 'max-tokens':
      return 'max_tokens';
    case 'refusal':
    case 'content-filter':
      return 'refusal';
    case 'pause':
      return 'pause_turn';
    case 'context-window':
      return 'model_context_window_exceeded';
    default:
      return unreachable(stop);
  }
}

function unreachable(value: never): never {
  throw new TypeError(`no such stop reason: ${JSON.stringify(value)}`);
}
