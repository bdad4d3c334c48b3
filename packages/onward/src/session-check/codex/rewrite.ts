import { findSpan } from '../json-edit.ts';
import { asObject, asText, type JsonObject } from '../json-shape.ts';
import { LineEdits } from '../line-edits.ts';
import type { JsonPath, Part, Place } from '../message-form.ts';
import { INTERRUPTED, LEFT_OUT, mediaNote } from '../notes.ts';
import type { PlannedRepair } from '../plan-repair.ts';
import type { LineChange, LineChanges, RewritePlan } from '../session-reader.ts';

/** Something that comes after a line. */
type Addition =
  | { readonly kind: 'interrupted'; readonly id: string; readonly call: Place }
  | { readonly kind: 'line'; readonly line: number }
  /** An element of a compacted history that must come later. */
  | { readonly kind: 'lifted'; readonly from: Place };

interface Draft {
  readonly edits: LineEdits;
  readonly gone: Set<number>;
  readonly after: Map<number, Addition[]>;
  /** For items of a compacted history, which is a list inside one line. */
  readonly inside: { readonly after: Place; readonly addition: InsideAddition }[];
  readonly sources: Set<number>;
}

type InsideAddition =
  | { readonly kind: 'interrupted'; readonly id: string; readonly call: Place }
  | { readonly kind: 'moved'; readonly from: Place };

/** Plans the lines of a repaired rollout: an item is a line, or an element of a compacted history. */
export function planRollout(repairs: readonly PlannedRepair[]): RewritePlan {
  const draft: Draft = { edits: new LineEdits(), gone: new Set(), after: new Map(), inside: [], sources: new Set() };
  for (const planned of repairs) draftOne(draft, planned);
  const needs = new Set([...draft.edits.lines, ...draft.after.keys(), ...draft.sources]);
  return { needs, write: (texts) => writeLines(draft, texts) };
}

function draftOne(draft: Draft, { repair, batch }: PlannedRepair): void {
  switch (repair.do) {
    case 'drop':
      return drop(draft, repair.part);
    case 'note':
      return draft.edits.replace(repair.part.place, note(mediaNote(repair.part)));
    case 'rekey':
      for (const part of [repair.call, repair.result])
        if (part !== undefined) draft.edits.replace(part.place, JSON.stringify(repair.id), ['call_id']);
      return;
    case 'answer': {
      const { id, place } = repair.call;
      draft.sources.add(place.line);
      return add(draft, lastCall(batch) ?? place, { kind: 'interrupted', id, call: place });
    }
    case 'move': {
      const from = repair.result.place;
      draft.sources.add(from.line);
      const to = lastCall(batch) ?? repair.call.place;
      if (isItem(from) && isItem(to)) {
        draft.gone.add(from.line);
        return add(draft, to, { kind: 'line', line: from.line });
      }
      drop(draft, repair.result);
      if (isItem(to)) add(draft, to, { kind: 'lifted', from });
      else draft.inside.push({ after: to, addition: { kind: 'moved', from } });
      return;
    }
    // This provider does not ask who begins, and the lines themselves are not the rollout's affair.
    case 'open':
    case 'drop-line':
    case 'mend-line':
    case 'link':
    case 'cut':
  }
}

function note(text: string): string {
  return JSON.stringify({ type: 'input_text', text });
}

/** Results go behind the calls of their message, in front of those that are there. */
function lastCall(batch: readonly Part[]): Place | undefined {
  return batch.findLast(({ kind }) => kind === 'call')?.place;
}

/** True for an item that is a line of its own. */
function isItem({ path }: Place): boolean {
  return path.length === 1;
}

function add(draft: Draft, after: Place, addition: Addition): void {
  if (isItem(after)) {
    const list = draft.after.get(after.line);
    if (list === undefined) draft.after.set(after.line, [addition]);
    else list.push(addition);
  } else if (addition.kind === 'interrupted') draft.inside.push({ after, addition });
}

function drop(draft: Draft, part: Part): void {
  const { place } = part;
  if (isItem(place)) draft.gone.add(place.line);
  else if (typeof place.path.at(-1) === 'number') draft.edits.remove(place);
  else draft.edits.replace(place, JSON.stringify(LEFT_OUT));
}

function writeLines(draft: Draft, texts: ReadonlyMap<number, string>): LineChanges {
  for (const { after, addition } of draft.inside) draft.edits.addAfter(after, insideText(addition, draft, texts));
  const changes = new Map<number, LineChange>();
  for (const line of new Set([...draft.edits.lines, ...draft.gone, ...draft.after.keys()])) {
    const own = draft.gone.has(line) ? undefined : draft.edits.apply(line, texts.get(line) ?? '');
    const after = (draft.after.get(line) ?? []).map((addition) => additionText(addition, draft, texts));
    changes.set(line, { before: [], own, after });
  }
  return changes;
}

function insideText(addition: InsideAddition, draft: Draft, texts: ReadonlyMap<number, string>): string {
  const { line, path } = addition.kind === 'moved' ? addition.from : addition.call;
  const text = draft.edits.replaced(line, texts.get(line) ?? '');
  if (addition.kind === 'interrupted') return JSON.stringify(outputFor(itemAt(text, path), addition.id));
  const span = findSpan(text, path) ?? { start: 0, end: 0 };
  return text.slice(span.start, span.end);
}

function itemAt(text: string, path: JsonPath): JsonObject {
  const span = findSpan(text, path);
  return span === undefined ? {} : asObject(JSON.parse(text.slice(span.start, span.end)));
}

function additionText(addition: Addition, draft: Draft, texts: ReadonlyMap<number, string>): string {
  if (addition.kind === 'line') return draft.edits.apply(addition.line, texts.get(addition.line) ?? '');
  const { line, path } = addition.kind === 'lifted' ? addition.from : addition.call;
  const text = draft.edits.replaced(line, texts.get(line) ?? '');
  // Of the time of its source, since no clock knows better. It has no ordinal: those that there are stay.
  const { timestamp } = asObject(JSON.parse(text)) as { readonly timestamp?: unknown };
  const head = JSON.stringify({ ...(timestamp === undefined ? {} : { timestamp }), type: 'response_item' }).slice(
    0,
    -1,
  );
  const span = findSpan(text, path) ?? { start: 0, end: 0 };
  const payload =
    addition.kind === 'lifted'
      ? text.slice(span.start, span.end)
      : JSON.stringify(outputFor(itemAt(text, path), addition.id));
  return `${head},"payload":${payload}}`;
}

function outputFor(call: JsonObject, id: string): JsonObject {
  const isCustom = asText(call['type']) === 'custom_tool_call';
  return {
    type: isCustom ? 'custom_tool_call_output' : 'function_call_output',
    call_id: id,
    output: INTERRUPTED,
  };
}
