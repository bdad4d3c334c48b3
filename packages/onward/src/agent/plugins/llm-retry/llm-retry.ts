import type { Signal } from '../../../kernel/signal.ts';
import type { Listener, Plugin, PluginHost } from '../../plugin.ts';
import { type LlmRetryOptions, resolveOptions, type Settings } from './options.ts';
import { ownedBudget, planRetry } from './plan-retry.ts';
import { pluginName, recordData, scheduledKind } from './retry-record.ts';
import { applyRetry, countOf, nothingRetried, type RetryState } from './retry-state.ts';

type OnFailure = Listener<'agent/request-error'>;
type Payload = Parameters<OnFailure>[0];
type Action = Awaited<ReturnType<OnFailure>>;

/**
 * Retries model requests that failed in passing, within bounds that are folded from the log: a restart does not refill them, an
 * answer that was committed and a new prompt do. What it does not retry goes on to the next listener. Throws `config/...` with
 * the place for bad options, at once; an unbounded number of retries is one.
 */
export function llmRetry(options: LlmRetryOptions = {}): Plugin {
  const settingsOf = resolveOptions(options);
  return { name: pluginName, setup: (host) => setup(host, settingsOf) };
}

function setup(host: PluginHost, settingsOf: (model: string) => Settings): () => Promise<void> {
  const state = host.fold(nothingRetried, applyRetry);
  const over = new AbortController();
  const active = new Set<Promise<unknown>>();
  const isOver = (): boolean => over.signal.aborted || host.lifetime.aborted;

  const handle: OnFailure = async (payload, next) => {
    // Captured before the plugin was ended, called after: not ours any more, and not ours to pass on.
    if (isOver()) return undefined;
    const delayMs = await scheduled(host, state, settingsOf(payload.model), payload);
    if (delayMs === 'not-ours') return await next();
    if (delayMs === 'aborted') return undefined;
    const live = await sleep(host, delayMs, [payload.signal, host.lifetime, over.signal]);
    return live ? { kind: 'retry' } : undefined;
  };

  const off = host.on('agent/request-error', async (payload, next): Promise<Action> => {
    const call = Promise.resolve(handle(payload, next));
    active.add(call);
    try {
      return await call;
    } finally {
      active.delete(call);
    }
  });
  return async () => {
    off();
    over.abort(new Error('The plugin was ended.'));
    await Promise.allSettled(active);
  };
}

/** Puts a retry on record and returns its wait, ms. */
async function scheduled(
  host: PluginHost,
  state: () => RetryState,
  settings: Settings,
  payload: Payload,
): Promise<number | 'not-ours' | 'aborted'> {
  const { turn, step, model, failure, classification } = payload;
  const left = settings.classes.includes('crash') ? leftOfWait(state(), payload, host.clock.now()) : undefined;
  if (left !== undefined) return payload.signal.aborted ? 'aborted' : left;
  const owned = ownedBudget(payload, settings);
  if (owned === undefined) return 'not-ours';
  const count = countOf(state(), model, owned.budget);
  if (count >= owned.max) return 'not-ours';
  const sample = host.random.next();
  const delayMs = planRetry({ ...payload, count, now: host.clock.now(), sample }, owned.max, settings);
  if (delayMs === undefined) return 'not-ours';
  if (payload.signal.aborted) return 'aborted';
  const { class: failureClass, rule } = classification;
  const record = { turn, step, model, retry: count + 1, max: owned.max, delayMs, class: failureClass, rule, failure };
  await host.record(scheduledKind, recordData(record));
  return delayMs;
}

/** A process died during the wait of a retry that is on record: the rest of that wait, and no second record. */
function leftOfWait(state: RetryState, payload: Payload, now: number): number | undefined {
  const { scheduled: found } = state;
  if (!payload.interrupted || found === undefined) return undefined;
  if (found.record.turn !== payload.turn || found.record.step !== payload.step) return undefined;
  // A wall clock that was set back must not lengthen the wait.
  return Math.min(found.record.delayMs, Math.max(0, found.at + found.record.delayMs - now));
}

/** True after the whole wait; false as soon as one of the signals aborts. Leaves no timer and no listener. */
async function sleep(host: PluginHost, ms: number, signals: readonly Signal[]): Promise<boolean> {
  const either = new AbortController();
  const abort = (): void => either.abort();
  for (const signal of signals) {
    if (signal.aborted) return false;
    signal.addEventListener('abort', abort, { once: true });
  }
  await host.clock.sleep(ms, either.signal);
  for (const signal of signals) signal.removeEventListener('abort', abort);
  return !either.signal.aborted;
}
