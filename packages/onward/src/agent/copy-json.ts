import { findNonJson, type Json } from '../kernel/json.ts';

/**
 * A private copy of a value that is plain JSON; `undefined` for anything else. Whoever handed it in may change it afterwards, or
 * answer differently when it is looked at again: what is kept is what was seen once.
 */
export function copyJson(value: unknown): Json | undefined {
  try {
    if (value === undefined || findNonJson(value) !== undefined) return undefined;
    if (typeof value !== 'object' || value === null) return value as Json;
    const copy = JSON.parse(JSON.stringify(value)) as Json;
    return findNonJson(copy) === undefined ? copy : undefined;
  } catch {
    // An object that does not even let itself be looked at.
    return undefined;
  }
}
