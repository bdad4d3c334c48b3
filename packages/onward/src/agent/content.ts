import { OnwardError } from '../kernel/error.ts';
import { findNonJson } from '../kernel/json.ts';
import { deepFreeze } from './deep-freeze.ts';
import type { UserContent } from './session-events.ts';

/** Takes a private, frozen copy of what was passed. Throws `agent/bad-content` with the place for anything else. */
export function takeContent(content: string | UserContent): UserContent {
  if (typeof content === 'string') return takeContent([{ type: 'text', text: content }]);
  const place = findNonJson(content);
  if (place !== undefined) throw bad(place, 'is not plain JSON');
  if (!Array.isArray(content) || content.length === 0) throw bad('$', 'must be a text, or a list of parts');
  for (const [index, part] of content.entries()) {
    const at = `$[${index}]`;
    if (part?.type === 'text') {
      if (typeof part.text !== 'string') throw bad(`${at}.text`, 'must be a text');
    } else if (part?.type === 'media') {
      if (typeof part.mediaType !== 'string' || typeof part.data !== 'string')
        throw bad(at, 'needs mediaType and data');
    } else throw bad(`${at}.type`, "must be 'text' or 'media'");
  }
  // Providers refuse a text without a word, and it would stay in the history: each later request would fail as well.
  const said = content.filter((part) => part.type !== 'text' || part.text.trim() !== '');
  if (said.length === 0) throw bad('$', 'has no word in it');
  return deepFreeze(JSON.parse(JSON.stringify(said)) as UserContent);
}

function bad(place: string, what: string): OnwardError {
  return new OnwardError('agent/bad-content', `The message cannot be sent: ${place} ${what}.`, { place });
}
