import { randomBytes } from 'node:crypto';

/** What the scripted model says and does in one case: two calls, each after a text, and a last text. */
export interface Script {
  /** What the tool must be called with, in this order, once each. */
  readonly items: readonly [string, string];
  /** The text of each of the three steps; no two share a marker. */
  readonly texts: readonly [string, string, string];
}

/** The name of the one tool. */
export const toolName = 'record';

/** What the tool answers; the model goes on to the next item once it can read this anywhere in its history. */
export function recordedText(item: string): string {
  return `recorded ${item}`;
}

/** A script that no other case has: a text that is right here cannot be a text of elsewhere. */
export function makeScript(): Script {
  const [one, two, three] = [nonce(), nonce(), nonce()];
  return {
    items: [`${nonce()}-e1`, `${nonce()}-e2`],
    texts: [
      `[${one}] I am going to record the first item now, as the task says. `,
      `[${two}] The first one is done, so that the second item is recorded next. `,
      `[${three}] Both items have been recorded and the code of this task is ${nonce()}.`,
    ],
  };
}

function nonce(): string {
  return randomBytes(6).toString('base64url').replaceAll(/[-_]/g, 'x');
}

/** How often the marker of a step is in a text. */
export function markerCount(script: Script, step: number, text: string): number {
  const marker = script.texts[step]?.slice(0, 8) ?? '';
  return text.split(marker).length - 1;
}
