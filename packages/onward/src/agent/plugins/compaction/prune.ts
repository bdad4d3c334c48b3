import type { Message } from '../../plugin.ts';

/** Messages `from` to `to` (not included), replaced by others of the same number. */
export interface Pruned {
  readonly from: number;
  readonly to: number;
  readonly messages: readonly Message[];
}

/** Cuts the middle out of results that are longer than `above` characters of JSON. `undefined` when there is none. */
export function pruneResults(messages: readonly Message[], above: number): Pruned | undefined {
  return changed(messages, (message) => {
    if (message.role !== 'tool') return message;
    if (message.content.every(({ output }) => JSON.stringify(output).length <= above)) return message;
    const content = message.content.map((part) => {
      const text = typeof part.output === 'string' ? part.output : JSON.stringify(part.output);
      return text.length <= above ? part : { ...part, output: cutMiddle(text, above) };
    });
    return { ...message, content };
  });
}

/** Replaces files by a note that says what was there. Only those that `isRefused`. */
export function replaceMedia(
  messages: readonly Message[],
  isRefused: (media: { readonly mediaType: string; readonly data: string }) => boolean,
): Pruned | undefined {
  return changed(messages, (message) => {
    if (message.role !== 'user' || !message.content.some((part) => part.type === 'media' && isRefused(part)))
      return message;
    const content = message.content.map((part) =>
      part.type === 'media' && isRefused(part)
        ? { type: 'text' as const, text: `[A file (${part.mediaType}) stood here; the provider does not take it.]` }
        : part,
    );
    return { ...message, content };
  });
}

/** Bytes that base64 stands for; a URL is no bytes of the request. */
export function bytesOf(data: string): number {
  return /^[a-z]+:/iu.test(data) ? 0 : Math.floor((data.length * 3) / 4);
}

function cutMiddle(text: string, above: number): string {
  const [head, tail] = [Math.floor(above * 0.5), Math.floor(above * 0.2)];
  const left = text.length - head - tail;
  return `${text.slice(0, head)}\n[${left} characters were left out here]\n${text.slice(text.length - tail)}`.toWellFormed();
}

function changed(messages: readonly Message[], change: (message: Message) => Message): Pruned | undefined {
  const next = messages.map(change);
  const from = next.findIndex((message, index) => message !== messages[index]);
  if (from < 0) return undefined;
  const to = next.findLastIndex((message, index) => message !== messages[index]) + 1;
  return { from, to, messages: next.slice(from, to) };
}
