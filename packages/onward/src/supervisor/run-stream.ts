import type { StoredEvent } from '../kernel/envelope.ts';
import { upcast } from '../kernel/fold.ts';
import type { Journal } from '../kernel/journal.ts';
import type { Json } from '../kernel/json.ts';
import type { Redactor } from '../kernel/redact.ts';
import type { LiveEvent } from './deps.ts';
import { type Body, runEventTable } from './run-events.ts';
import { readBody } from './run-writer.ts';

/**
 * An event as hosts see it: what `--json` prints, one per line. `seq` counts the recorded events of the run without gaps;
 * live ones (`delta`, `notice`) have none, since nobody gets them again. Secrets are redacted.
 */
export interface RunStreamEvent {
  /** Version of this form. */
  readonly v: 1;
  readonly run: string;
  readonly seq: number | null;
  /** ms since the epoch. */
  readonly at: number;
  readonly type: string;
  /** The attempt it belongs to, from 1; null for the run as a whole. */
  readonly attempt: number | null;
  /** Whether another attempt follows by itself, and when: on every failure, null where it does not apply. */
  readonly willRetry: boolean | null;
  readonly nextAt: number | null;
  readonly data: Json;
}

/** A recorded event in the form for hosts; `undefined` for one that may be skipped. */
export function toStreamEvent(run: string, stored: StoredEvent, redactor: Redactor): RunStreamEvent | undefined {
  const event = upcast(stored, runEventTable);
  if (event === undefined) return undefined;
  const data = event.data as { readonly [key: string]: Json };
  const { n, willRetry, nextAt } = data;
  return {
    v: 1,
    run,
    seq: event.position,
    at: event.at,
    type: event.type,
    attempt: typeof n === 'number' ? n : null,
    willRetry: typeof willRetry === 'boolean' ? willRetry : null,
    nextAt: typeof nextAt === 'number' ? nextAt : null,
    data: redactor.json(event.data),
  };
}

/** Fields of recorded events that may name a blob instead of having the text. */
const bodyFields = ['body', 'text', 'prompt'] as const;

/** The same event with its long texts in it, since hosts have no way to read blobs. */
export async function withTexts(journal: Journal, stored: StoredEvent): Promise<StoredEvent> {
  const data = stored.data as { readonly [key: string]: Json };
  const texts: Record<string, Json> = {};
  for (const field of bodyFields) {
    const value = data[field];
    if (typeof value !== 'object' || value === null || !('blob' in value)) continue;
    // oxlint-disable-next-line no-await-in-loop -- an event has one of them at most
    texts[field] = { text: await readBody(journal, value as unknown as Body) };
  }
  return Object.keys(texts).length === 0 ? stored : { ...stored, data: { ...data, ...texts } };
}

/** A live observation in the form for hosts. */
export function toLiveEvent({ run, attempt, observation }: LiveEvent, at: number, redactor: Redactor): RunStreamEvent {
  const text = 'text' in observation ? redactor.text(observation.text) : '';
  return { v: 1, run, seq: null, at, type: observation.kind, attempt, willRetry: null, nextAt: null, data: { text } };
}
