import { assertNever } from '../../../kernel/error.ts';
import type { Message, ModelRequest } from '../../plugin.ts';

/** About as many characters make a token in English text and JSON; only ever used where no provider has counted. */
const charsPerToken = 4;
/** What one image counts, tokens: about what providers charge for a large one. */
const mediaTokens = 1_600;

/** What all requests of a stretch share. */
export type Header = Pick<ModelRequest, 'system' | 'tools' | 'settings'>;

/** A count of a provider's: the tokens of the first `messages` messages, with everything that a request has besides. */
export interface Counted {
  readonly tokens: number;
  readonly messages: number;
}

/** An estimate of the tokens of messages. */
export function estimateTokens(messages: readonly Message[]): number {
  let sum = 0;
  for (const message of messages) sum += tokensOf(message);
  return sum;
}

/** The tokens of the next request: the provider's own count and an estimate of what came after it, else all estimated. */
export function requestTokens(messages: readonly Message[], header: Header, counted: Counted | undefined): number {
  if (counted !== undefined && counted.messages <= messages.length)
    return counted.tokens + estimateTokens(messages.slice(counted.messages));
  return estimateTokens(messages) + headerTokens(header);
}

/** Messages are frozen and stay the same objects, so that each is measured once; likewise headers. */
const measured = new WeakMap<object, number>();

/** An estimate of what a request has besides its messages. */
export function headerTokens(header: Header): number {
  return measure(header, () => header.system.length + JSON.stringify(header.tools).length);
}

function tokensOf(message: Message): number {
  return measure(message, () => message.content.reduce((sum, part) => sum + charsOf(part), charsPerToken));
}

function measure(what: object, count: () => number): number {
  const known = measured.get(what);
  if (known !== undefined) return known;
  const tokens = Math.ceil(count() / charsPerToken);
  measured.set(what, tokens);
  return tokens;
}

function charsOf(part: Message['content'][number]): number {
  switch (part.type) {
    case 'text':
    case 'thinking':
      return part.text.length;
    case 'call':
      return part.tool.length + JSON.stringify(part.input).length;
    case 'result':
      return JSON.stringify(part.output).length;
    case 'media':
      return mediaTokens * charsPerToken;
    default:
      return assertNever(part, 'the part of a message');
  }
}
