import type { NewEvent } from '../kernel/envelope.ts';
import { OnwardError } from '../kernel/error.ts';
import type { Append } from '../kernel/journal.ts';
import { findNonJson } from '../kernel/json.ts';

/** The largest JSON text of one event's data, in bytes of UTF-8, unless a store is told otherwise. Larger bodies are blobs. */
export const DEFAULT_PAYLOAD_CAP: number = 256 * 1024;

/** An event that passed all checks, with its data as the text that is stored. */
export interface PreparedEvent {
  readonly type: string;
  readonly v: number;
  readonly id: string | null;
  readonly ignorable: boolean;
  readonly json: string;
}

/** One checked part of a batch. */
export interface PreparedAppend {
  readonly stream: string;
  readonly expected: number | 'any';
  readonly epoch: number | null;
  readonly events: readonly PreparedEvent[];
  /** `undefined` leaves the due time alone, `null` clears it. */
  readonly due: number | null | undefined;
}

const LONGEST_NAME = 512;
// Line breaks and NUL in a name would break logs, tables and C strings.
// oxlint-disable-next-line no-control-regex
const CONTROL = /[\u0000-\u001f\u007f]/;

/**
 * Checks a batch before any store touches its medium, and turns the data into text once. Throws `journal/bad-append`,
 * `journal/bad-event` (place: path inside the data) or `journal/payload-too-large`.
 */
export function prepareBatch(batch: readonly Append[], payloadCap: number): readonly PreparedAppend[] {
  if (batch.length === 0) throw new OnwardError('journal/bad-append', 'An append without any stream adds nothing.');
  const names = new Set<string>();
  return batch.map((append) => {
    checkStreamName(append.stream);
    if (names.has(append.stream)) throw badAppend(append.stream, 'is in the batch twice: put its events into one list');
    names.add(append.stream);
    return prepareAppend(append, payloadCap);
  });
}

/** Throws `journal/bad-append` for a name that no stream can have. */
export function checkStreamName(name: string): void {
  if (isName(name)) return;
  throw new OnwardError('journal/bad-append', `${JSON.stringify(name)} cannot name a stream.`, {
    next: [`Use 1 to ${LONGEST_NAME} characters without control characters, such as run:019a...`],
  });
}

/** Throws `journal/bad-position` for a position after which nothing can be read. */
export function checkPosition(position: number): void {
  if (isCount(position, 0)) return;
  throw new OnwardError(
    'journal/bad-position',
    `${position} is no position: they are whole numbers from 1, and 0 before the first.`,
  );
}

/** The last moment that a `Date` can hold, ms since the epoch. Later is a slip, and far later not even a whole number. */
const LAST_MOMENT = 8_640_000_000_000_000;

function isTime(ms: number): boolean {
  return Number.isSafeInteger(ms) && Math.abs(ms) <= LAST_MOMENT;
}

function prepareAppend(append: Append, payloadCap: number): PreparedAppend {
  const { stream, expected, epoch, due } = append;
  if (expected !== 'any' && !isCount(expected, 0))
    throw badAppend(stream, 'expects a position that is no whole number');
  if (epoch !== undefined && !isCount(epoch, 1))
    throw badAppend(stream, 'names an epoch that is no whole number from 1');
  if (typeof due === 'number' && !isTime(Math.ceil(due))) throw badAppend(stream, 'has a due time that is no time');
  return {
    stream,
    expected,
    epoch: epoch ?? null,
    // Never earlier than asked.
    due: typeof due === 'number' ? Math.ceil(due) : due,
    events: append.events.map((event, index) => prepareEvent(event, { stream, index }, payloadCap)),
  };
}

interface Where {
  readonly stream: string;
  readonly index: number;
}

function prepareEvent(event: NewEvent, where: Where, payloadCap: number): PreparedEvent {
  if (!isName(event.type)) throw badEvent(where, '$type', 'has no usable type');
  if (!isCount(event.v, 1)) throw badEvent(where, '$v', 'has a version that is no whole number from 1');
  if (event.id !== undefined && !isName(event.id)) throw badEvent(where, '$id', 'has an unusable id');
  const json = toJson(event, where);
  if (isLargerThan(json, payloadCap)) {
    const name = nameOf(where);
    throw new OnwardError(
      'journal/payload-too-large',
      `${name} (${event.type}) is larger than ${payloadCap} bytes of JSON.`,
      { place: name, next: ['Store the body with putBlob and name the blob in the event.'] },
    );
  }
  return { type: event.type, v: event.v, id: event.id ?? null, ignorable: event.ignorable === true, json };
}

function toJson(event: NewEvent, where: Where): string {
  let path: string | undefined;
  try {
    path = findNonJson(event.data);
    if (path === undefined) return JSON.stringify(event.data);
  } catch (cause) {
    throw badEvent(where, '$', 'is nested too deeply', cause);
  }
  throw badEvent(where, path, `(${event.type}) holds something at ${path} that JSON would lose or change`);
}

function badAppend(stream: string, what: string): OnwardError {
  return new OnwardError('journal/bad-append', `The append to ${stream} ${what}.`, { place: stream });
}

function badEvent(where: Where, path: string, what: string, cause?: unknown): OnwardError {
  return new OnwardError('journal/bad-event', `${nameOf(where)} ${what}.`, { place: path, cause });
}

function nameOf({ stream, index }: Where): string {
  return `${stream} events[${index}]`;
}

function isName(name: unknown): boolean {
  return (
    typeof name === 'string' && name !== '' && name.length <= LONGEST_NAME && name.isWellFormed() && !CONTROL.test(name)
  );
}

function isCount(value: unknown, least: number): boolean {
  return Number.isSafeInteger(value) && (value as number) >= least;
}

function isLargerThan(text: string, bytes: number): boolean {
  // One UTF-16 unit is at least one and at most three bytes of UTF-8, so most texts need no encoding.
  if (text.length > bytes) return true;
  if (text.length * 3 <= bytes) return false;
  return new TextEncoder().encode(text).byteLength > bytes;
}
