import { findNonJson, type Json } from '../../../kernel/json.ts';

/** An object of the stream, of which nothing is known yet. */
export type Shape = Readonly<Record<string, unknown>>;

/** `value` as an object, `undefined` for anything else (arrays too). */
export function asShape(value: unknown): Shape | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Shape) : undefined;
}

/** The field as an object; `undefined` when it is missing or of another kind. */
export function shapeAt(shape: Shape | undefined, field: string): Shape | undefined {
  return asShape(shape?.[field]);
}

/** The field as a text; `undefined` when it is missing or of another kind. */
export function textAt(shape: Shape | undefined, field: string): string | undefined {
  const value = shape?.[field];
  return typeof value === 'string' ? value : undefined;
}

/** The field as a finite number; `undefined` when it is missing or of another kind. */
export function numberAt(shape: Shape | undefined, field: string): number | undefined {
  const value = shape?.[field];
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

/** The objects of a list field; empty when the field is missing or no list. */
export function shapesAt(shape: Shape | undefined, field: string): readonly Shape[] {
  const value = shape?.[field];
  return Array.isArray(value) ? value.map(asShape).filter((item) => item !== undefined) : [];
}

/** The texts of a list field; empty when the field is missing or no list. */
export function textsAt(shape: Shape | undefined, field: string): readonly string[] {
  const value = shape?.[field];
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}

/** A field of a parsed line as a value that can be recorded; `null` when it is missing. */
export function jsonAt(shape: Shape | undefined, field: string): Json {
  return (shape?.[field] ?? null) as Json;
}

/**
 * Parses one line. What JSON can spell but a record cannot hold (lone surrogates, numbers beyond the range) is
 * replaced, so that every observation made from the result is plain JSON. `undefined` when the line is no JSON.
 */
export function parseLine(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    if (findNonJson(value) === undefined) return value;
    return JSON.parse(JSON.stringify(value, replaceUnholdable).toWellFormed());
  } catch {
    // No JSON, or nested so deeply that nothing could record it.
    return undefined;
  }
}

function replaceUnholdable(_key: string, value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed();
  return Object.is(value, -0) ? 0 : value;
}

/** At most `limit` characters, with an ellipsis where something was left out. */
export function shorten(text: string, limit: number): string {
  return text.length <= limit ? text : `${text.slice(0, limit - 1).toWellFormed()}…`;
}
