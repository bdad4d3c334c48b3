import type { Message } from '../../plugin.ts';

/** About as many characters make a token in English text and JSON; only ever used where no provider has counted. */
const charsPerToken = 4;
/** What one image counts, tokens: about what providers charge for a large one. */
const mediaTokens = 1_600;

/** An estimate of the tokens of messages. */
export function estimateTokens(messages: readonly Message[]): number {
  let sum = 0;
  for (const message of messages) sum += tokensOf(message);
  return sum;
}

/** Messages are frozen and stay the same objects, so that each is measured once. */
const measured = new WeakMap<Message, number>();

function tokensOf(message: Message): number {
  const known = measured.get(message);
  if (known !== undefined) return known;
  let chars = 0;
  let media = 0;
  for (const part of message.content) {
    switch (part.type) {
      case 'text':
      case 'thinking':
        chars += part.text.length;
        break;
      case 'call':
        chars += part.tool.length + JSON.stringify(part.input).length;
        break;
      case 'result':
        chars += JSON.stringify(part.output).length;
        break;
      case 'media':
        media += mediaTokens;
    }
  }
  const tokens = Math.ceil(chars / charsPerToken) + media + 4;
  measured.set(message, tokens);
  return tokens;
}
