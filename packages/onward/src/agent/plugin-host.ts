import { OnwardError } from '../kernel/error.ts';
import { findNonJson } from '../kernel/json.ts';
import type { Model, ModelRequest } from '../models/model.ts';
import { deepFreeze } from './deep-freeze.ts';
import { limitHit } from './limits.ts';
import type { Aside, Plugin, PluginHost, UserContent } from './plugin.ts';
import { runRequest } from './run-request.ts';
import type { Runtime } from './runtime.ts';
import { sessionEvent } from './session-events.ts';
import type { SideFold } from './session-log.ts';
import { textOf } from './settlement.ts';
import type { Signal } from '../kernel/signal.ts';

/** A plugin that was set up. */
export interface Plugged {
  readonly name: string;
  /** Ends it: no new callbacks, those under way are awaited. The same promise for all callers. */
  unload(): Promise<void>;
}

/** The verbs of the agent that a plugin may use. */
export interface PluginVerbs {
  accept(kind: 'followup' | 'steer' | 'inject', content: string | UserContent, from: string): { readonly id: string };
  model(): Model;
}

/** Sets a plugin up. What its `setup` throws is thrown. */
export function plugIn(plugin: Plugin, rt: Runtime, verbs: PluginVerbs): Plugged {
  if (typeof plugin.name !== 'string' || plugin.name.trim() === '' || typeof plugin.setup !== 'function')
    throw new OnwardError('agent/bad-plugin', 'A plugin has a name and a setup function.', { place: 'plugins' });
  const lifetime = new AbortController();
  const removers: (() => void)[] = [];
  const setup = { running: true };
  const host = createHost(plugin.name, { rt, verbs, lifetime: lifetime.signal, removers, setup });
  const dispose = plugin.setup(host);
  setup.running = false;
  let unloading: Promise<void> | undefined;
  const unload = async (): Promise<void> => {
    for (const remove of removers) remove();
    lifetime.abort(new Error('The plugin was unloaded.'));
    await rt.waterfalls.remove(plugin.name);
    await dispose?.();
  };
  return { name: plugin.name, unload: () => (unloading ??= unload()) };
}

/** Ends plugins, last first, one after the other; one that fails at it does not keep the others. */
export async function unloadAll(plugins: readonly Plugged[]): Promise<void> {
  for (const plugin of plugins.toReversed()) {
    // oxlint-disable-next-line no-await-in-loop -- in order
    await plugin.unload().catch(() => undefined);
  }
}

interface HostParts {
  readonly rt: Runtime;
  readonly verbs: PluginVerbs;
  readonly lifetime: Signal;
  readonly removers: (() => void)[];
  readonly setup: { readonly running: boolean };
}

function createHost(name: string, parts: HostParts): PluginHost {
  const { rt, verbs, lifetime, removers, setup } = parts;
  const { log } = rt;
  return {
    session: rt.id,
    clock: rt.clock,
    random: rt.random,
    ids: rt.ids,
    hash: rt.hash,
    lifetime,
    on: (waterfall, listener) => rt.waterfalls.on(name, waterfall, listener),
    observe(listener) {
      const remove = log.observe(listener);
      removers.push(remove);
      return remove;
    },
    fold<State>(initial: State, apply: (state: State, event: never) => State) {
      if (!setup.running)
        throw new OnwardError('agent/late-fold', `${name} may only fold in its setup.`, { place: name });
      const side: SideFold = { initial, apply: apply as SideFold['apply'], state: initial };
      log.fold(side);
      return () => side.state as State;
    },
    async record(kind, data) {
      const place = findNonJson(data);
      if (place !== undefined)
        throw new OnwardError('agent/bad-record', `A record of ${name} is not JSON at ${place}.`, { place });
      const { open, turn } = log.state();
      const at = { turn: open?.turn ?? turn, step: open?.lastStep ?? 0 };
      log.add(sessionEvent('plugin.recorded', { ...at, plugin: name, kind, data }));
      await log.store();
    },
    followup: (content) => verbs.accept('followup', content, name),
    steer: (content) => verbs.accept('steer', content, name),
    inject: (content) => verbs.accept('inject', content, name),
    history: () => ({ messages: [...log.state().history], generation: log.state().generation }),
    model: () => verbs.model(),
    async replaceHistory({ generation, from, to, messages, because }) {
      if (log.state().generation !== generation) return false;
      const data = { generation: generation + 1, from, to, messages: deepFreeze([...messages]), by: name, because };
      log.add(sessionEvent('history.replaced', data));
      await log.store();
      return true;
    },
    aside: async (purpose, request, signal) =>
      await aside(rt, { plugin: name, purpose, model: verbs.model() }, request, signal),
  };
}

async function aside(
  rt: Runtime,
  who: { readonly plugin: string; readonly purpose: string; readonly model: Model },
  request: ModelRequest,
  signal: Signal,
): Promise<Aside> {
  const { plugin, purpose, model } = who;
  const hit = limitHit(rt.limits, rt.log.state(), { for: 'request' });
  if (hit !== undefined)
    return { ok: false, failure: { message: `The limit of ${hit.limit} ${hit.unit} is used up.`, type: 'max_budget' } };
  const outcome = await runRequest({
    model,
    request,
    signal,
    clock: rt.clock,
    watchdogs: rt.watchdogs,
    onPart: () => undefined,
  });
  const usage = outcome.kind === 'completed' ? outcome.answer.usage : outcome.usage;
  const failure =
    outcome.kind === 'failed'
      ? outcome.failure
      : outcome.kind === 'aborted'
        ? { message: 'The request was cancelled.', type: 'cancelled' }
        : undefined;
  rt.log.add(
    sessionEvent('aside.finished', {
      plugin,
      purpose,
      model: model.id,
      ...(usage === undefined ? {} : { usage }),
      ...(failure === undefined ? {} : { failure }),
    }),
  );
  rt.limits.within?.spend(rt.id, model.id, usage ?? {});
  if (outcome.kind !== 'completed') return { ok: false, failure: failure ?? { message: 'It did not complete.' } };
  return { ok: true, text: textOf(outcome.answer.parts), ...(usage === undefined ? {} : { usage }) };
}
