import type { NewEvent, StoredEvent } from './envelope.ts';
import { OnwardError } from './error.ts';
import type { Json } from './json.ts';

/**
 * How to read one event type. `upcasts[n]` turns the data of version n into version n + 1, so that a fold only ever
 * sees the newest shape; there is one for each version from 1 to `v - 1`. Upcasts are pure and never deleted.
 */
export interface EventReader {
  readonly v: number;
  readonly upcasts?: Readonly<Record<number, (data: Json) => Json>>;
}

/** The event types that a folder owns. */
export type EventTable = Readonly<Record<string, EventReader>>;

/**
 * Brings an event to the newest version this program knows. `undefined` for one that may be skipped.
 * Throws `journal/newer-version` for a type or version from a newer program: half a history must not be acted on; and
 * `journal/bad-event` for one whose version is no version.
 */
export function upcast(event: StoredEvent, table: EventTable): StoredEvent | undefined {
  const reader = Object.hasOwn(table, event.type) ? table[event.type] : undefined;
  if (!Number.isInteger(event.v) || event.v < 1)
    throw new OnwardError('journal/bad-event', `${place(event)} has no version: ${event.type} v${event.v}.`, {
      place: place(event),
    });
  if (reader === undefined || event.v > reader.v) {
    if (event.ignorable === true) return undefined;
    throw new OnwardError(
      'journal/newer-version',
      `${place(event)} was written by a newer onward (${event.type} v${event.v}).`,
      {
        place: place(event),
        next: ['Update onward on this machine, or leave the stream to the program that wrote it.'],
      },
    );
  }
  let data = event.data;
  for (let v = event.v; v < reader.v; v++) {
    const step = reader.upcasts?.[v];
    if (step === undefined)
      throw new OnwardError('bug/missing-upcast', `No upcast of ${event.type} from v${v}.`, { place: place(event) });
    data = step(data);
  }
  return { ...event, v: reader.v, data };
}

/** Upcasts events and folds them, oldest first. Pure; linear in the number of events. */
export function fold<State, Event extends NewEvent>(
  events: Iterable<StoredEvent>,
  table: EventTable,
  initial: State,
  apply: (state: State, event: Event & StoredEvent) => State,
): State {
  let state = initial;
  for (const stored of events) {
    const event = upcast(stored, table);
    if (event !== undefined) state = apply(state, event as Event & StoredEvent);
  }
  return state;
}

function place(event: StoredEvent): string {
  return `${event.stream}@${event.position}`;
}
