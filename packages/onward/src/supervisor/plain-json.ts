import type { Json } from '../kernel/json.ts';

/** How deep a value may be nested; the journal itself refuses 500 levels, and an event is some around it. */
const deepest = 100;

/**
 * The same value as a journal takes it: text without broken characters, no numbers that JSON loses, no fields without a
 * value, and nothing nested without end. A value that is plain already is given back as it is.
 */
export function plainJson(value: Json | undefined): Json {
  return plain(value, 0);
}

function plain(value: Json | undefined, depth: number): Json {
  if (value === undefined || value === null) return null;
  if (typeof value === 'string') return value.isWellFormed() ? value : value.toWellFormed();
  if (typeof value === 'number') return Object.is(value, -0) ? 0 : Number.isFinite(value) ? value : null;
  if (typeof value !== 'object') return value;
  if (depth === deepest) return '[nested too deeply]';
  if (Array.isArray(value)) return plainList(value as readonly Json[], depth);
  return plainRecord(value as { readonly [key: string]: Json | undefined }, depth);
}

function plainList(list: readonly Json[], depth: number): Json {
  const items = list.map((item) => plain(item, depth + 1));
  return items.every((item, index) => Object.is(item, list[index])) ? list : items;
}

function plainRecord(record: { readonly [key: string]: Json | undefined }, depth: number): Json {
  let isSame = true;
  const entries = Object.entries(record).flatMap(([key, item]) => {
    if (item === undefined) {
      isSame = false;
      return [];
    }
    const made = plain(item, depth + 1);
    isSame &&= Object.is(made, item) && key.isWellFormed();
    return [[key.toWellFormed(), made] as const];
  });
  return isSame ? (record as { readonly [key: string]: Json }) : Object.fromEntries(entries);
}
