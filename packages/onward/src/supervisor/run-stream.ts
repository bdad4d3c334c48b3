import type { StoredEvent } from '../kernel/envelope.ts';
import { upcast } from '../kernel/fold.ts';
import type { Json } from '../kernel/json.ts';
import type { Redactor } from '../kernel/redact.ts';
import type { LiveEvent } from './deps.ts';
import { runEventTable } from './run-events.ts';

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

/** A live observation in the form for hosts. */
export function toLiveEvent({ run, attempt, observation }: LiveEvent, at: number, redactor: Redactor): RunStreamEvent {
  const text = 'text' in observation ? redactor.text(observation.text) : '';
  return { v: 1, run, seq: null, at, type: observation.kind, attempt, willRetry: null, nextAt: null, data: { text } };
}
