import { assertNever } from '../../kernel/error.ts';
import type { Ids } from '../../kernel/ports.ts';
import type { Finding, Repair } from '../finding.ts';
import { findSpan } from '../json-edit.ts';
import { asObject } from '../json-shape.ts';
import { LineEdits } from '../line-edits.ts';
import type { Part, ResultPart } from '../message-form.ts';
import { BEGINNING_LOST, INTERRUPTED, mediaNote } from '../notes.ts';
import type { PlannedRepair } from '../plan-repair.ts';
import type { LineChange, LineChanges, RewritePlan } from '../session-reader.ts';
import type { Chain } from './chain.ts';
import type { Entry } from './entry.ts';

/** What a change of a transcript is made from. */
interface TranscriptRepair {
  readonly all: readonly Entry[];
  readonly chain: Chain;
  readonly repairs: readonly PlannedRepair[];
  /** Findings about links. */
  readonly links: readonly Finding[];
}

/** A line that is added, or an existing one that moves. */
interface Addition {
  readonly uuid: string;
  readonly parent: string | null;
  /** The line whose surroundings (session, folder, version) it takes over. */
  readonly like: Entry;
  /** When: a resume begins at the newest line, so that none may be older than what it comes after. */
  readonly at: string;
  readonly content:
    | { readonly kind: 'interrupted'; readonly call: string }
    | { readonly kind: 'note' }
    /** The result is a block of another line. */
    | { readonly kind: 'block'; readonly result: ResultPart }
    /** The result is a line. */
    | { readonly kind: 'line'; readonly entry: Entry };
}

interface Draft {
  readonly edits: LineEdits;
  readonly gone: Set<Entry>;
  readonly before: Map<Entry, Addition[]>;
  readonly after: Map<Entry, Addition[]>;
  /** Of each line of a batch that something is added to: the line that it is added after. */
  readonly batches: Map<string, Entry>;
}

/** Plans the lines of a repaired transcript. Lines that follow on an added or lost one get its link, and nothing else of them changes. */
export function planTranscript(given: TranscriptRepair, ids: Ids): RewritePlan {
  const byLine = new Map(given.all.map((entry) => [entry.line, entry]));
  const draft: Draft = {
    edits: new LineEdits(),
    gone: new Set(),
    before: new Map(),
    after: new Map(),
    batches: new Map(),
  };
  for (const { repair, batch } of given.repairs) draftOne(draft, { repair, batch, byLine, chain: given.chain, ids });
  for (const [line, entry] of byLine) {
    const removed = draft.edits.removedFrom(line, ['message', 'content']);
    if (removed > 0 && removed === entry.blocks) draft.gone.add(entry);
  }
  // A line that was written twice goes twice.
  const gone = new Set([...draft.gone].map(({ uuid }) => uuid));
  for (const entry of given.all) if (gone.has(entry.uuid)) draft.gone.add(entry);
  const parents = relink(given, draft);
  for (const [entry, parent] of parents)
    draft.edits.replace({ line: entry.line, path: ['parentUuid'] }, JSON.stringify(parent));
  const added = [...draft.before, ...draft.after];
  const sources = added.flatMap(([entry, additions]) => [
    entry.line,
    ...additions.flatMap(({ like, content }) => [
      like.line,
      ...(content.kind === 'line' ? [content.entry.line] : content.kind === 'block' ? [content.result.place.line] : []),
    ]),
  ]);
  return {
    needs: new Set([...draft.edits.lines, ...sources]),
    write: (texts) => writeLines(draft, texts),
  };
}

interface Step extends PlannedRepair {
  readonly byLine: ReadonlyMap<number, Entry>;
  readonly chain: Chain;
  readonly ids: Ids;
}

