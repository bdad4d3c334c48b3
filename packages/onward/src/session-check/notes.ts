import { inMegabytes } from './check-history.ts';
import type { MediaPart } from './message-form.ts';

/* What a repair says in the conversation, to the model. */

/** The result of a call whose own was lost. */
export const INTERRUPTED =
  '[interrupted] The session broke off before this call had a result. Whether it took effect is not known: look before repeating it.';

/** What stands in front of an assistant that begins the conversation. */
export const BEGINNING_LOST = '[The beginning of this conversation was lost.]';

/** What stands where something had to be left out. */
export const LEFT_OUT = '[Something was left out here: it could not be sent any more.]';

/** What stands in place of a file that is too large. */
export function mediaNote(part: MediaPart): string {
  return `[${part.image ? 'An image' : 'A file'} of ${inMegabytes(part.size)} stood here and was left out.]`;
}
