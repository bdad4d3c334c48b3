import { createHash } from 'node:crypto';

/**
 * What a provider attaches to its thinking, so that it knows it again: here a hash of the text. Real ones are opaque too, and
 * are refused when they or the thinking were changed.
 */
export function signatureOf(thinking: string): string {
  return `lab.${createHash('sha256').update(thinking).digest('base64')}`;
}
