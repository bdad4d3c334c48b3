import type { SessionFormat } from '../../../../src/session-check/index.ts';
import { asList, asObject, asText, type JsonObject } from '../../../../src/session-check/json-shape.ts';

/* What a resume of a file sends, written without a look at the reader under test: lines in the order of the file. */

/** A piece of a conversation, between the file and a wire. */
type Piece =
  | { readonly kind: 'user'; readonly text: string }
  | { readonly kind: 'said'; readonly text: string }
  | { readonly kind: 'thought'; readonly text: string; readonly signature: string }
  | { readonly kind: 'call'; readonly id: string }
  | { readonly kind: 'result'; readonly id: string; readonly text: string };

/** Lines of a transcript that hang on a line which is not in front of them. The first may: what was before it is gone. */
export function brokenLinks(text: string): readonly string[] {
  const seen = new Set<unknown>([null, undefined]);
  let isFirst = true;
  return text.split('\n').filter((line) => {
    const value = line.trim() === '' ? {} : (JSON.parse(line) as JsonObject);
    if (value['uuid'] === undefined || seen.has(value['uuid'])) return false;
    const isBroken = !isFirst && !seen.has(value['parentUuid']);
    if (isFirst) seen.add(value['parentUuid']);
    isFirst = false;
    seen.add(value['uuid']);
    return isBroken;
  });
}

/** What the file says, in order. */
export function piecesOf(format: SessionFormat, text: string): readonly Piece[] {
  const lines = text.split('\n').flatMap((line) => (line.trim() === '' ? [] : [JSON.parse(line) as JsonObject]));
  switch (format) {
    case 'claude':
      return claudePieces(lines);
    case 'codex':
      return lines.flatMap((line) => (line['type'] === 'response_item' ? codexPieces(asObject(line['payload'])) : []));
    case 'onward':
      return onwardPieces(lines);
    default:
      return format satisfies never;
  }
}

function claudePieces(lines: readonly JsonObject[]): readonly Piece[] {
  const seen = new Set<unknown>();
  return lines.flatMap((line) => {
    // A line that was written twice is one.
    if (line['uuid'] !== undefined && seen.has(line['uuid'])) return [];
    seen.add(line['uuid']);
    const message = asObject(line['message']);
    const isUser = message['role'] === 'user';
    return asList(message['content']).flatMap((each): readonly Piece[] => {
      const block = asObject(each);
      const words = asText(block['text']);
      switch (block['type']) {
        case 'text':
          return [isUser ? { kind: 'user', text: words } : { kind: 'said', text: words }];
        case 'thinking':
          return [{ kind: 'thought', text: asText(block['thinking']), signature: asText(block['signature']) }];
        case 'tool_use':
          return [{ kind: 'call', id: asText(block['id']) }];
        case 'tool_result':
          return [{ kind: 'result', id: asText(block['tool_use_id']), text: asText(block['content']) }];
        default:
          return [];
      }
    });
  });
}

function codexPieces(item: JsonObject): readonly Piece[] {
  const id = asText(item['call_id']);
  switch (item['type']) {
    case 'message': {
      const text = asList(item['content'])
        .map((part) => asText(asObject(part)['text']))
        .join('');
      return [item['role'] === 'assistant' ? { kind: 'said', text } : { kind: 'user', text }];
    }
    case 'reasoning': {
      const text = asText(asObject(asList(item['summary'])[0])['text']);
      return [{ kind: 'thought', text, signature: asText(item['encrypted_content']) }];
    }
    case 'function_call':
      return [{ kind: 'call', id }];
    case 'function_call_output':
      return [{ kind: 'result', id, text: asText(item['output']) }];
    default:
      return [];
  }
}

