import type { Message } from '../../plugin.ts';

/** Messages `from` to `to` (not included), and as many others in their place. */
export interface Change {
  readonly from: number;
  readonly to: number;
  readonly messages: readonly Message[];
}

/** A gap of unchanged messages of at most so many characters is written along instead of beginning another change. */
const smallGap = 4_096;

/**
 * The changes that `change` makes, as few as there can be without writing down much that is unchanged. A message that it returns as
 * it is, is none.
 */
export function changesOf(
  messages: readonly Message[],
  change: (message: Message, index: number) => Message,
): Change[] {
  const changes: Change[] = [];
  for (const [index, message] of messages.entries()) {
    const next = change(message, index);
    if (next === message) continue;
    const last = changes.at(-1);
    const gap = messages.slice(last?.to ?? index, index);
    if (last !== undefined && JSON.stringify(gap).length <= smallGap)
      changes.splice(-1, 1, { from: last.from, to: index + 1, messages: [...last.messages, ...gap, next] });
    else changes.push({ from: index, to: index + 1, messages: [next] });
  }
  return changes;
}

/** The messages with all changes made. */
export function withChanges(messages: readonly Message[], changes: readonly Change[]): readonly Message[] {
  const changed = [...messages];
  for (const { from, to, messages: others } of changes) changed.splice(from, to - from, ...others);
  return changed;
}
