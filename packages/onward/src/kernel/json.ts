/** A value that survives `JSON.parse(JSON.stringify(value))` unchanged. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** How deep values may be nested: deeper ones would overflow the stack of whoever writes or hashes them. */
const deepest = 500;

/**
 * Where in `value` something is that JSON would lose or change (`undefined`, NaN, a function, a date, a cycle, a symbol,
 * a lone surrogate, -0) or that is nested deeper than 500 levels, as a path like `$.usage.tokens`; `undefined` when the
 * value is plain JSON.
 */
export function findNonJson(value: unknown, path = '$', seen: readonly object[] = []): string | undefined {
  if (value === null || typeof value === 'boolean') return undefined;
  if (typeof value === 'string') return value.isWellFormed() ? undefined : path;
  if (typeof value === 'number') return Number.isFinite(value) && !Object.is(value, -0) ? undefined : path;
  return typeof value === 'object' ? findInObject(value, path, seen) : path;
}

function findInObject(value: object, path: string, seen: readonly object[]): string | undefined {
  if (seen.length === deepest || seen.includes(value) || Object.getOwnPropertySymbols(value).length > 0) return path;
  const inside = [...seen, value];
  if (Array.isArray(value)) {
    if (Object.keys(value).length > value.length) return path;
    for (let index = 0; index < value.length; index++) {
      const found = findNonJson(value[index], `${path}[${index}]`, inside);
      if (found !== undefined) return found;
    }
    return undefined;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return path;
  for (const [key, item] of Object.entries(value)) {
    if (!key.isWellFormed()) return path;
    const found = findNonJson(item, `${path}.${key}`, inside);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** JSON with object keys sorted at every level: the same value always gives the same text, so it can be hashed. */
export function canonicalJson(value: Json): string {
  if (Array.isArray(value)) return `[${(value as readonly Json[]).map(canonicalJson).join(',')}]`;
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value as { readonly [key: string]: Json });
    const sorted = entries.toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
    return `{${sorted.map(([key, item]) => `${JSON.stringify(key)}:${canonicalJson(item)}`).join(',')}}`;
  }
  return JSON.stringify(value);
}
