import { z } from 'zod';
import type { Agent, AgentStatus } from '../../../src/agent/agent-api.ts';
import type { AgentOptions } from '../../../src/agent/agent-options.ts';
import { startAgent } from '../../../src/agent/create-agent.ts';
import type { Listener, Plugin, PluginHost, Waterfalls } from '../../../src/agent/plugin.ts';
import { type SessionEvent, type SessionEventData, sessionStream } from '../../../src/agent/session-events.ts';
import { readSession } from '../../../src/agent/session-log.ts';
import type { AnyTool, ToolContext } from '../../../src/agent/tool.ts';
import type { Message, Model } from '../../../src/models/model.ts';
import { createLedger } from '../../../src/effects/index.ts';
import { assertNever } from '../../../src/kernel/error.ts';
import type { Failure } from '../../../src/kernel/failure.ts';
import type { Journal } from '../../../src/kernel/journal.ts';
import type { Json } from '../../../src/kernel/json.ts';
import { createMemoryJournal } from '../../../src/stores/memory/index.ts';
import {
  createFakeClock,
  createFixedIds,
  createFixedRandom,
  createScriptedModel,
  type FakeClock,
  type ModelScript,
  type ScriptedModel,
  testHash,
} from '../../../src/testing/index.ts';

/** Listeners of a test by waterfall, registered in this order as one plugin called `test`. */
export type TestListeners = { readonly [Name in keyof Waterfalls]?: Listener<Name> };

/** What a test says about its agent; everything else is fixed. */
export interface TestAgentOptions extends Omit<AgentOptions, 'model'> {
  /** What the model answers; default: `done` to every request. Ignored where `model` is given. */
  readonly script?: ModelScript;
  readonly model?: Model;
  /** Called in place of plugins of their own; before `plugins`. */
  readonly on?: TestListeners;
  /** Called with each event as it enters the log. */
  readonly observe?: (event: SessionEvent, host: PluginHost) => void;
  readonly journal?: Journal;
  readonly clock?: FakeClock;
  /** Default `s`. */
  readonly id?: string;
  /** Opens a session that is there; its holder counts as dead. */
  readonly reopen?: boolean;
  readonly recover?: boolean;
  /** Keeps the ids of two processes apart, hex. */
  readonly series?: string;
}

/** A running agent and everything a test may want to look at. */
export interface TestAgent {
  readonly agent: Agent;
  readonly model: ScriptedModel;
  readonly journal: Journal;
  readonly clock: FakeClock;
  /** The hands of a plugin. */
  readonly host: PluginHost;
  /** Events in the order in which they entered the log, durable or not. */
  readonly seen: readonly SessionEvent[];
  readonly statuses: readonly AgentStatus[];
  /** What is in the journal. */
  stored(): Promise<readonly SessionEvent[]>;
  /** Data of the events of one type, as they entered the log. */
  data<Type extends SessionEvent['type']>(type: Type): readonly SessionEventData[Type][];
  /** Sends a prompt and waits for its end. */
  ask(text: string): Promise<Awaited<ReturnType<Agent['followup']>['ended']>>;
}

/** A provider's failure that is worth another try. */
export const overloaded: Failure = { message: 'Overloaded', status: 529, type: 'overloaded_error' };

const started: Agent[] = [];

/** Whoever held the session before died. */
const isDead = (): boolean => true;

/** Begins to dispose all agents that a test started; does not wait for those that a test blocked for good. */
export async function endTestAgents(): Promise<void> {
  for (const agent of started.splice(0)) void Promise.resolve(agent[Symbol.asyncDispose]()).catch(() => undefined);
  await rounds();
}

/** Starts an agent on a memory journal, a fake clock and fixed ids, without any retry that a test does not bring itself. */
export async function startTestAgent(options: TestAgentOptions = {}): Promise<TestAgent> {
  const { script = () => 'done', on = {}, observe, id = 's', reopen = false, recover = false, ...own } = options;
  const clock = own.clock ?? createFakeClock();
  const journal = own.journal ?? createMemoryJournal({ clock });
  // A test that brings a model of another kind looks at that one.
  const model = (own.model ?? createScriptedModel(script)) as ScriptedModel;
  const seen: SessionEvent[] = [];
  const statuses: AgentStatus[] = [];
  let host: PluginHost | undefined;
  const test: Plugin = {
    name: 'test',
    setup(given) {
      host = given;
      given.observe((event) => {
        seen.push(event);
        observe?.(event, given);
      });
      for (const name of Object.keys(on) as (keyof Waterfalls)[]) given.on(name, on[name] as never);
    },
  };
  const ids = createFixedIds(own.series ?? (reopen ? 'b' : 'a'));
  const holder = { id: ids.uuid(), host: 'test', pid: 1, startedAt: '' };
  const ports = { clock, ids, random: createFixedRandom(), hash: testHash };
  const ledger = createLedger({ ...ports, journal, holder, isDead });
  const agent = await startAgent(
    {
      ...own,
      model,
      plugins: [test, ...(own.plugins ?? [])],
      onStatus(status) {
        statuses.push(status);
        own.onStatus?.(status);
      },
    },
    { ...ports, journal, ledger, holder, isDead },
    { id, expect: reopen ? 'existing' : 'new', recover },
  );
  started.push(agent);
  if (host === undefined) throw new Error('The test plugin was not set up.');
  return {
    agent,
    model,
    journal,
    clock,
    host,
    seen,
    statuses,
    stored: async () => await readSession(journal, sessionStream(id)),
    data: (type) => seen.flatMap((event) => (event.type === type ? [event.data as never] : [])),
    ask: async (text) => await agent.followup(text).ended,
  };
}

/** Lets everything happen that needs no time: turns of the event loop, not a delay. */
export async function rounds(count: number = 20): Promise<void> {
  // oxlint-disable-next-line no-await-in-loop -- one after the other
  for (let round = 0; round < count; round++) await new Promise<void>((resolve) => setImmediate(resolve));
}

/** Waits for a fact; gives up after very many turns of the event loop. */
export async function until(fact: () => boolean, what: string = fact.toString()): Promise<void> {
  for (let round = 0; round < 100_000; round++) {
    if (fact()) return;
    // oxlint-disable-next-line no-await-in-loop -- until it is so
    await rounds(1);
  }
  throw new Error(`It never came true: ${what}`);
}

/** Lets time pass, timer by timer, until it has settled. */
export async function settle<Value>(clock: FakeClock, promise: Promise<Value>): Promise<Value> {
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

/** A tool without an effect, of any input; does what the test says. */
export function testTool(
  name: string,
  run: (input: Json, context: ToolContext) => Promise<Json> | Json = () => `${name} ran`,
  more: Partial<AnyTool> = {},
): AnyTool {
  return { name, description: name, input: z.json(), effect: 'none', run, ...more };
}

/** The text of each message of a history or a request, roles first, calls and results by their ids. */
export function outline(messages: readonly Message[]): readonly string[] {
  return messages.map(({ role, content }) => `${role}: ${content.map(outlineOf).join(' | ')}`);
}

function outlineOf(part: Message['content'][number]): string {
  switch (part.type) {
    case 'text':
    case 'thinking':
      return part.text;
    case 'media':
      return part.mediaType;
    case 'call':
      return `call ${part.tool}`;
    case 'result':
      return `result ${part.tool}: ${typeof part.output === 'string' ? part.output : JSON.stringify(part.output)}`;
    default:
      return assertNever(part, 'a part');
  }
}
