import type { Json } from '../kernel/json.ts';

/** As deep as plain JSON may be in the kernel (`findNonJson`). */
const deepest = 500;

/** Stands for a value that is none. */
const none: unique symbol = Symbol('none');

/**
 * A private copy of a value that is plain JSON in the sense of `findNonJson`; `undefined` for anything else. Each part of it is
 * looked at once: whoever handed it in may change it afterwards, or answer differently when asked again.
 */
export function copyJson(value: unknown): Json | undefined {
  try {
    const copied = copy(value, []);
    return copied === none ? undefined : copied;
  } catch {
    // An object that does not even let itself be looked at.
    return undefined;
  }
}

function copy(value: unknown, around: object[]): Json | typeof none {
  if (value === null || typeof value === 'boolean') return value;
  if (typeof value === 'string') return value.isWellFormed() ? value : none;
  if (typeof value === 'number') return Number.isFinite(value) && !Object.is(value, -0) ? value : none;
  if (typeof value !== 'object' || around.length === deepest || around.includes(value)) return none;
  if (Object.getOwnPropertySymbols(value).length > 0) return none;
  around.push(value);
  const copied = Array.isArray(value) ? copyList(value, around) : copyRecord(value, around);
  around.pop();
  return copied;
}

function copyList(list: readonly unknown[], around: object[]): Json | typeof none {
  const { length } = list;
  if (Object.keys(list).length > length) return none;
  const copied: Json[] = [];
  for (let index = 0; index < length; index++) {
    const item = copy(list[index], around);
    if (item === none) return none;
    copied.push(item);
  }
  return copied;
}

function copyRecord(record: object, around: object[]): Json | typeof none {
  const prototype: unknown = Object.getPrototypeOf(record);
  if (prototype !== Object.prototype && prototype !== null) return none;
  const entries: [string, Json][] = [];
  for (const [key, inner] of Object.entries(record)) {
    const item = key.isWellFormed() ? copy(inner, around) : none;
    if (item === none) return none;
    entries.push([key, item]);
  }
  // Defines fields, so that one called `__proto__` is a field too.
  return Object.fromEntries(entries);
}
