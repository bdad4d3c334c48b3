/** A value that survives `JSON.parse(JSON.stringify(value))` unchanged. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** How deep values may be nested: deeper ones would overflow the stack of whoever writes or hashes them. */
const deepest = 500;

/**
 * Where in `value` something is that JSON would lose or change (`undefined`, NaN, a function, a date, a cycle, a symbol,
 * a lone surrogate, -0) or that is nested deeper than 500 levels, as a path like `$.usage.tokens`; `undefined` when the
 * value is plain JSON.
 */
export function findNonJson(value: unknown): string | undefined {
  const place = find(value, []);
  return place === undefined ? undefined : `$${place}`;
}

/** The path is put together on the way back only, since nearly always there is nothing to find. */
function find(value: unknown, around: object[]): string | undefined {
  if (value === null || typeof value === 'boolean') return undefined;
  if (typeof value === 'string') return value.isWellFormed() ? undefined : '';
  if (typeof value === 'number') return Number.isFinite(value) && !Object.is(value, -0) ? undefined : '';
  if (typeof value !== 'object' || around.length === deepest || around.includes(value)) return '';
  if (Object.getOwnPropertySymbols(value).length > 0) return '';
  around.push(value);
  const found = Array.isArray(value) ? findInList(value, around) : findInRecord(value, around);
  around.pop();
  return found;
}

function findInList(list: readonly unknown[], around: object[]): string | undefined {
  if (Object.keys(list).length > list.length) return '';
  for (let index = 0; index < list.length; index++) {
    const found = find(list[index], around);
    if (found !== undefined) return `[${index}]${found}`;
  }
  return undefined;
}

function findInRecord(record: object, around: object[]): string | undefined {
  const prototype: unknown = Object.getPrototypeOf(record);
  if (prototype !== Object.prototype && prototype !== null) return '';
  for (const [key, item] of Object.entries(record)) {
    if (!key.isWellFormed()) return '';
    const found = find(item, around);
    if (found !== undefined) return `.${key}${found}`;
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
