import type { Message } from '../../plugin.ts';
import { estimateTokens } from './measure.ts';

/**
 * How many messages from the beginning can be replaced: the largest head that cuts no call from its results, leaves at least
 * `keepTokens` at the end, and in any case the newest unit: the last message, or a call with its results. 0 = nothing.
 */
export function headToReplace(messages: readonly Message[], keepTokens: number): number {
  let kept = 0;
  let cut = 0;
  for (let index = messages.length - 1; index > 0; index--) {
    const message = messages[index];
    if (message === undefined) break;
    kept += estimateTokens([message]);
    // Results stay with the calls before them.
    if (message.role === 'tool') continue;
    cut = index;
    if (kept >= keepTokens) break;
    cut = 0;
  }
  return kept >= keepTokens ? cut : 0;
}

/** The middle of a head, where it can be cut in two without cutting a call from its results; 0 when it cannot. */
export function middleOf(head: readonly Message[]): number {
  for (let index = Math.floor(head.length / 2); index > 0; index--) if (head[index]?.role !== 'tool') return index;
  return 0;
}
