import type { Json, JsonObject } from '../json.ts';
import { asList, asObject, asText } from '../json.ts';
import { signatureOf } from '../signature.ts';

interface Message {
  readonly index: number;
  readonly role: string;
  readonly blocks: readonly JsonObject[];
}

/**
 * The words with which the Messages API refuses a history, or `undefined`. Neighbours of the same role are one message to it, so
 * they are joined before calls and results are paired.
 */
export function anthropicRefusal(body: JsonObject): string | undefined {
  if (typeof body['max_tokens'] !== 'number') return 'max_tokens: Field required';
  const messages = asList(body['messages']).map(toMessage);
  const [first] = messages;
  if (first === undefined) return 'messages: at least one message is required';
  if (first.role !== 'user') return 'messages: first message must use the "user" role';
  return (
    emptiness(messages) ?? changedThinking(messages) ?? pairing(joined(messages)) ?? trailingSpace(messages.at(-1))
  );
}

function toMessage(value: Json, index: number): Message {
  const entry = asObject(value);
  const content = entry['content'];
  const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : asList(content).map(asObject);
  return { index, role: asText(entry['role']), blocks };
}

function emptiness(messages: readonly Message[]): string | undefined {
  for (const message of messages) {
    const optional = message.index === messages.length - 1 && message.role === 'assistant';
    if (message.blocks.length === 0 && !optional) {
      return `messages.${message.index}: all messages must have non-empty content except for the optional final assistant message`;
    }
    if (message.blocks.some((block) => block['type'] === 'text' && asText(block['text']) === '')) {
      return 'messages: text content blocks must be non-empty';
    }
  }
  return undefined;
}

/** Thinking must come back as it was, with the signature it had. */
function changedThinking(messages: readonly Message[]): string | undefined {
  for (const message of messages) {
    const position = message.blocks.findIndex(
      (block) => block['type'] === 'thinking' && asText(block['signature']) !== signatureOf(asText(block['thinking'])),
    );
    if (position >= 0)
      return `messages.${message.index}.content.${position}: Invalid \`signature\` in \`thinking\` block`;
  }
  return undefined;
}

function joined(messages: readonly Message[]): readonly Message[] {
  const made: Message[] = [];
  for (const message of messages) {
    const last = made.at(-1);
    if (last?.role === message.role) made[made.length - 1] = { ...last, blocks: [...last.blocks, ...message.blocks] };
    else made.push(message);
  }
  return made;
}

function pairing(messages: readonly Message[]): string | undefined {
  const seen = new Set<string>();
  for (const [at, message] of messages.entries()) {
    const before = messages[at - 1];
    const problem =
      duplicateCall(message, seen) ?? unpairedResult(message, before) ?? unpairedCall(message, messages[at + 1]);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function duplicateCall(message: Message, seen: Set<string>): string | undefined {
  for (const [position, block] of message.blocks.entries()) {
    if (block['type'] !== 'tool_use') continue;
    const id = asText(block['id']);
    if (seen.has(id)) return `messages.${message.index}.content.${position}: \`tool_use\` ids must be unique`;
    seen.add(id);
  }
  return undefined;
}

function unpairedResult(message: Message, before: Message | undefined): string | undefined {
  const calls = before?.role === 'assistant' ? idsOf(before, 'tool_use', 'id') : [];
  const results = new Set<string>();
  for (const [position, block] of message.blocks.entries()) {
    if (block['type'] !== 'tool_result') continue;
    const id = asText(block['tool_use_id']);
    const place = `messages.${message.index}.content.${position}`;
    if (!calls.includes(id)) {
      return `${place}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${id}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`;
    }
    if (results.has(id)) {
      return `${place}: each tool_use must have a single result. Found multiple \`tool_result\` blocks with id: ${id}`;
    }
    results.add(id);
  }
  return undefined;
}

/** The results must open the next message: text in front of them counts as no result. */
function unpairedCall(message: Message, after: Message | undefined): string | undefined {
  if (message.role !== 'assistant') return undefined;
  const results = after === undefined ? [] : leadingResults(after);
  const missing = idsOf(message, 'tool_use', 'id').filter((id) => !results.includes(id));
  if (missing.length === 0) return undefined;
  return `messages.${message.index}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${missing.join(', ')}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`;
}

function leadingResults(message: Message): readonly string[] {
  const end = message.blocks.findIndex((block) => block['type'] !== 'tool_result');
  const leading = end < 0 ? message.blocks : message.blocks.slice(0, end);
  return leading.map((block) => asText(block['tool_use_id']));
}

function idsOf(message: Message, type: string, key: string): readonly string[] {
  return message.blocks.filter((block) => block['type'] === type).map((block) => asText(block[key]));
}

function trailingSpace(last: Message | undefined): string | undefined {
  if (last?.role !== 'assistant') return undefined;
  const text = asText(last.blocks.at(-1)?.['text']);
  return text === text.trimEnd() ? undefined : 'messages: final assistant content cannot end with trailing whitespace';
}