function onwardPieces(lines: readonly JsonObject[]): readonly Piece[] {
  const accepted = new Map<string, readonly unknown[]>();
  let blocks: Piece[] = [];
  return lines.flatMap((line): readonly Piece[] => {
    const data = asObject(line['data']);
    switch (line['type']) {
      case 'message.accepted':
        accepted.set(asText(data['id']), asList(data['content']));
        return [];
      case 'input.committed':
        return asList(data['items'])
          .flatMap((item) => accepted.get(asText(asObject(item)['id'])) ?? [])
          .map((part) => ({ kind: 'user', text: asText(asObject(part)['text']) }));
      case 'step.opened':
        blocks = [];
        return [];
      case 'block.closed':
        blocks.push(...ownBlock(asObject(data['part'])));
        return [];
      case 'answer.completed':
        return blocks;
      case 'call.finished': {
        const outcome = asObject(data['outcome']);
        const text = asText(outcome['output']) || asText(outcome['message']);
        return [{ kind: 'result', id: asText(data['id']), text }];
      }
      default:
        return [];
    }
  });
}

function ownBlock(part: JsonObject): readonly Piece[] {
  const text = asText(part['text']);
  if (part['type'] === 'call') return [{ kind: 'call', id: asText(part['id']) }];
  if (part['type'] === 'text') return [{ kind: 'said', text }];
  const signature = asText(asObject(asObject(part['opaque'])['anthropic'])['signature']);
  // Thinking that lost its seal is not sent.
  return signature === '' ? [] : [{ kind: 'thought', text, signature }];
}

interface Message {
  readonly role: string;
  readonly content: JsonObject[];
}

/** The body of a request of the Messages API; a new prompt at the end, as a resume sends. */
export function messagesBody(pieces: readonly Piece[]): JsonObject {
  const messages: Message[] = [];
  for (const piece of [...pieces, { kind: 'user', text: 'Go on.' } as const]) {
    const role = piece.kind === 'user' || piece.kind === 'result' ? 'user' : 'assistant';
    const last = messages.at(-1);
    if (last?.role === role) last.content.push(toBlock(piece));
    else messages.push({ role, content: [toBlock(piece)] });
  }
  return { model: 'lab', max_tokens: 100, messages };
}

function toBlock(piece: Piece): JsonObject {
  switch (piece.kind) {
    case 'user':
    case 'said':
      return { type: 'text', text: piece.text };
    case 'thought':
      return { type: 'thinking', thinking: piece.text, signature: piece.signature };
    case 'call':
      return { type: 'tool_use', id: piece.id, name: 'shell', input: {} };
    case 'result':
      return { type: 'tool_result', tool_use_id: piece.id, content: piece.text };
    default:
      return piece satisfies never;
  }
}

/** The body of a request of the Responses API. */
export function responsesBody(pieces: readonly Piece[]): JsonObject {
  const input = pieces.map((piece): JsonObject => {
    switch (piece.kind) {
      case 'user':
        return { type: 'message', role: 'user', content: [{ type: 'input_text', text: piece.text }] };
      case 'said':
        return { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: piece.text }] };
      case 'thought': {
        const summary = [{ type: 'summary_text', text: piece.text }];
        return { type: 'reasoning', summary, encrypted_content: piece.signature };
      }
      case 'call':
        return { type: 'function_call', call_id: piece.id, name: 'shell', arguments: '{}' };
      case 'result':
        return { type: 'function_call_output', call_id: piece.id, output: piece.text };
      default:
        return piece satisfies never;
    }
  });
  return { model: 'lab', input };
}

/** The body of a request of the Chat Completions API: calls of one answer in one message. */
export function chatBody(pieces: readonly Piece[]): JsonObject {
  const messages: JsonObject[] = [];
  let calls: JsonObject[] | undefined;
  for (const piece of pieces) {
    if (piece.kind === 'thought') continue;
    if (piece.kind === 'call') {
      const call = { id: piece.id, type: 'function', function: { name: 'shell', arguments: '{}' } };
      if (calls === undefined) messages.push({ role: 'assistant', content: null, tool_calls: (calls = [call]) });
      else calls.push(call);
      continue;
    }
    calls = undefined;
    if (piece.kind === 'result') messages.push({ role: 'tool', tool_call_id: piece.id, content: piece.text });
    else messages.push({ role: piece.kind === 'user' ? 'user' : 'assistant', content: piece.text });
  }
  return { model: 'lab', messages: [...messages, { role: 'user', content: 'Go on.' }] };
}
