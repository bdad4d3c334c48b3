/**
 * A map from ids to values as plain JSON, whose changed copy shares all but a few small objects with the original: a pure
 * fold that adds an entry per event stays linear, where copying one large object each time would be quadratic. A tree of
 * small objects, split by a hash of the id. Its shape depends only on the ids in it, not on the order in which they came.
 */
export type IdMap<Value> =
  | { readonly few: Readonly<Record<string, Value>> }
  | { readonly many: readonly IdMap<Value>[] };

const fanOut = 16;
const largestLeaf = 8;
/** 32 bits of hash, 4 for each level; what still collides then shares a leaf. */
const deepest = 8;

/** A map without entries. */
export function emptyIdMap<Value>(): IdMap<Value> {
  return { few: {} };
}

/** The value of an id; `undefined` when there is none. */
export function getById<Value>(map: IdMap<Value>, id: string): Value | undefined {
  const hash = hashOf(id);
  let node = map;
  for (let level = 0; 'many' in node; level++) {
    const next: IdMap<Value> | undefined = node.many[slot(hash, level)];
    if (next === undefined) return undefined;
    node = next;
  }
  return Object.hasOwn(node.few, id) ? node.few[id] : undefined;
}

/** A copy in which the id has that value. */
export function withId<Value>(map: IdMap<Value>, id: string, value: Value): IdMap<Value> {
  return put(map, { id, hash: hashOf(id), value }, 0);
}

interface Entry<Value> {
  readonly id: string;
  readonly hash: number;
  readonly value: Value;
}

function put<Value>(node: IdMap<Value>, entry: Entry<Value>, level: number): IdMap<Value> {
  if ('many' in node) {
    const at = slot(entry.hash, level);
    return { many: node.many.with(at, put(node.many[at] ?? emptyIdMap(), entry, level + 1)) };
  }
  const few = { ...node.few, [entry.id]: entry.value };
  return Object.keys(few).length <= largestLeaf || level === deepest ? { few } : split(few, level);
}

function split<Value>(few: Readonly<Record<string, Value>>, level: number): IdMap<Value> {
  let map: IdMap<Value> = { many: Array.from({ length: fanOut }, emptyIdMap<Value>) };
  for (const [id, value] of Object.entries(few)) map = put(map, { id, hash: hashOf(id), value }, level);
  return map;
}

function slot(hash: number, level: number): number {
  return (hash >>> (4 * level)) % fanOut;
}

/** FNV-1a over UTF-16 units, then mixed, since its low bits alone spread short ids badly. Not for secrets. */
function hashOf(id: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < id.length; index++) hash = Math.imul(hash ^ id.charCodeAt(index), 0x01000193);
  hash ^= hash >>> 15;
  hash = Math.imul(hash, 0x2c1b3c6d);
  return (hash ^ (hash >>> 13)) >>> 0;
}
