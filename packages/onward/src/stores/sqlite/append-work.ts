import type { Appended } from '../../kernel/journal.ts';
import type { PreparedAppend, PreparedEvent } from '../batch.ts';
import type { Write } from '../commit.ts';
import { refusalOf } from '../rules.ts';
import type { Work } from './commit-queue.ts';
import { EMPTY_HEAD, type StreamRow } from './stream-table.ts';
import type { Tables } from './tables.ts';

/** Adds a checked batch: looks at all its streams first, so that a refusal has written nothing. */
export function appendWork(tables: Tables, batch: readonly PreparedAppend[], now: () => number): Work<Appended> {
  return () => {
    const places = batch.map((append) => ({ append, row: tables.streams.get(append.stream) }));
    for (const { append, row } of places) {
      const refusal = refusalOf(row ?? EMPTY_HEAD, append);
      if (refusal !== undefined) return { value: { ok: false, refusal }, writes: [] };
    }
    const at = now();
    const added = places.map(({ append, row }) => addTo(tables, append, row, at));
    const positions = Object.fromEntries(added.map(({ stream, last }) => [stream, last]));
    const duplicates = added.flatMap((part) => part.duplicates);
    return { value: { ok: true, positions, duplicates }, writes: added.flatMap((part) => part.writes) };
  };
}

interface Added {
  readonly stream: string;
  readonly last: number;
  readonly duplicates: readonly string[];
  readonly writes: readonly Write[];
}

function addTo(tables: Tables, append: PreparedAppend, row: StreamRow | undefined, at: number): Added {
  const { stream, epoch } = append;
  const { fresh, duplicates } = withoutDuplicates(tables, row, append.events);
  const before = row ?? EMPTY_HEAD;
  const due = append.due === undefined ? before.due : append.due;
  if (fresh.length === 0 && due === before.due) return { stream, last: before.last, duplicates, writes: [] };
  const rows = tables.events.chained({ name: stream, head: before, at, epoch }, fresh);
  const end = rows.at(-1) ?? { position: before.last, checksum: before.head };
  const id = tables.streams.put(stream, { ...before, last: end.position, head: end.checksum, due }, row?.id);
  tables.events.insert(id, rows);
  const types = fresh.map((event) => event.type);
  return { stream, last: end.position, duplicates, writes: [{ kind: 'append', stream, types }] };
}

function withoutDuplicates(
  tables: Tables,
  row: StreamRow | undefined,
  events: readonly PreparedEvent[],
): { readonly fresh: readonly PreparedEvent[]; readonly duplicates: readonly string[] } {
  const seen = new Set<string>();
  const duplicates: string[] = [];
  const fresh = events.filter(({ id }) => {
    if (id === null) return true;
    if (seen.has(id) || (row !== undefined && tables.events.holds(row.id, id))) {
      duplicates.push(id);
      return false;
    }
    seen.add(id);
    return true;
  });
  return { fresh, duplicates };
}