function draftOne(draft: Draft, step: Step): void {
  const { repair, byLine } = step;
  switch (repair.do) {
    case 'drop': {
      const entry = byLine.get(repair.part.place.line);
      const isWhole = typeof repair.part.place.path.at(-1) !== 'number';
      if (!isWhole) draft.edits.remove(repair.part.place);
      else if (entry !== undefined) draft.gone.add(entry);
      return;
    }
    case 'note':
      return draft.edits.replace(repair.part.place, JSON.stringify({ type: 'text', text: mediaNote(repair.part) }));
    case 'rekey':
      draft.edits.replace(repair.call.place, JSON.stringify(repair.id), ['id']);
      if (repair.result !== undefined)
        draft.edits.replace(repair.result.place, JSON.stringify(repair.id), ['tool_use_id']);
      return;
    case 'answer':
    case 'move':
      return draftResult(draft, step, repair);
    case 'open': {
      const entry = byLine.get(repair.before.place.line);
      if (entry === undefined) return;
      const note = {
        uuid: step.ids.uuid(),
        parent: entry.parent ?? null,
        like: entry,
        at: entry.at,
        content: { kind: 'note' },
      } as const;
      draft.before.set(entry, [note]);
      return;
    }
    // The lines themselves are not the transcript's affair.
    case 'drop-line':
    case 'mend-line':
    case 'link':
    case 'cut':
  }
}

function draftResult(draft: Draft, step: Step, repair: Extract<Repair, { readonly do: 'answer' | 'move' }>): void {
  const { byLine, chain, batch } = step;
  const like = byLine.get(repair.call.place.line);
  const anchor = lastOf(batch, draft, step);
  if (like === undefined || anchor === undefined) return;
  const list = draft.after.get(anchor) ?? [];
  draft.after.set(anchor, list);
  for (const part of batch) draft.batches.set(byLine.get(part.place.line)?.uuid ?? '', anchor);
  const parent = list.at(-1)?.uuid ?? anchor.uuid;
  const at = batch.reduce((newest, { place }) => later(newest, byLine.get(place.line)?.at ?? ''), like.at);
  if (repair.do === 'answer') {
    list.push({ uuid: step.ids.uuid(), parent, like, at, content: { kind: 'interrupted', call: repair.call.id } });
    return;
  }
  const entry = byLine.get(repair.result.place.line);
  if (entry?.blocks === 1 && chain.rank.has(entry)) {
    draft.gone.add(entry);
    list.push({ uuid: entry.uuid, parent, like: entry, at: entry.at, content: { kind: 'line', entry } });
  } else {
    draft.edits.remove(repair.result.place);
    list.push({ uuid: step.ids.uuid(), parent, like, at, content: { kind: 'block', result: repair.result } });
  }
}

/** Times as the CLI writes them sort as text. */
function later(one: string, other: string): string {
  return other > one ? other : one;
}

/** The line of the batch that comes last in the chain; lines that moved are among the additions. */
function lastOf(batch: readonly Part[], draft: Draft, { byLine, chain }: Step): Entry | undefined {
  let last: Entry | undefined;
  for (const part of batch) {
    const entry = byLine.get(part.place.line);
    if (part.made === true || entry === undefined || draft.gone.has(entry)) continue;
    if (last === undefined || (chain.rank.get(entry) ?? 0) > (chain.rank.get(last) ?? 0)) last = entry;
  }
  return last;
}

/** New links: past what is gone, and over what was added. */
function relink({ all, chain, links }: TranscriptRepair, draft: Draft): ReadonlyMap<Entry, string | null> {
  const byUuid = new Map(all.map((entry) => [entry.uuid, entry]));
  const mended = new Map(links.flatMap(({ repair }) => (repair.do === 'link' ? [[repair.line, repair.to]] : [])));
  const parentOf = (entry: Entry): string | null | undefined => mended.get(entry.line) ?? entry.parent;
  /** The nearest line that stays, from `uuid` on. */
  const staying = (uuid: string): string | null => {
    const seen = new Set<string>();
    let at: string | null = uuid;
    for (let entry = byUuid.get(at); entry !== undefined && draft.gone.has(entry) && !seen.has(entry.uuid);) {
      seen.add(entry.uuid);
      at = parentOf(entry) ?? null;
      entry = at === null ? undefined : byUuid.get(at);
    }
    return at;
  };
  for (const [anchor, [first, ...rest]] of draft.after)
    if (first !== undefined) draft.after.set(anchor, [{ ...first, parent: staying(anchor.uuid) }, ...rest]);
  for (const [entry, notes] of draft.before) {
    const parent = parentOf(entry) ?? null;
    draft.before.set(
      entry,
      notes.map((note) => ({ ...note, parent: parent === null ? null : staying(parent) })),
    );
  }
  const changed = new Map<Entry, string | null>();
  for (const entry of all) {
    if (entry.parent === undefined || draft.gone.has(entry)) continue;
    const opening = draft.before.get(entry)?.at(-1)?.uuid;
    const parent = parentOf(entry) ?? null;
    const wanted = opening ?? (parent === null ? null : overAdded(entry, staying(parent), { chain, draft }));
    if (wanted !== entry.parent) changed.set(entry, wanted);
  }
  return changed;
}

