import type { Message } from '../../plugin.ts';
import { estimateTokens } from './measure.ts';

/** True where a history can be cut before `index` without parting a call from its results. */
export function isSeam(messages: readonly Message[], index: number): boolean {
  return messages[index]?.role !== 'tool' && !hasCalls(messages[index - 1]);
}

/**
 * Where the newest unit begins, which is never replaced: the last message, with the calls that it answers, and also with
 * results before it that no model has seen yet. 0 for a history that is one unit.
 */
export function newestUnit(messages: readonly Message[]): number {
  let index = Math.max(0, messages.length - 1);
  const answered = messages.findLastIndex(({ role }) => role !== 'user');
  if (messages[answered]?.role === 'tool') index = answered;
  while (index > 0 && !isSeam(messages, index)) index -= 1;
  return index;
}

/**
 * How many messages from the beginning can be replaced: the largest head that parts no call from its results, and leaves of the end
 * as much as fits into `keepTokens`, in any case the newest unit. 0 = nothing.
 */
export function headToReplace(messages: readonly Message[], keepTokens: number): number {
  let head = newestUnit(messages);
  let kept = estimateTokens(messages.slice(head));
  for (let index = head - 1; index > 0; index--) {
    kept += estimateTokens(messages.slice(index, index + 1));
    if (kept > keepTokens) break;
    if (isSeam(messages, index)) head = index;
  }
  return head;
}

/** The seam nearest to the middle of `from` to `to`, strictly between them; `undefined` when that is one unit. */
export function middleSeam(messages: readonly Message[], from: number, to: number): number | undefined {
  const middle = Math.floor((from + to) / 2);
  for (let distance = 0; distance < to - from; distance++)
    for (const index of [middle - distance, middle + distance])
      if (index > from && index < to && isSeam(messages, index)) return index;
  return undefined;
}

function hasCalls(message: Message | undefined): boolean {
  return message?.role === 'assistant' && message.content.some(({ type }) => type === 'call');
}
