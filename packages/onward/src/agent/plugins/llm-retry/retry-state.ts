import type { SessionEvent } from '../../plugin.ts';
import { type BudgetName, budgetOf, pluginName, readRecord, refuse, type RetryRecord } from './retry-record.ts';

/** Retries since the last answer or prompt, of one model. */
type Counts = Readonly<Record<BudgetName, number>>;

/** What must be known of a session to retry within bounds. Folded from its log: a restart forgets none of it. */
export interface RetryState {
  readonly counts: Readonly<Record<string, Counts>>;
  /** The turn under way; 0 outside one. */
  readonly turn: number;
  /** Its last step, 0 before the first, and how that ended. */
  readonly step: number;
  readonly ended: 'open' | 'failed' | 'otherwise';
  /** The retry scheduled for that step, and when it was, ms since the epoch. */
  readonly scheduled?: { readonly record: RetryRecord; readonly at: number };
}

/** The state of a session that has just begun. */
export const nothingRetried: RetryState = { counts: {}, turn: 0, step: 0, ended: 'otherwise' };

const noCounts: Counts = { passing: 0, cut: 0, unclassified: 0 };

/** Retries of a model so far, against one budget. */
export function countOf(state: RetryState, model: string, budget: BudgetName): number {
  return countsOf(state, model)[budget];
}

/** Adds an event. Pure. Throws `journal/bad-event` for a record of ours that cannot be where it is. */
export function applyRetry(state: RetryState, event: SessionEvent): RetryState {
  const { counts, turn } = state;
  if (event.type === 'turn.opened')
    return {
      counts: event.data.trigger.kind === 'prompt' ? {} : counts,
      turn: event.data.turn,
      step: 0,
      ended: 'otherwise',
    };
  if (event.type === 'turn.closed') return { counts, turn: 0, step: 0, ended: 'otherwise' };
  if (event.type === 'step.opened') return { counts, turn, step: event.data.step, ended: 'open' };
  if (event.type === 'step.closed')
    return { ...state, ended: event.data.outcome === 'failed' ? 'failed' : 'otherwise' };
  if (event.type === 'answer.completed') return { ...state, counts: {} };
  if (event.type === 'plugin.recorded' && event.data.plugin === pluginName) return applyRecord(state, event);
  return state;
}

function applyRecord(state: RetryState, event: SessionEvent & { readonly type: 'plugin.recorded' }): RetryState {
  const record = readRecord(event);
  const { turn, step, model, retry, max } = record;
  if (state.turn === 0) throw refuse(event, 'is outside an open turn');
  if (turn !== state.turn || step !== state.step) throw refuse(event, `names another step: ${turn}.${step}`);
  if (state.ended === 'open') throw refuse(event, 'names a step that is open');
  // A crash is also found between two steps, or before the first.
  if (state.ended !== 'failed' && record.class !== 'crash') throw refuse(event, 'names a step that did not fail');
  if (state.scheduled !== undefined) throw refuse(event, 'is the second for its step');
  const counts = countsOf(state, model);
  const budget = budgetOf(record.class);
  const nth = counts[budget] + 1;
  if (retry !== nth || retry > max)
    throw refuse(event, `is out of sequence: number ${retry} of ${max} after ${nth - 1}`);
  return {
    ...state,
    counts: { ...state.counts, [model]: { ...counts, [budget]: nth } },
    scheduled: { record, at: event.at },
  };
}

function countsOf(state: RetryState, model: string): Counts {
  return (Object.hasOwn(state.counts, model) ? state.counts[model] : undefined) ?? noCounts;
}