/** What follows on a batch follows on what was added to it. */
function overAdded(
  entry: Entry,
  parent: string | null,
  { chain, draft }: { readonly chain: Chain; readonly draft: Draft },
): string | null {
  const anchor = draft.batches.get(parent ?? '');
  const rank = chain.rank.get(entry);
  if (anchor === undefined || rank === undefined || rank <= (chain.rank.get(anchor) ?? 0)) return parent;
  return draft.after.get(anchor)?.at(-1)?.uuid ?? parent;
}

function writeLines(draft: Draft, texts: ReadonlyMap<number, string>): LineChanges {
  const changes = new Map<number, LineChange>();
  const write = (addition: Addition): string => writeAddition(addition, draft, texts);
  const touched = [...draft.gone, ...draft.before.keys(), ...draft.after.keys()].map(({ line }) => line);
  const entries = new Map([...draft.before.keys(), ...draft.after.keys(), ...draft.gone].map((one) => [one.line, one]));
  for (const line of new Set([...draft.edits.lines, ...touched])) {
    const entry = entries.get(line);
    const isGone = entry !== undefined && draft.gone.has(entry);
    const own = isGone ? undefined : draft.edits.apply(line, texts.get(line) ?? '');
    const before = entry === undefined ? [] : (draft.before.get(entry) ?? []).map(write);
    const after = entry === undefined ? [] : (draft.after.get(entry) ?? []).map(write);
    changes.set(line, { before, own, after });
  }
  return changes;
}

function writeAddition(addition: Addition, draft: Draft, texts: ReadonlyMap<number, string>): string {
  const { content, like, at, uuid, parent } = addition;
  switch (content.kind) {
    case 'line': {
      const { line } = content.entry;
      const own = draft.edits.replaced(line, texts.get(line) ?? '');
      if (content.entry.parent === undefined) return own;
      const edits = new LineEdits();
      edits.replace({ line, path: ['parentUuid'] }, JSON.stringify(parent));
      return edits.apply(line, own);
    }
    case 'block': {
      const { line, path } = content.result.place;
      const text = draft.edits.replaced(line, texts.get(line) ?? '');
      const span = findSpan(text, path) ?? { start: 0, end: 0 };
      return userLine(like, { uuid, parent, at, texts, block: text.slice(span.start, span.end) });
    }
    case 'interrupted': {
      const result = { type: 'tool_result', tool_use_id: content.call, content: INTERRUPTED, is_error: true };
      return userLine(like, { uuid, parent, at, texts, block: JSON.stringify(result) });
    }
    case 'note':
      return userLine(like, { uuid, parent, at, texts, block: JSON.stringify({ type: 'text', text: BEGINNING_LOST }) });
    default:
      return assertNever(content, 'writeAddition');
  }
}

interface UserLine {
  readonly uuid: string;
  readonly parent: string | null;
  readonly at: string;
  readonly texts: ReadonlyMap<number, string>;
  /** JSON of the one block. */
  readonly block: string;
}

const TAKEN_OVER = ['userType', 'entrypoint', 'cwd', 'sessionId', 'version', 'gitBranch', 'slug', 'agentId'];

/** A line in the user's name, set in the surroundings of another. */
function userLine(like: Entry, { uuid, parent, at, texts, block }: UserLine): string {
  const source = asObject(JSON.parse(texts.get(like.line) ?? '{}'));
  const around = TAKEN_OVER.flatMap((name) => (source[name] === undefined ? [] : [[name, source[name]] as const]));
  const head = JSON.stringify({ parentUuid: parent, isSidechain: like.sidechain, type: 'user' }).slice(0, -1);
  const time = at === '' ? {} : { timestamp: at };
  const tail = JSON.stringify({ uuid, ...time, ...Object.fromEntries(around) }).slice(1);
  return `${head},"message":{"role":"user","content":[${block}]},${tail}`;
}
