import { type Failure, failureChain } from '../../../kernel/failure.ts';
import type { Message } from '../../plugin.ts';
import { type Change, changesOf } from './change-messages.ts';

type MediaPart = Extract<Extract<Message, { readonly role: 'user' }>['content'][number], { readonly type: 'media' }>;

/** The provider, or the table of its adapter, says that it was an image or another file. Only typed facts are read, never words. */
export function namesMedia(failure: Failure): boolean {
  return failureChain(failure).some(({ type, category, code, text }) =>
    [type, category, code, text?.rule].some((fact) => fact !== undefined && isOfMedia(fact)),
  );
}

/** E.g. `image_too_large` or `invalid_base64_image`; a rule against what an image shows is no matter of its size. */
function isOfMedia(fact: string): boolean {
  return /(^|[^a-z])(image|attachment|pdf)s?([^a-z]|$)/iu.test(fact) && !/policy|filter/iu.test(fact);
}

/** Puts a note that says what was there in the place of each file that `goes`. */
export function replaceMedia(messages: readonly Message[], goes: (media: MediaPart) => boolean): readonly Change[] {
  return changesOf(messages, (message) => {
    if (message.role !== 'user') return message;
    const content = message.content.map((part) => (part.type === 'media' && goes(part) ? noteOf(part) : part));
    return content.every((part, nth) => part === message.content[nth]) ? message : { ...message, content };
  });
}

/** Bytes of a file that the request itself carries: those that its base64 stands for, none for a URL. */
export function bytesOf({ data }: MediaPart): number {
  return isLink(data) ? 0 : Math.floor((data.length * 3) / 4);
}

/** A link (`https:`, `file:`) is no data; a `data:` URL is. */
function isLink(data: string): boolean {
  return /^(?!data:)[a-z][a-z0-9+.-]*:/iu.test(data);
}

function noteOf(part: MediaPart): { readonly type: 'text'; readonly text: string } {
  const size = isLink(part.data) ? '' : `, ${bytesOf(part)} bytes`;
  return {
    type: 'text',
    text: `[A file (${part.mediaType}${size}) stood here. The provider does not take it, so it was removed.]`,
  };
}
