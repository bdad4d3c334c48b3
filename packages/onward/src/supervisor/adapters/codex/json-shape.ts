import type { Json } from '../../../kernel/json.ts';

/** A JSON object whose members nobody has checked yet. */
export type JsonObject = { readonly [key: string]: unknown };

const maxDepth = 24;

/** The object in `text`; `undefined` when it is not JSON, or JSON of another shape. Never throws. */
export function parseObject(text: string): JsonObject | undefined {
  try {
    return asObject(JSON.parse(text));
  } catch {
    return undefined;
  }
}

/** `value` as an object, not an array. */
export function asObject(value: unknown): JsonObject | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined;
}

/** `value` as a string that can be stored (no lone surrogates). */
export function asString(value: unknown): string | undefined {
  return typeof value === 'string' ? value.toWellFormed() : undefined;
}

/** `value` as a finite number. */
export function asNumber(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value + 0 : undefined;
}

/**
 * A parsed value as one that survives being stored: `JSON.parse` itself lets through -0, Infinity (from `1e999`) and lone
 * surrogates. What is nested too deeply to walk safely is cut.
 */
export function toJson(value: unknown, depth = 0): Json {
  if (typeof value === 'string') return value.toWellFormed();
  if (typeof value === 'boolean') return value;
  if (typeof value === 'number') return asNumber(value) ?? String(value);
  return typeof value === 'object' && value !== null ? nestedJson(value, depth) : null;
}

function nestedJson(value: object, depth: number): Json {
  if (depth >= maxDepth) return '[nested too deeply]';
  if (Array.isArray(value)) return value.map((item) => toJson(item, depth + 1));
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key.toWellFormed(), toJson(item, depth + 1)]));
}

/** At most `limit` characters of `text`, never half a character at the end; says how much was left out. */
export function shorten(text: string, limit: number): string {
  if (text.length <= limit) return text;
  return `${text.slice(0, limit).toWellFormed()}... [${text.length - limit} more characters]`;
}
