import { types } from 'node:util';

/** Prototypes looked through; a longer chain is no error that anybody throws by accident. */
const deepest = 8;

/**
 * The value of a data property of `value`, its own or inherited, without ever running code of it: an accessor counts as
 * absent, and a proxy (each question to it would run a trap) has no properties at all. `Object.prototype` is left out.
 */
export function dataOf(value: unknown, key: string | symbol): unknown {
  let object: object | null = objectOf(value);
  for (let depth = 0; object !== null && object !== Object.prototype && depth < deepest; depth++) {
    if (types.isProxy(object)) return undefined;
    const property = Object.getOwnPropertyDescriptor(object, key);
    if (property !== undefined) return 'value' in property ? property.value : undefined;
    object = Object.getPrototypeOf(object) as object | null;
  }
  return undefined;
}

/** The same, if it is a text with something in it. */
export function textOf(value: unknown, key: string): string | undefined {
  const found = dataOf(value, key);
  return typeof found === 'string' && found.trim() !== '' ? found : undefined;
}

/** The same, if it is a finite number. */
export function numberOf(value: unknown, key: string): number | undefined {
  const found = dataOf(value, key);
  return typeof found === 'number' && Number.isFinite(found) ? found : undefined;
}

/** The names of its own properties; none of a proxy. */
export function keysOf(value: unknown): readonly string[] {
  const object = objectOf(value);
  return object === null || types.isProxy(object) ? [] : Object.getOwnPropertyNames(object);
}

function objectOf(value: unknown): object | null {
  return typeof value === 'object' || typeof value === 'function' ? value : null;
}

const fields = {
  name: Object.getOwnPropertyDescriptor(DOMException.prototype, 'name'),
  message: Object.getOwnPropertyDescriptor(DOMException.prototype, 'message'),
};

/** Name or message of a `DOMException`, which keeps them behind getters of the platform. They check what they are called on. */
export function domExceptionField(value: unknown, field: 'name' | 'message'): string | undefined {
  return trusted(() => fields[field]?.get?.call(value));
}

/** What a `Headers` object says of a header. The platform's own `get` checks what it is called on. */
export function headerOf(headers: unknown, name: string): string | undefined {
  const direct = textOf(headers, name);
  if (direct !== undefined) return direct;
  const key = keysOf(headers).find((each) => each.toLowerCase() === name);
  if (key !== undefined) return textOf(headers, key);
  if (objectOf(headers) === null || types.isProxy(headers)) return undefined;
  return trusted(() => Headers.prototype.get.call(headers as Headers, name));
}

function trusted(read: () => unknown): string | undefined {
  try {
    const value = read();
    return typeof value === 'string' && value !== '' ? value : undefined;
  } catch {
    return undefined;
  }
}
