import type { Journal } from '../kernel/journal.ts';
import { findNonJson, type Json } from '../kernel/json.ts';
import type { Receipt } from './effect-events.ts';

/** Receipts over this many characters of JSON become blobs. */
const INLINE_LIMIT = 32_768;

/**
 * A receipt in the form in which it is kept. What JSON cannot say is noted and not refused: the service has accepted, and
 * nothing is gained by not knowing that. `undefined` (a call that returns nothing) counts as null.
 */
export async function keepReceipt(journal: Journal, stream: string, value: unknown): Promise<Receipt> {
  const place = placeOfNonJson(value);
  if (place !== undefined) return { unreadable: true, place };
  const json = (value ?? null) as Json;
  const text = JSON.stringify(json);
  if (text.length <= INLINE_LIMIT) return { json };
  return { blob: await journal.putBlob(stream, new TextEncoder().encode(text)) };
}

/** The receipt that was kept; null for an unreadable one. */
export async function readReceipt(journal: Journal, receipt: Receipt): Promise<Json> {
  if ('json' in receipt) return receipt.json;
  if ('blob' in receipt) return JSON.parse(new TextDecoder().decode(await journal.getBlob(receipt.blob))) as Json;
  return null;
}

function placeOfNonJson(value: unknown): string | undefined {
  if (value === undefined) return undefined;
  try {
    return findNonJson(value);
  } catch {
    // An object that does not even let itself be looked at.
    return '$';
  }
}
