import type { Entry } from './entry.ts';

/** The messages that a resume sends, in order, and where the file lost one of them. */
export interface Chain {
  readonly entries: readonly Entry[];
  /** Place of an entry in the chain as it is linked. */
  readonly rank: ReadonlyMap<Entry, number>;
  /** Entries whose predecessor is not in the file, with the one that stands before them. */
  readonly broken: readonly { readonly entry: Entry; readonly before: Entry }[];
}

/**
 * Claude Code links each line to the one before (`parentUuid`) and, on a resume, walks from the newest end back to the start:
 * branches that were rewound away, subagents and what a compaction replaced are not sent. Parallel calls branch too:
 * pieces of one message and their results belong to it wherever they are linked. Without links the order of the file counts.
 */
export function findChain(all: readonly Entry[]): Chain {
  const main = all.filter(({ sidechain }) => !sidechain);
  const entries = unique(main.some(({ role }) => role !== undefined) ? main : all);
  const linked = entries.some(({ parent }) => typeof parent === 'string');
  const end = linked && !entries.some(({ boundary }) => boundary === 'partly') ? newestEnd(entries) : undefined;
  const { path, broken } = end === undefined ? { path: entries, broken: [] } : walkBack(entries, end);
  const linkedIn = end === undefined ? path : withParallels(path, entries);
  const lost = end === undefined ? [] : lostResults(linkedIn, entries);
  const whole = withLost(linkedIn, lost);
  return {
    entries: joinMessages(whole),
    rank: new Map(whole.map((entry, index) => [entry, index])),
    broken: [...broken, ...lost],
  };
}

/** A line that was written twice is one. */
function unique(entries: readonly Entry[]): readonly Entry[] {
  const seen = new Set<string>();
  return entries.filter(({ uuid }) => !seen.has(uuid) && seen.add(uuid));
}

function newestEnd(entries: readonly Entry[]): Entry | undefined {
  const byUuid = new Map(entries.map((entry) => [entry.uuid, entry]));
  const parents = new Set(entries.map(({ parent }) => parent));
  let newest: Entry | undefined;
  for (const entry of entries) {
    if (parents.has(entry.uuid)) continue;
    const message = nearestMessage(entry, byUuid);
    if (message !== undefined && (newest === undefined || message.at >= newest.at)) newest = message;
  }
  return newest;
}

function nearestMessage(from: Entry, byUuid: ReadonlyMap<string, Entry>): Entry | undefined {
  const seen = new Set<Entry>();
  let at: Entry | undefined = from;
  while (at !== undefined && at.role === undefined && !seen.has(at)) {
    seen.add(at);
    at = byUuid.get(at.parent ?? '');
  }
  return at?.role === undefined ? undefined : at;
}

function walkBack(entries: readonly Entry[], end: Entry): Pick<Chain, 'broken'> & { readonly path: readonly Entry[] } {
  const byUuid = new Map(entries.map((entry) => [entry.uuid, entry]));
  const index = new Map(entries.map((entry, at) => [entry, at]));
  const seen = new Set<Entry>();
  const path: Entry[] = [];
  const broken: { entry: Entry; before: Entry }[] = [];
  for (let at: Entry | undefined = end; at !== undefined && !seen.has(at);) {
    seen.add(at);
    path.push(at);
    if (at.boundary === 'whole' || at.parent === null) break;
    const parent: Entry | undefined = byUuid.get(at.parent ?? '');
    const before: Entry | undefined = entries[(index.get(at) ?? 0) - 1];
    if (parent === undefined && at.parent !== undefined && before !== undefined && !seen.has(before))
      broken.push({ entry: at, before });
    at = parent ?? before;
  }
  return { path: path.toReversed(), broken };
}

function withParallels(path: readonly Entry[], entries: readonly Entry[]): readonly Entry[] {
  const on = new Set(path);
  const pieces = new Map<string, Entry[]>();
  const results = new Map<string, Entry[]>();
  for (const entry of entries) {
    if (on.has(entry)) continue;
    if (entry.message !== '') push(pieces, entry.message, entry);
    if (isResultLine(entry)) push(results, entry.parent ?? '', entry);
  }
  const mine = new Map<string, Entry[]>();
  for (const entry of path) if (entry.message !== '') push(mine, entry.message, entry);
  const whole = path.flatMap((entry) => {
    const own = mine.get(entry.message) ?? [];
    if (own.at(-1) !== entry) return [entry];
    const others = pieces.get(entry.message) ?? [];
    return [entry, ...others, ...[...own, ...others].flatMap(({ uuid }) => results.get(uuid) ?? [])];
  });
  return resultsByLine(whole);
}

/** Results that hang on a line which is gone: each belongs where it stands. */
function lostResults(chain: readonly Entry[], entries: readonly Entry[]): Chain['broken'] {
  const known = new Set(entries.map(({ uuid }) => uuid));
  const on = new Set(chain);
  const byLine = chain.toSorted((a, b) => a.line - b.line);
  return entries.flatMap((entry) => {
    if (on.has(entry) || typeof entry.parent !== 'string' || known.has(entry.parent) || !isResultLine(entry)) return [];
    const before = byLine.findLast(({ line }) => line < entry.line);
    return before === undefined ? [] : [{ entry, before }];
  });
}

function withLost(chain: readonly Entry[], lost: Chain['broken']): readonly Entry[] {
  if (lost.length === 0) return chain;
  const after = Map.groupBy(lost, ({ before }) => before);
  return chain.flatMap((entry) => [entry, ...(after.get(entry) ?? []).map((one) => one.entry)]);
}

/** Results beside each other in the order in which they were written: some are linked in a row, some are not. */
function resultsByLine(entries: readonly Entry[]): readonly Entry[] {
  const sorted: Entry[] = [];
  for (const entry of entries) {
    let at = sorted.length;
    while (isResultLine(entry) && isLaterResult(sorted[at - 1], entry)) at -= 1;
    sorted.splice(at, 0, entry);
  }
  return sorted;
}

function isLaterResult(entry: Entry | undefined, than: Entry): boolean {
  return entry !== undefined && isResultLine(entry) && entry.line > than.line;
}

function push(map: Map<string, Entry[]>, key: string, entry: Entry): void {
  const list = map.get(key);
  if (list === undefined) map.set(key, [entry]);
  else list.push(entry);
}

/** A line that holds results and nothing else. */
export function isResultLine({ parts }: Entry): boolean {
  return parts.length > 0 && parts.every((part) => part.kind === 'result' || (part.kind === 'media' && part.within));
}

/** Results are written while their message still streams: its later pieces belong in front of them. */
function joinMessages(entries: readonly Entry[]): readonly Entry[] {
  const joined: Entry[] = [];
  for (const entry of entries) {
    if (entry.role === undefined) continue;
    let at = joined.length;
    while (at > 0 && isResultLine(joined[at - 1] ?? entry)) at -= 1;
    if (entry.message !== '' && joined[at - 1]?.message === entry.message) joined.splice(at, 0, entry);
    else joined.push(entry);
  }
  return joined;
}
