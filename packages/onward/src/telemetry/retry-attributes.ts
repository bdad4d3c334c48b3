import type { SessionEventData } from '../agent/index.ts';
import type { RetryRecord } from '../agent/plugins/llm-retry/index.ts';
import type { FailureFacts } from './failure-facts.ts';
import type { SpanAttributes } from './span-change.ts';

/** What the plugin that owns a retry put on record of it. */
export interface PlannedRetry {
  readonly delayMs: number;
  /** This retry's number in its budget, from 1, and the size of that budget. */
  readonly used: number;
  readonly max: number;
}

/** Reads the record of a scheduled retry; `undefined` for any other record: a trace is no place to refuse a journal. */
export function plannedRetry({ plugin, kind, data }: SessionEventData['plugin.recorded']): PlannedRetry | undefined {
  if (plugin !== 'llm-retry' || kind !== 'retry.scheduled') return undefined;
  const { delayMs, retry, max } = (data ?? {}) as Partial<Record<keyof RetryRecord, unknown>>;
  if (typeof delayMs !== 'number' || typeof retry !== 'number' || typeof max !== 'number') return undefined;
  return { delayMs, used: retry, max };
}

/** What a turn left behind that failed. */
export interface FailedTurn {
  readonly facts: FailureFacts;
  readonly planned: PlannedRetry | undefined;
  /** The span of the request that failed; absent where it failed outside of one. */
  readonly request: string | undefined;
}

/** Attributes of a turn, and of its first request, that repeats the failed one of turn `of`. */
export function retryAttributes(of: number, failed: FailedTurn | undefined): SpanAttributes {
  const planned = failed?.planned;
  return {
    'onward.retry_of': of,
    ...(failed === undefined ? {} : causeAttributes(failed.facts)),
    ...(planned === undefined
      ? {}
      : {
          'onward.retry.delay_ms': planned.delayMs,
          'onward.retry.budget.max': planned.max,
          'onward.retry.budget.used': planned.used,
        }),
  };
}

function causeAttributes(facts: FailureFacts): SpanAttributes {
  return {
    'onward.retry.cause.class': facts.class,
    'onward.retry.cause.rule': facts.rule,
    'onward.retry.cause.type': facts.type,
    ...(facts.status === undefined ? {} : { 'onward.retry.cause.status': facts.status }),
  };
}
