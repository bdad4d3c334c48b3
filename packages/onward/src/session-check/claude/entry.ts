import { asList, asObject, asText, isObject, type JsonObject, shortJson } from '../json-shape.ts';
import type { JsonPath, Part } from '../message-form.ts';

/** One line of a transcript that takes part in the chain of messages. */
export interface Entry {
  readonly line: number;
  readonly uuid: string;
  /** `null`: it begins a chain. `undefined`: the line does not say. */
  readonly parent: string | null | undefined;
  readonly sidechain: boolean;
  readonly at: string;
  /** It is shown to the model, with these parts; none for what only stands between. */
  readonly parts: readonly Part[];
  readonly role: 'user' | 'assistant' | undefined;
  /** How many blocks its content has; 0 where it is no list. */
  readonly blocks: number;
  /** Of the assistant's message that this line is a piece of. */
  readonly message: string;
  readonly model: string;
  /** Everything before it was replaced by a summary. */
  readonly boundary: 'no' | 'whole' | 'partly';
}

/** A line as an entry; `undefined` for notes that are no part of the chain, such as titles. */
export function toEntry(line: number, value: JsonObject): Entry | undefined {
  const type = asText(value['type']);
  const message = asObject(value['message']);
  const isMessage = (type === 'user' || type === 'assistant') && isObject(value['message']);
  const uuid = asText(value['uuid']);
  if (!isMessage && uuid === '') return undefined;
  // What the CLI says about a failed request in the assistant's name is never sent.
  const isShown = isMessage && value['isApiErrorMessage'] !== true;
  const role = type === 'assistant' ? 'assistant' : 'user';
  const model = asText(message['model']);
  const id = type === 'assistant' ? asText(message['id']) : '';
  const parts = isShown ? toParts(line, role, message['content'], model) : [];
  const parent = value['parentUuid'];
  return {
    line,
    uuid: uuid === '' ? `line ${line}` : uuid,
    parent: typeof parent === 'string' || parent === null ? parent : undefined,
    sidechain: value['isSidechain'] === true,
    at: asText(value['timestamp']),
    role: isShown ? role : undefined,
    parts: id === '' ? parts : parts.map((part) => ({ ...part, message: id })),
    blocks: asList(message['content']).length,
    message: id,
    model,
    boundary: value['subtype'] === 'compact_boundary' ? boundaryOf(value) : 'no',
  };
}

function boundaryOf(value: JsonObject): 'whole' | 'partly' {
  return asObject(value['compactMetadata'])['preservedSegment'] === undefined ? 'whole' : 'partly';
}

function toParts(line: number, role: 'user' | 'assistant', content: unknown, model: string): readonly Part[] {
  const path = ['message', 'content'];
  if (typeof content === 'string') return [{ kind: 'text', role, place: { line, path }, blank: content.trim() === '' }];
  const blocks = asList(content);
  if (blocks.length === 0) return [{ kind: 'nothing', role, place: { line, path: [] } }];
  return blocks.flatMap((block, index) => toBlock(asObject(block), { line, role, model, path: [...path, index] }));
}

interface Around {
  readonly line: number;
  readonly role: 'user' | 'assistant';
  readonly model: string;
  readonly path: JsonPath;
}

function toBlock(block: JsonObject, { line, role, model, path }: Around): readonly Part[] {
  const base = { role, place: { line, path } };
  switch (asText(block['type'])) {
    case 'text':
      return [{ ...base, kind: 'text', blank: asText(block['text']).trim() === '' }];
    case 'thinking': {
      const sealed = asText(block['signature']) !== '';
      return [{ ...base, kind: 'thinking', blank: asText(block['thinking']) === '', sealed, origin: model }];
    }
    case 'redacted_thinking':
      return [{ ...base, kind: 'thinking', blank: false, sealed: asText(block['data']) !== '', origin: model }];
    case 'tool_use': {
      const asked = shortJson(block['input']);
      const call = { ...base, kind: 'call', id: asText(block['id']), tool: asText(block['name']) } as const;
      return [asked === undefined ? call : { ...call, asked }];
    }
    case 'tool_result':
      return [{ ...base, kind: 'result', id: asText(block['tool_use_id']) }, ...insideResult(block, base)];
    case 'image':
    case 'document':
      return [{ ...base, kind: 'media', ...mediaOf(block), within: false }];
    default:
      return [{ ...base, kind: 'other' }];
  }
}

function insideResult(block: JsonObject, { role, place }: Pick<Part, 'role' | 'place'>): readonly Part[] {
  return asList(block['content']).flatMap((inner, index): readonly Part[] => {
    const one = asObject(inner);
    if (one['type'] !== 'image' && one['type'] !== 'document') return [];
    const path = [...place.path, 'content', index];
    return [{ kind: 'media', role, place: { line: place.line, path }, ...mediaOf(one), within: true }];
  });
}

function mediaOf(block: JsonObject): { readonly image: boolean; readonly size: number } {
  return { image: block['type'] === 'image', size: asText(asObject(block['source'])['data']).length };
}
