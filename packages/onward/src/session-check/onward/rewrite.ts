import { findSpan } from '../json-edit.ts';
import { asObject, type JsonObject } from '../json-shape.ts';
import { LineEdits } from '../line-edits.ts';
import type { CallPart, JsonPath, Part, Place } from '../message-form.ts';
import { INTERRUPTED, LEFT_OUT, mediaNote } from '../notes.ts';
import type { PlannedRepair } from '../plan-repair.ts';
import type { LineChange, LineChanges, RewritePlan } from '../session-reader.ts';
import type { Conversation } from './conversation.ts';

type Addition =
  | { readonly kind: 'interrupted'; readonly call: CallPart; readonly started: boolean }
  | { readonly kind: 'line'; readonly line: number };

interface Draft {
  readonly edits: LineEdits;
  readonly gone: Set<number>;
  readonly after: Map<number, Addition[]>;
  /** Thinking that loses what only its model can read. */
  readonly unsealed: Place[];
  /** Messages of a replaced history that lost parts. */
  readonly thinned: Place[];
  readonly sources: Set<number>;
}

/** Plans the events of a repaired session. Nothing that another event counts is added or taken away, but results of calls. */
export function planEvents(repairs: readonly PlannedRepair[], conversation: Conversation): RewritePlan {
  const draft: Draft = {
    edits: new LineEdits(),
    gone: new Set(),
    after: new Map(),
    unsealed: [],
    thinned: [],
    sources: new Set(),
  };
  for (const planned of repairs) draftOne(draft, planned, conversation);
  const places = [...draft.unsealed, ...draft.thinned].map(({ line }) => line);
  const needs = new Set([...draft.edits.lines, ...draft.after.keys(), ...draft.sources, ...places]);
  return { needs, write: (texts) => writeLines(draft, texts) };
}

function draftOne(draft: Draft, { repair }: PlannedRepair, conversation: Conversation): void {
  switch (repair.do) {
    case 'drop':
      return drop(draft, repair.part);
    case 'note':
      return draft.edits.replace(repair.part.place, text(mediaNote(repair.part)));
    case 'rekey': {
      draft.edits.replace(repair.call.place, JSON.stringify(repair.id), ['id']);
      for (const place of repair.call.also ?? []) draft.edits.replace(place, JSON.stringify(repair.id));
      if (repair.result === undefined) return;
      const { line, path } = repair.result.place;
      draft.edits.replace(
        { line, path: [...path, ...(path.length === 0 ? ['data'] : [])] },
        JSON.stringify(repair.id),
        ['id'],
      );
      return;
    }
    case 'answer':
    case 'move': {
      const { call } = repair;
      const end = conversation.endOf(call);
      draft.sources.add(repair.do === 'answer' ? call.place.line : repair.result.place.line);
      const list = draft.after.get(end) ?? [];
      draft.after.set(end, list);
      if (repair.do === 'answer') {
        list.push({ kind: 'interrupted', call, started: conversation.hadStarted(call) });
        return;
      }
      draft.gone.add(repair.result.place.line);
      list.push({ kind: 'line', line: repair.result.place.line });
      return;
    }
    // Our adapters see to who begins, and the lines themselves are the reader's affair.
    case 'open':
    case 'drop-line':
    case 'mend-line':
    case 'link':
    case 'cut':
  }
}

function text(words: string): string {
  return JSON.stringify({ type: 'text', text: words });
}

function drop(draft: Draft, part: Part): void {
  const { place } = part;
  if (part.kind === 'thinking') draft.unsealed.push(place);
  else if (part.kind === 'nothing') draft.edits.replace(place, `[${text(LEFT_OUT)}]`);
  else if (part.kind === 'result' && place.path.length === 0) draft.gone.add(place.line);
  else if (part.kind === 'call') draft.edits.replace(place, text(LEFT_OUT));
  else {
    draft.edits.remove(place);
    draft.thinned.push({ line: place.line, path: place.path.slice(0, -1) });
  }
}

function writeLines(draft: Draft, texts: ReadonlyMap<number, string>): LineChanges {
  for (const place of draft.unsealed) draft.edits.replace(place, unsealed(texts.get(place.line) ?? '', place.path));
  for (const place of draft.thinned) {
    const all = asObject(at(texts.get(place.line) ?? '', place.path.slice(0, -1)))['content'];
    if (!Array.isArray(all) || all.length > draft.edits.removedFrom(place.line, place.path)) continue;
    const message = { line: place.line, path: place.path.slice(0, -1) };
    draft.edits.replace(message, `{"role":"user","content":[${text(LEFT_OUT)}]}`);
    draft.edits.keep(place);
  }
  const changes = new Map<number, LineChange>();
  for (const line of new Set([...draft.edits.lines, ...draft.gone, ...draft.after.keys()])) {
    const own = draft.gone.has(line) ? undefined : draft.edits.apply(line, texts.get(line) ?? '');
    const after = (draft.after.get(line) ?? []).map((addition) =>
      addition.kind === 'line'
        ? draft.edits.apply(addition.line, texts.get(addition.line) ?? '')
        : interrupted(addition, texts),
    );
    changes.set(line, { before: [], own, after });
  }
  return changes;
}

function at(line: string, path: JsonPath): unknown {
  const span = findSpan(line, path);
  return span === undefined ? undefined : JSON.parse(line.slice(span.start, span.end));
}

/** What can be read of it stays, character for character. */
function unsealed(line: string, path: JsonPath): string {
  const span = findSpan(line, [...path, 'text']);
  const said = span === undefined ? '""' : line.slice(span.start, span.end);
  return `{"type":"thinking","text":${said}}`;
}

/** The event with which the loop itself closes a call that a crash left open. */
function interrupted(
  { call, started }: Extract<Addition, { readonly kind: 'interrupted' }>,
  texts: ReadonlyMap<number, string>,
): string {
  const source = asObject(JSON.parse(texts.get(call.place.line) ?? '{}'));
  const { turn, step } = asObject(source['data']) as { readonly turn?: unknown; readonly step?: unknown };
  const outcome = { ok: false, code: started ? 'outcome-unknown' : 'not-started', message: INTERRUPTED };
  const envelope: JsonObject = Object.fromEntries(
    ['stream', 'position', 'at', 'epoch'].flatMap((name) =>
      source[name] === undefined ? [] : [[name, source[name]] as const],
    ),
  );
  return JSON.stringify({ ...envelope, type: 'call.finished', v: 1, data: { turn, step, id: call.id, outcome } });
}
