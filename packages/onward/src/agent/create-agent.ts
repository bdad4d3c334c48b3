import type { EffectLedger } from '../effects/effect.ts';
import { OnwardError } from '../kernel/error.ts';
import type { Holder, Journal } from '../kernel/journal.ts';
import type { Clock, Hash, Ids, Random } from '../kernel/ports.ts';
import type { Question } from '../kernel/question.ts';
import { followInbox, OpenAgent } from './agent.ts';
import type { Agent } from './agent-api.ts';
import type { AgentOptions } from './agent-options.ts';
import { deepFreeze } from './deep-freeze.ts';
import { Driver } from './driver.ts';
import { createFeed } from './feed.ts';
import { createHandles } from './handles.ts';
import { checkOptions } from './check-options.ts';
import { claimSession, type Expect, type Found, keepLease, repair } from './open-session.ts';
import { plugIn, type Plugged, unloadAll } from './plugin-host.ts';
import type { Plugin } from './plugin.ts';
import type { Runtime } from './runtime.ts';
import { sessionEvent } from './session-events.ts';
import { createSessionLog, type LogParts, type SessionLog, type Stored } from './session-log.ts';
import { createToolSet } from './tool-set.ts';
import { createWaterfalls } from './waterfall.ts';

/** Everything from outside that an agent works with. */
export interface AgentDeps {
  readonly journal: Journal;
  readonly ledger: EffectLedger;
  readonly clock: Clock;
  readonly random: Random;
  readonly ids: Ids;
  readonly hash: Hash;
  readonly holder: Holder;
  readonly isDead: (holder: Holder) => boolean;
  /** Called when the agent is disposed, after its lease was given up. */
  readonly onEnd?: () => Promise<void>;
}

/** Whether the session is new; and whether what a crash interrupted is offered to the plugins. */
export interface Opening {
  readonly id: string;
  readonly expect: Expect;
  readonly recover: boolean;
}

/**
 * Opens a session. Opening never starts work: with `recover` an interrupted request is offered to the plugins as a `crash`, and a
 * turn that waits for a question goes on waiting. Throws `agent/bad-...` with the place for bad options, `session/...` otherwise.
 */
export async function startAgent(options: AgentOptions, deps: AgentDeps, opening: Opening): Promise<Agent> {
  checkOptions(options);
  const tools = createToolSet(options.tools ?? []);
  const { journal, clock } = deps;
  const { lease, stored } = await claimSession(journal, opening.id, { ...deps, expect: opening.expect });
  const lifetime = new AbortController();
  const log = await openLog({ journal, clock, lease }, stored);
  const feed = createFeed(journal, lease.stream);
  const handles = createHandles(feed);
  const asked = createAsked();
  const parts: { driver?: Driver; plugins: Plugged[] } = { plugins: [] };
  const rt: Runtime = {
    ...deps,
    id: opening.id,
    log,
    tools,
    waterfalls: createWaterfalls(),
    model: options.model,
    current: { model: options.model },
    instructions: options.instructions ?? '',
    settings: deepFreeze({ ...options.settings }),
    limits: options.limits ?? {},
    parallelCalls: options.parallelCalls ?? 10,
    watchdogs: { headersMs: 60_000, idleMs: 120_000, ...definedIn(options.watchdogs) },
    live: (event) => feed.live(event),
    waiting: (question, is) => {
      const next = asked.set(question, is);
      const { chain, turn } = log.state();
      if (next === undefined) handles.goOn();
      else if (chain !== undefined) handles.wait(chain.prompt, turn, next);
      parts.driver?.waiting(next !== undefined);
    },
  };
  const driver = new Driver(rt, handles, (status) => {
    feed.live({ type: 'live.status', status });
    options.onStatus?.(status);
  });
  parts.driver = driver;
  log.onDurable((durable) => feed.durable(durable));
  const release = async (): Promise<void> => {
    lifetime.abort(new Error('The agent is disposed.'));
    await journal.release(lease).catch(() => undefined);
    await deps.onEnd?.();
  };
  const agent = new OpenAgent({ rt, driver, feed, handles, plugins: () => parts.plugins, release });
  try {
    plugAll(options.plugins ?? [], { rt, agent, plugged: parts.plugins });
    const found = await begin(rt, options, opening);
    void keepLease(journal, lease, { clock, signal: lifetime.signal, lost: () => driver.lose() });
    void followInbox(rt, lifetime.signal, (cause) => agent.cancel(cause));
    if (log.state().queue.length > 0) driver.park();
    if (found.kind === 'suspended' || (found.kind === 'interrupted' && found.offerable)) driver.resume(found);
    return agent;
  } catch (error) {
    await unloadAll(parts.plugins);
    await release();
    throw error;
  }
}

/** The fields that have a value. */
function definedIn<Fields extends object>(fields: Fields | undefined): Partial<Fields> {
  return Object.fromEntries(Object.entries(fields ?? {}).filter(([, value]) => value !== undefined)) as Partial<Fields>;
}

/** The questions that calls wait for now; says which is the oldest. */
function createAsked(): { set(question: Question, is: boolean): Question | undefined } {
  const open = new Map<string, Question>();
  return {
    set(question, is) {
      if (is) open.set(question.id, question);
      else open.delete(question.id);
      const [oldest] = open.values();
      return oldest;
    },
  };
}

/** A log that cannot be folded is left as it was, and to others. */
async function openLog(parts: LogParts, stored: Stored): Promise<SessionLog> {
  try {
    return createSessionLog(parts, stored);
  } catch (error) {
    await parts.journal.release(parts.lease);
    throw error;
  }
}

function plugAll(
  plugins: readonly Plugin[],
  into: { readonly rt: Runtime; readonly agent: OpenAgent; readonly plugged: Plugged[] },
): void {
  const { rt, agent, plugged } = into;
  for (const plugin of plugins) {
    if (plugged.some(({ name }) => name === plugin.name))
      throw new OnwardError('agent/bad-plugin', `Two plugins are called ${plugin.name}.`, { place: plugin.name });
    plugged.push(
      plugIn(plugin, rt, {
        accept: (kind, content, from) => agent[kind](content, from),
        model: () => rt.current.model,
      }),
    );
  }
}

/** The first event of a new session, or the repair of one that a crash cut short; durable before anything else happens. */
async function begin(rt: Runtime, options: AgentOptions, opening: Opening): Promise<Found> {
  const { log } = rt;
  if (log.state().position === 0) {
    log.add(sessionEvent('session.created', { name: options.name ?? '' }));
    return { kind: 'nothing' };
  }
  const found = repair(log, opening.recover);
  const { open } = log.state();
  if (found.kind === 'interrupted' && opening.recover && !found.offerable && open !== undefined)
    log.add(sessionEvent('turn.closed', { turn: open.turn, chain: open.chain, end: { reason: 'interrupted' } }));
  await log.flush();
  return found;
}
