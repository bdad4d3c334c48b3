import { assertNever, OnwardError } from '../kernel/error.ts';
import { isWithin, type JsonPath } from './message-form.ts';

/** A change of one line of JSON. `remove` is for elements of an array. */
export type Edit =
  | { readonly at: JsonPath; readonly do: 'remove' }
  | { readonly at: JsonPath; readonly do: 'replace' | 'add-after'; readonly text: string };

/** Characters from `start` up to `end` (not included). */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** The text after these edits. Every character outside of what they name stays: numbers and escapes as they were written. */
export function editJson(text: string, edits: readonly Edit[]): string {
  const removed = edits.filter((edit) => edit.do === 'remove').map(({ at }) => at);
  const wanted = edits.filter(({ at }) => !removed.some((outer) => outer.length < at.length && isWithin(at, outer)));
  const placed = wanted.flatMap((edit) => {
    const span = findSpan(text, edit.at);
    if (span === undefined) throw new OnwardError('bug/no-such-place', `There is no ${edit.at.join('.')} in the line.`);
    return [{ edit, span }];
  });
  // From the end, so that earlier places keep their offsets; at one place what comes after it is added first.
  const inOrder = placed.toSorted(
    (a, b) => b.span.start - a.span.start || Number(b.edit.do === 'add-after') - Number(a.edit.do === 'add-after'),
  );
  return inOrder.reduce((now, { edit, span }) => editOne(now, edit, span), text);
}

function editOne(text: string, edit: Edit, span: Span): string {
  switch (edit.do) {
    case 'replace':
      return text.slice(0, span.start) + edit.text + text.slice(span.end);
    case 'add-after':
      return `${text.slice(0, span.end)},${edit.text}${text.slice(span.end)}`;
    case 'remove': {
      const next = skipSpace(text, span.end);
      if (text[next] === ',') return text.slice(0, span.start) + text.slice(skipSpace(text, next + 1));
      const before = text.slice(0, span.start).trimEnd();
      return (before.endsWith(',') ? before.slice(0, -1) : before) + text.slice(span.end);
    }
    default:
      return assertNever(edit, 'editOne');
  }
}

/**
 * Where the value at `path` stands in a text that is JSON; `undefined` when there is none. Does not recurse, so that nesting
 * of any depth is walked. Of members with one name the last counts, as for `JSON.parse`.
 */
export function findSpan(text: string, path: JsonPath): Span | undefined {
  let start = skipSpace(text, 0);
  for (const name of path) {
    const found = typeof name === 'number' ? findElement(text, start, name) : findMember(text, start, name);
    if (found === undefined) return undefined;
    start = found;
  }
  return { start, end: skipValue(text, start) };
}

function findElement(text: string, start: number, wanted: number): number | undefined {
  if (text[start] !== '[') return undefined;
  let at = skipSpace(text, start + 1);
  for (let index = 0; at < text.length && text[at] !== ']'; index++) {
    if (index === wanted) return at;
    at = skipSpace(text, skipValue(text, at));
    if (text[at] === ',') at = skipSpace(text, at + 1);
  }
  return undefined;
}

function findMember(text: string, start: number, wanted: string): number | undefined {
  if (text[start] !== '{') return undefined;
  let found: number | undefined;
  let at = skipSpace(text, start + 1);
  while (at < text.length && text[at] !== '}') {
    const end = skipString(text, at);
    const value = skipSpace(text, skipSpace(text, end) + 1);
    if (JSON.parse(text.slice(at, end)) === wanted) found = value;
    at = skipSpace(text, skipValue(text, value));
    if (text[at] === ',') at = skipSpace(text, at + 1);
  }
  return found;
}

function skipSpace(text: string, from: number): number {
  let at = from;
  while (at < text.length && ' \t\n\r'.includes(text.charAt(at))) at += 1;
  return at;
}

function skipValue(text: string, start: number): number {
  const first = text[start];
  if (first === '"') return skipString(text, start);
  if (first !== '{' && first !== '[') return skipScalar(text, start);
  let depth = 0;
  for (let at = start; at < text.length; at++) {
    const char = text[at];
    if (char === '"') at = skipString(text, at) - 1;
    else if (char === '{' || char === '[') depth += 1;
    else if ((char === '}' || char === ']') && --depth === 0) return at + 1;
  }
  return text.length;
}

function skipScalar(text: string, start: number): number {
  let at = start;
  while (at < text.length && !',]} \t\r\n'.includes(text.charAt(at))) at += 1;
  return at;
}

/** Behind the closing quote. Jumps from quote to quote: a string may be an image of many megabytes. */
function skipString(text: string, start: number): number {
  for (let quote = text.indexOf('"', start + 1); quote >= 0; quote = text.indexOf('"', quote + 1)) {
    let slashes = 0;
    while (text[quote - 1 - slashes] === '\\') slashes += 1;
    if (slashes % 2 === 0) return quote + 1;
  }
  return text.length;
}
