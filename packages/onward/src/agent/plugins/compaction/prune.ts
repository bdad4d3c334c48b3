import type { Message } from '../../plugin.ts';
import { type Change, changesOf } from './change-messages.ts';

/** Which results of tools are cut: those of the first `before` messages with more than `above` characters, to about `left`. */
export interface Pruning {
  readonly above: number;
  readonly left: number;
  readonly before: number;
}

/** Cuts the middle out of long results of tools. What would not become smaller stays as it is. */
export function pruneResults(messages: readonly Message[], { above, left, before }: Pruning): readonly Change[] {
  return changesOf(messages, (message, index) => {
    if (message.role !== 'tool' || index >= before) return message;
    const content = message.content.map((part) => pruned(part, above, Math.min(left, above)));
    return content.every((part, nth) => part === message.content[nth]) ? message : { ...message, content };
  });
}

type ResultPart = Extract<Message, { readonly role: 'tool' }>['content'][number];

function pruned(part: ResultPart, above: number, left: number): ResultPart {
  const json = JSON.stringify(part.output);
  if (json.length <= above) return part;
  const output = cutMiddle(typeof part.output === 'string' ? part.output : json, left);
  // Quotes in it are escaped once more, so that a cut text can be longer than what it was cut from.
  return JSON.stringify(output).length < json.length ? { ...part, output } : part;
}

/** The beginning and the end of a text, and how much stood between; at most about `left` characters of it. */
export function cutMiddle(text: string, left: number): string {
  if (text.length <= left) return text;
  const [head, tail] = [Math.floor(left * 0.5), Math.floor(left * 0.2)];
  const cut = text.length - head - tail;
  const end = tail === 0 ? '' : text.slice(-tail);
  return `${text.slice(0, head)}\n[${cut} characters were left out here to save space]\n${end}`.toWellFormed();
}
