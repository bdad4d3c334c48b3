import { type Agent, type AgentDeps, type AgentOptions, startAgent } from '../../agent/index.ts';
import type { Plugin } from '../../agent/plugin.ts';
import { compaction } from '../../agent/plugins/compaction/index.ts';
import { llmRetry } from '../../agent/plugins/llm-retry/index.ts';
import type { EffectLedger } from '../../effects/effect.ts';
import { createLedger, type LedgerOptions } from '../../effects/index.ts';
import { OnwardError } from '../../kernel/error.ts';
import type { Holder, Journal } from '../../kernel/journal.ts';
import type { Clock, Hash, Ids, Random } from '../../kernel/ports.ts';
import {
  hostIdentity,
  isAlive,
  ownIdentity,
  systemClock,
  systemHash,
  systemIds,
  systemRandom,
} from '../../processes/index.ts';
import { createMemoryJournal } from '../../stores/memory/index.ts';

/** Clocks and chance, for tests. Default: the machine's. */
export interface Ports {
  readonly clock?: Clock;
  readonly random?: Random;
  readonly ids?: Ids;
  readonly hash?: Hash;
}

/** What `createAgent` takes. */
export interface CreateAgentOptions extends AgentOptions {
  /** 1 to 200 letters, digits, `.`, `_` or `-`. Default: a new UUID. */
  readonly id?: string;
  /** Where the session is kept. Default: in memory, for as long as the agent lives. */
  readonly journal?: Journal;
  /** False: no retry of failed model requests, unless a plugin does it. Default: `llmRetry()` after the other plugins. */
  readonly retry?: boolean;
  /** False: a history that no longer fits is not made smaller. Default: `compaction()` after the other plugins. */
  readonly compaction?: boolean;
  readonly ports?: Ports;
}

/** What `openAgent` takes. */
export interface OpenAgentOptions extends Omit<CreateAgentOptions, 'id' | 'journal'> {
  readonly journal: Journal;
  /** Offers a model request that a crash interrupted to the plugins, which may retry it. Default false. */
  readonly recover?: boolean;
}

/** Begins a session. Throws `agent/bad-...` with the place for bad options, `session/exists` for an id that is taken. */
export async function createAgent(options: CreateAgentOptions): Promise<Agent> {
  checkNames(options);
  if (options.journal !== undefined) checkJournal(options.journal);
  const id = options.id === undefined ? (options.ports?.ids ?? systemIds).uuid() : options.id;
  checkId(id);
  return await startAgent(withRecovery(options), depsOf(options), { id, expect: 'new', recover: false });
}

/**
 * Opens a session that is in a journal, and repairs what a crash left open. Nothing runs until there is input, an answer to
 * a question that it waits for, or (`recover`) an owner of the interrupted request. Throws `session/unknown`, `session/held`.
 */
export async function openAgent(id: string, options: OpenAgentOptions): Promise<Agent> {
  checkNames(options);
  checkId(id);
  checkJournal(options.journal);
  return await startAgent(withRecovery(options), depsOf(options), {
    id,
    expect: 'existing',
    recover: options.recover === true,
  });
}

function checkJournal(journal: Partial<Journal> | undefined): void {
  if (typeof journal?.append === 'function') return;
  throw new OnwardError('agent/bad-option', 'journal must be a journal that is open.', {
    place: 'journal',
    next: ["Give what openJournal('agent.db') resolves to."],
  });
}

const known = [
  'id',
  'name',
  'model',
  'instructions',
  'tools',
  'plugins',
  'limits',
  'settings',
  'parallelCalls',
  'watchdogs',
  'onStatus',
  'journal',
  'retry',
  'compaction',
  'ports',
  'recover',
];

/** A slip such as `tool` for `tools` would otherwise make an agent that silently lacks something. */
function checkNames(options: object): void {
  const stranger = Object.keys(options).find((name) => !known.includes(name));
  if (stranger === undefined) return;
  throw new OnwardError('agent/bad-option', `There is no option ${stranger}.`, {
    place: stranger,
    next: [`There are: ${known.join(', ')}.`],
  });
}

/** What is there by default, behind the plugins of the user, unless one of that name is among them. */
function withRecovery(options: Pick<CreateAgentOptions, 'retry' | 'compaction'> & AgentOptions): AgentOptions {
  // What is no list is refused with its place by the agent itself.
  if (options.plugins !== undefined && !Array.isArray(options.plugins)) return options;
  const plugins = [...(options.plugins ?? [])];
  const has = (name: string): boolean => plugins.some((plugin) => (plugin as Plugin | undefined)?.name === name);
  // Nobody can tell pressure where nobody knows the size of the window.
  const pressure = options.model?.contextTokens === undefined ? { pressure: false as const } : {};
  if (options.compaction !== false && !has('compaction')) plugins.push(compaction(pressure));
  if (options.retry !== false && !has('llm-retry')) plugins.push(llmRetry());
  return { ...options, plugins };
}

function depsOf(options: { readonly journal?: Journal; readonly ports?: Ports }): AgentDeps {
  const ports = { clock: systemClock, random: systemRandom, ids: systemIds, hash: systemHash, ...options.ports };
  const journal = options.journal ?? createMemoryJournal({ clock: ports.clock });
  const holder = ownHolder(ports.ids);
  return {
    ...ports,
    journal,
    ledger: ledgerOf(journal, { ...ports, holder }),
    holder,
    isDead,
    ...(options.journal === undefined ? { onEnd: async () => await journal.close() } : {}),
  };
}

/** This process as the holder of leases. */
export function ownHolder(ids: Ids): Holder {
  const { pid, startedAt } = ownIdentity();
  return { id: ids.uuid(), host: hostIdentity(), pid, startedAt };
}

/** True for a holder of this host whose process is gone: nobody waits for its lease to run out. */
export function isDead(holder: Holder): boolean {
  return holder.host === hostIdentity() && !isAlive(holder);
}

const ledgers = new WeakMap<Journal, EffectLedger>();

/** One ledger for a journal in a process: only the one that began a call knows that it still runs. */
function ledgerOf(journal: Journal, ports: Omit<LedgerOptions, 'journal' | 'isDead'>): EffectLedger {
  const ledger = ledgers.get(journal) ?? createLedger({ ...ports, isDead, journal });
  ledgers.set(journal, ledger);
  return ledger;
}

function checkId(id: string): void {
  if (typeof id === 'string' && /^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$/.test(id)) return;
  throw new OnwardError('agent/bad-id', `${JSON.stringify(id)} cannot name a session.`, {
    place: 'id',
    next: ['Use letters, digits, dots, hyphens and underscores.'],
  });
}
