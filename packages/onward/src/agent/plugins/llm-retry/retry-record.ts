import { OnwardError } from '../../../kernel/error.ts';
import { type Failure, type FailureClass, failureClasses } from '../../../kernel/failure.ts';
import type { Json } from '../../../kernel/json.ts';
import type { SessionEvent } from '../../plugin.ts';

/** The name of the plugin and of its one kind of record. */
export const pluginName = 'llm-retry';
export const scheduledKind = 'retry.scheduled';

/** Says that a retry was scheduled, not that it succeeded. Durable before the wait; never model-visible. */
export interface RetryRecord {
  /** The failed attempt. */
  readonly turn: number;
  readonly step: number;
  readonly model: string;
  /** Counts from 1 the retries in a row of this chain, model and budget (see `budgetOf`), out of `max`. */
  readonly retry: number;
  readonly max: number;
  readonly delayMs: number;
  readonly class: FailureClass;
  readonly rule: string;
  readonly failure: Failure;
}

/** Retries are counted apart: those of passing failures, of answers that were cut, and of failures that nobody knows. */
export type BudgetName = 'passing' | 'cut' | 'unclassified';

/** Which budget a class is counted against. */
export function budgetOf(failureClass: FailureClass): BudgetName {
  if (failureClass === 'incomplete') return 'cut';
  return failureClass === 'unclassified' ? 'unclassified' : 'passing';
}

/** A record as JSON. Numbers that JSON cannot say (a hint of NaN) are left out; they are no facts. */
export function recordData(record: RetryRecord): Json {
  return JSON.parse(JSON.stringify(record, withoutNonNumbers)) as Json;
}

function withoutNonNumbers(_: string, value: unknown): unknown {
  return typeof value === 'number' && !Number.isFinite(value) ? undefined : value;
}

/** Reads a record of ours. Throws `journal/bad-event`, with its place, for one that it cannot be. */
export function readRecord(event: SessionEvent & { readonly type: 'plugin.recorded' }): RetryRecord {
  const { kind, data } = event.data;
  const record = data as unknown as Partial<Record<keyof RetryRecord, unknown>> | null;
  if (kind !== scheduledKind || typeof record !== 'object' || record === null)
    throw refuse(event, `is no record of ${pluginName}`);
  for (const [field, least] of [
    ['turn', 1],
    ['step', 0],
    ['retry', 1],
    ['max', 1],
    ['delayMs', 0],
  ] as const) {
    const value = record[field];
    if (!Number.isSafeInteger(value) || (value as number) < least)
      throw refuse(event, `has no ${field}: ${JSON.stringify(value)}`);
  }
  if (!failureClasses.some((name) => name === record.class)) throw refuse(event, 'is of no known class');
  if (typeof record.model !== 'string' || typeof record.rule !== 'string')
    throw refuse(event, 'names no model or no rule');
  const { failure } = record;
  if (typeof failure !== 'object' || failure === null || !('message' in failure)) throw refuse(event, 'has no failure');
  return record as RetryRecord;
}

/** A record that cannot follow what came before it. */
export function refuse(event: SessionEvent, what: string): OnwardError {
  const place = `${event.stream}@${event.position}`;
  return new OnwardError('journal/bad-event', `The retry at ${place} ${what}.`, { place });
}
