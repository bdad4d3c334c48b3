import { asText, isObject, type JsonObject } from './json-shape.ts';
import type { SessionFormat } from './session-reader.ts';

const CODEX = new Set(['session_meta', 'response_item', 'event_msg', 'turn_context', 'compacted']);
const CLAUDE_MEMBERS = ['sessionId', 'parentUuid', 'leafUuid', 'messageId'];

/** Whose file this line is from; `undefined` for a line that none of them writes. */
export function detectFormat(line: JsonObject): SessionFormat | undefined {
  const type = asText(line['type']);
  if (asText(line['stream']).startsWith('session:') && typeof line['position'] === 'number') return 'onward';
  if (CODEX.has(type) && isObject(line['payload'])) return 'codex';
  // The stream on standard output has `session_id` and no links: it is no session.
  return type !== '' && CLAUDE_MEMBERS.some((name) => line[name] !== undefined) ? 'claude' : undefined;
}
