import type { HistoryItem } from '../history.ts';
import type { Json, JsonObject } from '../json.ts';
import { asList, asObject, asText } from '../json.ts';
import { signatureOf } from '../signature.ts';
import type { ToolSpec } from '../tools.ts';
import type { ReadRequest } from '../wire-format.ts';

/** What a Responses request shows the model and offers it. */
export function readResponses(body: JsonObject): ReadRequest {
  const input = body['input'];
  const instructions = asText(body['instructions']);
  const said = typeof input === 'string' ? [{ kind: 'user', text: input } as const] : asList(input).flatMap(toItem);
  return {
    model: asText(body['model']),
    streaming: body['stream'] === true,
    history: instructions === '' ? said : [{ kind: 'system', text: instructions }, ...said],
    tools: [...asList(body['tools']), ...asList(input).flatMap(laterTools)].flatMap((tool) => toTools(tool)),
  };
}

/** Codex hands newer models their tools as an item of the input. */
function laterTools(value: Json): readonly Json[] {
  const item = asObject(value);
  return item['type'] === 'additional_tools' ? asList(item['tools']) : [];
}

function toTools(value: Json, namespace?: string): readonly ToolSpec[] {
  const tool = asObject(value);
  const name = asText(tool['name']) || asText(tool['type']);
  if (tool['type'] === 'namespace') return asList(tool['tools']).flatMap((inner) => toTools(inner, name));
  const spec = { name, schema: asObject(tool['parameters']), takesText: tool['type'] === 'custom' };
  return [namespace === undefined ? spec : { ...spec, namespace }];
}

function toItem(value: Json): HistoryItem[] {
  const item = asObject(value);
  const id = asText(item['call_id']);
  switch (asText(item['type'])) {
    case 'function_call':
      return [{ kind: 'call', id, name: asText(item['name']), input: asText(item['arguments']) }];
    case 'custom_tool_call':
      return [{ kind: 'call', id, name: asText(item['name']), input: asText(item['input']) }];
    case 'function_call_output':
    case 'custom_tool_call_output':
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

/**
 * The words with which the Responses API refuses a history, or `undefined`: calls and outputs must pair. Only a tool that takes
 * text may have several outputs, since its script can add some while it runs.
 */
export function responsesRefusal(body: JsonObject): string | undefined {
  const items = asList(body['input']).map(asObject);
  const calls = new Set(items.filter((item) => isCall(item)).map((item) => asText(item['call_id'])));
  const answered = new Set<string>();
  if (items.some((item) => isChangedReasoning(item)))
    return 'The encrypted content for a reasoning item could not be verified.';
  for (const item of items) {
    if (!asText(item['type']).endsWith('_call_output')) continue;
    const id = asText(item['call_id']);
    if (!calls.has(id)) return `No tool call found for function call output with call_id ${id}.`;
    if (answered.has(id) && item['type'] === 'function_call_output')
      return `Duplicate tool output found for function call ${id}.`;
    answered.add(id);
  }
  const missing = [...calls].find((id) => !answered.has(id));
  return missing === undefined ? undefined : `No tool output found for function call ${missing}.`;
}

/** Only what the lab itself encrypted is looked at; a summary may be shortened, what is encrypted may not be changed. */
function isChangedReasoning(item: JsonObject): boolean {
  if (item['type'] !== 'reasoning') return false;
  const sealed = asText(item['encrypted_content']);
  const summary = asList(item['summary']).map((part) => asText(asObject(part)['text']));
  return sealed.startsWith('lab.') && sealed !== signatureOf(summary.join('\n\n'));
}

function isCall(item: JsonObject): boolean {
  return item['type'] === 'function_call' || item['type'] === 'custom_tool_call';
}
