/** A JSON object whose members nobody has checked yet. */
export type JsonObject = { readonly [key: string]: unknown };

/** `value` as an object, not an array; an empty one when it is something else. */
export function asObject(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

/** True for an object that is no array. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** `value` as a list; an empty one when it is something else. */
export function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as readonly unknown[]) : [];
}

/** `value` as a string; '' when it is something else. */
export function asText(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** The text of a short value, to compare calls by; absent where it is long, or nested too deeply to be written. */
export function shortJson(value: unknown): string | undefined {
  try {
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    return text === undefined || text.length > 10_000 ? undefined : text;
  } catch {
    return undefined;
  }
}

/** Base64 of a `data:` URL; of another address nothing, since nothing is sent. */
export function dataUrlSize(url: unknown): number {
  const text = asText(url);
  return text.startsWith('data:') ? text.length - text.indexOf(',') - 1 : 0;
}
