import { asList, asObject, asText, dataUrlSize, isObject, type JsonObject, shortJson } from '../json-shape.ts';
import type { JsonPath, Part } from '../message-form.ts';
import { responsesRules } from '../provider-rules.ts';
import type { SessionReader } from '../session-reader.ts';
import { planRollout } from './rewrite.ts';

/** Reads a rollout of Codex (`sessions/YYYY/MM/DD/rollout-*-<id>.jsonl`). */
export function createCodexReader(): SessionReader {
  let parts: Part[] = [];
  let id: string | undefined;
  // Encrypted reasoning can be read by the provider that made it.
  let provider = '';
  return {
    format: 'codex',
    take(line, value) {
      const payload = asObject(value['payload']);
      const base = { line, path: ['payload'], provider };
      switch (asText(value['type'])) {
        case 'session_meta':
          id ??= asText(payload['id']) || undefined;
          provider = asText(payload['model_provider']) || provider;
          return;
        case 'response_item':
          parts.push(...toParts(payload, base));
          return;
        case 'compacted':
          // What came before is not sent any more.
          parts = compactedParts(payload, base);
          return;
        case 'event_msg':
          if (payload['type'] === 'thread_rolled_back') parts = rollBack(parts, payload['num_turns']);
      }
    },
    finish: () => ({
      id,
      history: parts,
      rules: { ...responsesRules, origin: provider === '' ? undefined : provider },
      findings: [],
      plan: planRollout,
    }),
  };
}

interface Around {
  readonly line: number;
  readonly path: JsonPath;
  readonly provider: string;
}

function compactedParts(payload: JsonObject, { line, path, provider }: Around): Part[] {
  const summary: Part = { kind: 'text', role: 'user', blank: false, place: { line, path: [...path, 'message'] } };
  if (!Array.isArray(payload['replacement_history'])) return [summary];
  return asList(payload['replacement_history']).flatMap((item, index) =>
    toParts(asObject(item), { line, path: [...path, 'replacement_history', index], provider }),
  );
}

/** Takes the last turns away; a turn begins with what the user says. */
function rollBack(parts: readonly Part[], turns: unknown): Part[] {
  let kept = [...parts];
  for (let turn = 0; turn < Number(turns) && kept.length > 0; turn++) {
    const begin = kept.findLastIndex(({ kind, role }) => kind === 'text' && role === 'user');
    kept = kept.slice(0, Math.max(begin, 0));
  }
  return kept;
}

function toParts(item: JsonObject, { line, path, provider }: Around): readonly Part[] {
  const place = { line, path };
  const id = asText(item['call_id']);
  const call = { kind: 'call', role: 'assistant', id, place } as const;
  const tool = asText(item['name']);
  switch (asText(item['type'])) {
    case 'message':
      return messageParts(item, { line, path, provider });
    case 'reasoning': {
      const sealed = asText(item['encrypted_content']) !== '';
      return [{ kind: 'thinking', role: 'assistant', place, blank: false, sealed, origin: provider }];
    }
    case 'function_call':
      return [withAsked({ ...call, tool }, item['arguments'])];
    case 'custom_tool_call':
      // Its script may have printed several outputs while it ran.
      return [withAsked({ ...call, tool, results: 'many' }, item['input'])];
    case 'local_shell_call':
      return [withAsked({ ...call, tool: 'local_shell' }, item['action'])];
    case 'function_call_output':
    case 'custom_tool_call_output':
    case 'local_shell_call_output':
      return [{ kind: 'result', role: 'user', id, place }, ...mediaParts(item['output'], place.path, line)];
    default:
      return [{ kind: 'other', role: 'assistant', place }];
  }
}

function withAsked<Call extends object>(call: Call, value: unknown): Call {
  const asked = shortJson(value);
  return asked === undefined ? call : { ...call, asked };
}

function messageParts(item: JsonObject, { line, path }: Around): readonly Part[] {
  const role = item['role'] === 'assistant' ? 'assistant' : 'user';
  const content = asList(item['content']);
  if (content.length === 0 && typeof item['content'] !== 'string')
    return [{ kind: 'nothing', role, place: { line, path } }];
  if (content.length === 0) return [{ kind: 'text', role, blank: false, place: { line, path } }];
  return content.map((each, index): Part => {
    const block = asObject(each);
    const place = { line, path: [...path, 'content', index] };
    if (block['type'] !== 'input_image') return { kind: 'text', role, blank: asText(block['text']) === '', place };
    return { kind: 'media', role, place, image: true, size: dataUrlSize(block['image_url']), within: false };
  });
}

function mediaParts(output: unknown, path: JsonPath, line: number): readonly Part[] {
  const list = isObject(output) ? output['content_items'] : output;
  const inner = isObject(output) ? [...path, 'output', 'content_items'] : [...path, 'output'];
  return asList(list).flatMap((each, index): readonly Part[] => {
    const block = asObject(each);
    if (block['type'] !== 'input_image') return [];
    const place = { line, path: [...inner, index] };
    return [{ kind: 'media', role: 'user', place, image: true, size: dataUrlSize(block['image_url']), within: true }];
  });
}
