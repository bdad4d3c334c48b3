/** Anything JSON can say. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;

/** A JSON object whose members are not known yet. */
export interface JsonObject {
  readonly [key: string]: Json | undefined;
}

/** The value as an object, or an empty one: requests of foreign programs are read without trusting their shape. */
export function asObject(value: Json | undefined): JsonObject {
  return isObject(value) ? value : {};
}

/** The value as a list, or an empty one. */
export function asList(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? (value as readonly Json[]) : [];
}

/** The value as a string, or an empty one. */
export function asText(value: Json | undefined): string {
  return typeof value === 'string' ? value : '';
}

/** Whether the value is an object (and neither a list nor null). */
export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Parses a JSON object; `undefined` for anything else. */
export function parseObject(text: string): JsonObject | undefined {
  try {
    const value = JSON.parse(text) as Json;
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
