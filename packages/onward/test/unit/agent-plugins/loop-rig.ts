import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Plugin } from '../../../src/agent/plugin.ts';
import { readSession } from '../../../src/agent/session-log.ts';
import { type SessionEvent, sessionStream } from '../../../src/agent/session-events.ts';
import type { Journal } from '../../../src/kernel/journal.ts';
import {
  type Agent,
  type AnyTool,
  createAgent,
  createMemoryJournal,
  type CreateAgentOptions,
  openAgent,
  openSqliteJournal,
} from '../../../src/library/agent/index.ts';
import {
  createFakeClock,
  createFixedIds,
  createFixedRandom,
  type FakeClock,
  testHash,
} from '../../../src/testing/index.ts';

/** The stores that every behaviour of a session is shown on. */
export const backends = ['memory', 'sqlite'] as const;
export type Backend = (typeof backends)[number];

/** A real agent on a fake clock. */
export interface LoopRig {
  readonly agent: Agent;
  readonly journal: Journal;
  readonly clock: FakeClock;
  /** Lets time pass, timer by timer, until it is there. */
  settle<Value>(promise: Promise<Value>): Promise<Value>;
  events(): Promise<readonly SessionEvent[]>;
  /** Data of the records of a plugin. */
  records(plugin: string): Promise<readonly unknown[]>;
  /** Opens the session as it stands now in another journal, as after a kill of its process. */
  afterKill(options: RigOptions & { readonly recover?: boolean }): Promise<LoopRig>;
}

export type RigOptions = Omit<CreateAgentOptions, 'journal' | 'ports' | 'plugins' | 'retry'> & {
  readonly plugins: readonly Plugin[];
  readonly samples?: readonly number[];
};

const ends: (() => Promise<void>)[] = [];

/** Ends all agents and removes all files that a test made. */
export async function endRigs(): Promise<void> {
  // oxlint-disable-next-line no-await-in-loop -- in reverse order of creation
  for (const end of ends.splice(0).toReversed()) await end();
}

export async function startRig(options: RigOptions, backend: Backend = 'memory'): Promise<LoopRig> {
  const clock = createFakeClock();
  const { samples, ...own } = options;
  const ports = { clock, random: createFixedRandom(samples), ids: createFixedIds(), hash: testHash };
  const journal = await openJournal(backend, clock);
  const agent = await createAgent({ id: 's', ...own, journal, ports, retry: false });
  return rigOf(agent, journal, clock);
}

async function openJournal(backend: Backend, clock: FakeClock): Promise<Journal> {
  if (backend === 'memory') return createMemoryJournal({ clock });
  const folder = mkdtempSync(join(tmpdir(), 'onward-loop-'));
  ends.push(async () => await Promise.resolve(rmSync(folder, { recursive: true, force: true })));
  return await openSqliteJournal({
    path: join(folder, 'journal.db'),
    clock,
    random: createFixedRandom(),
    hash: testHash,
  });
}

function rigOf(agent: Agent, journal: Journal, clock: FakeClock): LoopRig {
  ends.push(async () => {
    await settle(clock, Promise.resolve(agent[Symbol.asyncDispose]()));
    await journal.close();
  });
  const events = async (): Promise<readonly SessionEvent[]> => await readSession(journal, sessionStream('s'));
  return {
    agent,
    journal,
    clock,
    events,
    settle: async (promise) => await settle(clock, promise),
    records: async (plugin) =>
      (await events()).flatMap(({ type, data }) =>
        type === 'plugin.recorded' && data.plugin === plugin ? [data.data] : [],
      ),
    async afterKill({ recover = false, samples, ...own }) {
      const copy = createMemoryJournal({ clock });
      const stream = sessionStream('s');
      const holder = { id: 'dead', host: 'elsewhere', pid: 1, startedAt: '' };
      const claimed = await copy.claim(stream, holder, 1);
      if (!claimed.ok) throw new Error('The copy is held.');
      const { epoch } = claimed.lease;
      const found = await journal.read(stream);
      const copied = found.map(({ type, v, data }) => ({ type, v, data }));
      await copy.append([{ stream, expected: 0, epoch, events: copied }]);
      await copy.release(claimed.lease);
      const ports = { clock, random: createFixedRandom(samples), ids: createFixedIds('b'), hash: testHash };
      return rigOf(await openAgent('s', { ...own, journal: copy, ports, retry: false, recover }), copy, clock);
    },
  };
}

async function settle<Value>(clock: FakeClock, promise: Promise<Value>): Promise<Value> {
  const seen = { over: false };
  const watched = promise.finally(() => (seen.over = true));
  watched.catch(() => undefined);
  for (let round = 0; round < 20_000 && !seen.over; round++) {
    // oxlint-disable-next-line no-await-in-loop -- time passes piece by piece
    await clock.advance(0);
    // oxlint-disable-next-line no-await-in-loop
    if (!seen.over) await clock.advance(clock.pending()[0] ?? 0);
  }
  if (!seen.over) throw new Error('It did not settle, though all timers ran.');
  return await watched;
}

const anything = { '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => ({ value }) } } as const;

/** A tool that remembers what it was called with. */
export function recordingTool(name: string): AnyTool & { readonly inputs: unknown[] } {
  const inputs: unknown[] = [];
  const run = (input: unknown): string => `result ${inputs.push(input)}`;
  return { name, description: name, input: anything, inputSchema: { type: 'object' }, run, inputs };
}
