import { classify } from '../../../kernel/classify.ts';
import { type Failure, failureChain } from '../../../kernel/failure.ts';
import type { Aside, Message } from '../../plugin.ts';
import { withChanges } from './change-messages.ts';
import { replaceMedia } from './images.ts';
import { pruneResults } from './prune.ts';
import { middleSeam } from './select.ts';
import { summaryMessage } from './summary-text.ts';

/** The most requests that one summary may cost, repeats after a passing failure not counted. */
const mostRequests = 8;
/** Where all of it is too much, results of tools are cut to so many characters. */
const shortResult = 400;

/** How a summary was got. `messages`: how many of the head it stands for. */
export type Summary =
  | { readonly ok: true; readonly text: string; readonly messages: number }
  | { readonly ok: false; readonly failure: Failure };

/** Asks the model for a summary of messages. */
export type Ask = (messages: readonly Message[]) => Promise<Aside>;

/**
 * Asks for a summary of a head. Where that request does not fit itself: with results cut short and without files; then piece by
 * piece, each with the summary of those before it, in pieces that get smaller until they fit. What was summarised when it goes no
 * further is returned, and stands for that much of the head.
 */
export async function summarise(head: readonly Message[], ask: Ask): Promise<Summary> {
  const whole = await ask(head);
  if (whole.ok) return { ok: true, text: whole.text, messages: head.length };
  if (!isTooMuch(whole.failure)) return whole;
  const short = shortened(head);
  const progress = { done: 0, text: '', failure: whole.failure };
  let to = short === head ? (middleSeam(head, 0, head.length) ?? 0) : head.length;
  for (let asked = 1; asked < mostRequests && progress.done < to; asked++) {
    const before = progress.done === 0 ? [] : [summaryMessage(progress.text)];
    // oxlint-disable-next-line no-await-in-loop -- each piece needs the summary of those before it
    const answer = await ask([...before, ...short.slice(progress.done, to)]);
    if (answer.ok) {
      const size = to - progress.done;
      Object.assign(progress, { done: to, text: answer.text });
      to = seamAtOrAfter(short, to + size);
      continue;
    }
    progress.failure = answer.failure;
    const half = isTooMuch(answer.failure) ? middleSeam(short, progress.done, to) : undefined;
    if (half === undefined) break;
    to = half;
  }
  const { done, text, failure } = progress;
  return done === 0 ? { ok: false, failure } : { ok: true, text, messages: done };
}

/** Fewer or smaller messages may help. */
export function isTooMuch(failure: Failure): boolean {
  const kind = classify(failure).class;
  // Of what is wrong with a request, its size may be behind a bare refusal; not behind a limit or a model that there is not.
  return kind === 'overflow' || (kind === 'input' && failureChain(failure).some(({ status }) => isOfSize(status)));
}

function shortened(head: readonly Message[]): readonly Message[] {
  const pruning = { above: shortResult, left: shortResult, before: head.length };
  const pruned = pruneResults(head, pruning);
  const media = replaceMedia(head, () => true);
  if (pruned.length + media.length === 0) return head;
  const plain = withChanges(head, media);
  return withChanges(plain, pruneResults(plain, pruning));
}

/** Where a piece that would end at `index` can end; at most the end of the messages. */
function seamAtOrAfter(messages: readonly Message[], index: number): number {
  let seam = Math.min(index, messages.length);
  while (seam < messages.length && messages[seam]?.role === 'tool') seam += 1;
  return seam;
}

function isOfSize(status: number | undefined): boolean {
  return status === 400 || status === 413 || status === 422;
}
