import { assertNever } from '../kernel/error.ts';
import type { Finding } from './finding.ts';
import type { History, MediaPart, Part, ThinkingPart } from './message-form.ts';
import { checkCalls } from './pair-calls.ts';
import type { ProviderRules } from './provider-rules.ts';

/** Everything in a history that the provider would refuse, by line. Pure. */
export function checkHistory(history: History, rules: ProviderRules): readonly Finding[] {
  return [
    ...checkCalls(history, rules),
    ...history.flatMap((part) => checkPart(part, rules)),
    ...checkImages(history, rules),
    ...checkOpening(history, rules),
  ].toSorted((a, b) => a.line - b.line);
}

function checkPart(part: Part, rules: ProviderRules): readonly Finding[] {
  if (part.made === true) return [];
  const base = { line: part.place.line, repair: { do: 'drop', part } } as const;
  switch (part.kind) {
    case 'nothing':
      return [{ ...base, kind: 'empty-message', says: `This message of the ${part.role} has no content.` }];
    case 'text':
      if (!part.blank || !rules.textRequired) return [];
      return [{ ...base, kind: 'empty-text', says: `This text of the ${part.role} is empty.` }];
    case 'thinking':
      return checkThinking(part, rules);
    case 'media':
      return checkSize(part, rules);
    case 'call':
    case 'result':
    case 'other':
      return [];
    default:
      return assertNever(part, 'checkPart');
  }
}

function checkThinking(part: ThinkingPart, rules: ProviderRules): readonly Finding[] {
  const base = { line: part.place.line, repair: { do: 'drop', part } } as const;
  if (!part.sealed) {
    if (!rules.sealRequired) return [];
    return [{ ...base, kind: 'unsigned-thinking', says: 'This thinking has lost its signature.' }];
  }
  if (part.blank && rules.thoughtRequired !== undefined && part.origin.startsWith(rules.thoughtRequired))
    return [{ ...base, kind: 'empty-thinking', says: 'This thinking has its signature, but its text is gone.' }];
  if (rules.origin === undefined || part.origin === '' || part.origin === rules.origin) return [];
  const says = `Only ${part.origin} can read this thinking; the session goes on with ${rules.origin}.`;
  return [{ ...base, kind: 'foreign-thinking', says }];
}

function checkSize(part: MediaPart, rules: ProviderRules): readonly Finding[] {
  const most = part.image ? rules.imageSize : rules.fileSize;
  if (part.size <= most) return [];
  const says = `This ${part.image ? 'image' : 'file'} of ${inMegabytes(part.size)} is over the ${inMegabytes(most)} that are taken.`;
  return [{ kind: 'oversized-media', line: part.place.line, says, repair: { do: 'note', part } }];
}

/** Characters as megabytes, for people. */
export function inMegabytes(size: number): string {
  return `${(size / 1024 / 1024).toFixed(1).replace(/\.0$/, '')} MB`;
}

/** The oldest are too many: the newest are what the conversation is about. Those that are too large go anyway. */
function checkImages(history: History, rules: ProviderRules): readonly Finding[] {
  const images = history.filter(
    (part): part is MediaPart => part.kind === 'media' && part.image && part.size <= rules.imageSize,
  );
  return images.slice(0, Math.max(0, images.length - rules.images)).map((part, index) => {
    const says = `With this image there are ${images.length - index}; ${rules.images} are taken.`;
    return { kind: 'too-many-images', line: part.place.line, says, repair: { do: 'note', part } };
  });
}

function checkOpening(history: History, rules: ProviderRules): readonly Finding[] {
  const [first] = history;
  if (!rules.userFirst || first === undefined || first.role === 'user' || first.made === true) return [];
  const says = 'The conversation begins with the assistant: what the user said before is gone.';
  return [{ kind: 'assistant-first', line: first.place.line, says, repair: { do: 'open', before: first } }];
}
