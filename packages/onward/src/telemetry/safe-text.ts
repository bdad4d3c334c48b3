import { createRedactor, type Redactor } from '../kernel/redact.ts';

const redactor: Redactor = createRedactor({});

/** A longer one is no name. */
const longestWord = 128;

/**
 * A name as it may stand in a trace: one word without spaces that does not look like a secret; `undefined` for anything else.
 * Names of tools and ids of calls are written by a model, and types of errors by a server: they can be any text.
 */
export function safeWord(text: unknown): string | undefined {
  if (typeof text !== 'string' || text.length > longestWord || !/^[\w.:/@+-]+$/.test(text)) return undefined;
  return redactor.text(text) === text ? text : undefined;
}

/** A text of whoever made the agent, with what looks like a secret taken out. */
export function safeLabel(text: string): string {
  return redactor.text(text.slice(0, 200));
}
