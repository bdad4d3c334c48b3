import type { Plugin, PluginHost } from '../../plugin.ts';
import { badOption, type FailoverOptions, resolveFailover } from './failover-options.ts';
import { applySwitch, notSwitched, pluginName, type SwitchRecord, switchedKind } from './switch-state.ts';

/**
 * Goes on with a second model when a request of the first failed in a way that nobody else repairs: the failure is first offered
 * to all listeners behind this one, so that retries come first wherever they stand. One switch in a session, on record
 * before it counts, and kept across restarts. The transcript stays, and no tool runs again. Throws `config/...` for bad options.
 */
export function failover(options: FailoverOptions): Plugin {
  const resolved = resolveFailover(options);
  return { name: pluginName, setup: (host) => setup(host, resolved) };
}

function setup(host: PluginHost, { to, after }: Required<FailoverOptions>): void {
  if (host.model().id === to.id) throw badOption('failover.to', `another model than the first (${to.id})`);
  const state = host.fold(notSwitched, applySwitch);

  host.on('agent/request', async (_, next) => {
    const draft = await next();
    // Only requests of the model that failed are moved: whoever chose a third one had a reason.
    return state().switched?.from === draft.model.id ? { ...draft, model: to } : draft;
  });

  host.on('agent/request-error', async (payload, next) => {
    if (host.lifetime.aborted) return undefined;
    const action = await next();
    if (action !== undefined) return action;
    const { turn, step, model, failure, classification, signal } = payload;
    const { class: failureClass, rule, evidence } = classification;
    const wanted = after.some((name) => name === failureClass) && model !== to.id && state().switched === undefined;
    if (!wanted || signal.aborted || host.lifetime.aborted) return undefined;
    const because = `${failureClass} (${evidence}): ${failure.message}`;
    const record = { turn, step, from: model, to: to.id, class: failureClass, rule, because } satisfies SwitchRecord;
    await host.record(switchedKind, record);
    return { kind: 'retry' };
  });
}
