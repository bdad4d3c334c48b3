import fc from 'fast-check';
import type { PromptHandle } from '../../../src/agent/agent-api.ts';
import { type SessionEvent, sessionStream } from '../../../src/agent/session-events.ts';
import type { Message, Model, ModelRequest } from '../../../src/models/model.ts';
import { createScriptedModel, type FakeClock, type ScriptedItem } from '../../../src/testing/index.ts';
import type { FaultyJournal } from './faulty-journal.ts';
import { type SessionStore, sessionStore } from './session-stores.ts';
import { rounds, startTestAgent, type TestAgent, testTool } from './start-test-agent.ts';

/** What a user, a plugin or an observer does to an agent at any moment. */
export type Act = 'followup' | 'steer' | 'inject' | 'cancel' | 'cancel-keep' | 'replace' | 'steer-twice';

/** One session from beginning to end, with everything that happens to it. */
export interface Scenario {
  readonly prompts: number;
  /** What the model does, in turn; afterwards it answers with a text. */
  readonly answers: readonly (readonly ScriptedItem[])[];
  /** At the nth event: inside the observer, or as soon as the event loop comes round. */
  readonly acts: readonly { readonly at: number; readonly act: Act; readonly inside: boolean }[];
  /** Failed requests that are owned, from the first on. */
  readonly retries: number;
  /** Before every nth step the history is replaced by a summary; 0 = never. */
  readonly compactEvery: number;
  /** The nth append after which the process dies, and whether the session is then opened to recover. */
  readonly kill: { readonly at: number; readonly recover: boolean } | undefined;
  /** The nth append fails. */
  readonly fail: number | undefined;
}

const overloaded = { message: 'Overloaded', status: 529 };

const item: fc.Arbitrary<ScriptedItem> = fc.oneof(
  fc.constant<ScriptedItem>({ text: 'some words', pieces: 3 }),
  fc.constant<ScriptedItem>({ text: ' ' }),
  fc.constant<ScriptedItem>({ thinking: 'hm', opaque: { signature: 'abc' } }),
  fc.constantFrom('look', 'slow', 'bad', 'finish', 'nowhere').map((call): ScriptedItem => ({ call, input: { a: 1 } })),
  fc.constant<ScriptedItem>({ call: 'look', id: 'same' }),
  fc.constant<ScriptedItem>({ call: 'slow', id: 'same' }),
  fc.constant<ScriptedItem>({ usage: { inputTokens: 5, outputTokens: 3 } }),
);

const ending: fc.Arbitrary<ScriptedItem | undefined> = fc.oneof(
  { weight: 6, arbitrary: fc.constant(undefined) },
  {
    weight: 4,
    arbitrary: fc.constantFrom<ScriptedItem>(
      { fail: overloaded },
      { throw: new Error('fetch failed') },
      { cut: true },
      { finish: 'length' },
      { finish: 'content-filter' },
      { call: 'look', raw: '{"a":', open: true },
      { call: 'look', raw: '{"a":' },
      { part: { type: 'delta', block: 99, text: 'x' } },
    ),
  },
);

const answer = fc
  .tuple(fc.array(item, { maxLength: 3 }), ending)
  .map(([items, end]): readonly ScriptedItem[] => (end === undefined ? items : [...items, end]));

const anyAct = fc.record({
  at: fc.integer({ min: 2, max: 60 }),
  act: fc.constantFrom<Act>('followup', 'steer', 'inject', 'cancel', 'cancel-keep', 'replace', 'steer-twice'),
  inside: fc.boolean(),
});

/** Any scenario. */
export const anyScenario: fc.Arbitrary<Scenario> = fc.record({
  prompts: fc.integer({ min: 1, max: 3 }),
  answers: fc.array(answer, { maxLength: 8 }),
  acts: fc.array(anyAct, { maxLength: 4 }),
  retries: fc.integer({ min: 0, max: 4 }),
  compactEvery: fc.integer({ min: 0, max: 3 }),
  kill: fc.option(fc.record({ at: fc.integer({ min: 1, max: 10 }), recover: fc.boolean() }), { nil: undefined }),
  fail: fc.option(fc.integer({ min: 2, max: 12 }), { nil: undefined }),
});

/** What was sent to the model, and the step that was on record last at that moment. */
export interface Sent {
  readonly turn: number;
  readonly step: number;
  readonly request: ModelRequest;
}

/** What a scenario came to. */
export interface Played {
  /** The agent that has the session now. */
  readonly rig: TestAgent;
  readonly stored: readonly SessionEvent[];
  readonly sent: readonly Sent[];
  readonly refused: readonly string[];
  /** Handles of the last process; and how often each has settled. */
  readonly handles: readonly PromptHandle[];
  readonly settled: ReadonlyMap<string, number>;
  readonly clock: FakeClock;
}

/** Plays a scenario to its end: every prompt has been run, dropped or refused. */
export async function playScenario(scenario: Scenario, store: SessionStore = sessionStore('memory')): Promise<Played> {
  const { clock } = store;
  const world: World = { scenario, clock, sent: [], refused: [], requests: 0, events: 0, owned: 0, steps: 0 };
  let life = await startLife(world, await failingAt(store, scenario), false);
  for (let nth = 0; nth < scenario.prompts; nth++) life.send(`prompt ${nth}`);
  await life.rest();
  for (let round = 0; round < 20 && !life.over(); round++) {
    // oxlint-disable-next-line no-await-in-loop -- until all is over
    if (life.died()) life = await nextLife(world, life, store);
    life.send(`wake ${round}`);
    // oxlint-disable-next-line no-await-in-loop
    await life.rest();
  }
  world.refused.push(...life.model.refused);
  const { rig, handles, settled } = life;
  life.end();
  return {
    rig,
    stored: await rig.stored(),
    sent: world.sent,
    refused: world.refused,
    handles,
    settled,
    clock,
  };
}

/** Another process opens the session, and asks for the prompts of the one that died. */
async function nextLife(world: World, last: Life, store: SessionStore): Promise<Life> {
  world.refused.push(...last.model.refused);
  // A session that died before its first event was stored is a new one.
  const journal = await store.open();
  const life = await startLife(world, journal, (await journal.read(sessionStream('s'))).length > 0);
  for (const { id } of last.handles) {
    const known = life.rig.agent.handle(id);
    if (known !== undefined) life.watch(known);
  }
  await life.rest();
  return life;
}

interface World {
  readonly scenario: Scenario;
  readonly clock: FakeClock;
  readonly sent: Sent[];
  readonly refused: string[];
  requests: number;
  events: number;
  owned: number;
  steps: number;
}

interface Life {
  readonly rig: TestAgent;
  readonly model: { readonly refused: readonly string[] };
  readonly handles: PromptHandle[];
  readonly settled: Map<string, number>;
  send(text: string): void;
  watch(handle: PromptHandle): void;
  rest(): Promise<void>;
  died(): boolean;
  /** No act comes any more. */
  end(): void;
  /** Nothing runs, nothing is queued, and every prompt has come to its end. */
  over(): boolean;
}

async function failingAt(store: SessionStore, scenario: Scenario): Promise<FaultyJournal> {
  const journal: FaultyJournal = await store.open((_, nth) => {
    if (nth === scenario.kill?.at) journal.kill();
    if (nth === scenario.fail) throw new Error('No space left');
  });
  return journal;
}

/** One process that works on the session. */
async function startLife(world: World, journal: FaultyJournal, reopen: boolean): Promise<Life> {
  const { scenario, clock } = world;
  const model = createScriptedModel(() => {
    world.requests += 1;
    return scenario.answers[world.requests - 1] ?? 'a last word';
  });
  const seen: SessionEvent[] = [];
  const handles: PromptHandle[] = [];
  const settled = new Map<string, number>();
  const watch = (handle: PromptHandle): void => {
    handles.push(handle);
    settled.set(handle.id, 0);
    void handle.ended.then(() => settled.set(handle.id, (settled.get(handle.id) ?? 0) + 1));
  };
  // Not yet there in the very first events; and a scenario that is over does no more.
  let live: TestAgent | undefined;
  const send = (text: string): void => watch(rig.agent.followup(text));
  const doAct = (one: Act): void => {
    if (live !== undefined && !journal.dead) act(one, live, send);
  };
  const rig: TestAgent = await startTestAgent({
    clock,
    journal,
    reopen,
    recover: scenario.kill?.recover ?? false,
    model: recording(model, seen, world.sent),
    tools: [
      testTool('look', () => 'seen', { parallel: true }),
      testTool('slow', async () => (await rounds(3), 'slowly'), { parallel: true, effect: 'untracked' }),
      testTool('bad', () => {
        throw new Error('bad luck');
      }),
      testTool('finish', (_, context) => (context.conclude(), 'finished')),
    ],
    on: {
      'agent/pre-step': async (_, next) => {
        world.steps += 1;
        if (scenario.compactEvery > 0 && world.steps % scenario.compactEvery === 0) await compact(rig);
        await next();
      },
      'agent/request-error': async (_, next) => {
        world.owned += 1;
        await rounds(1);
        return world.owned <= scenario.retries ? { kind: 'retry' } : await next();
      },
    },
    observe(event) {
      seen.push(event);
      world.events += 1;
      for (const one of scenario.acts) {
        if (one.at !== world.events) continue;
        if (one.inside) doAct(one.act);
        else setImmediate(() => doAct(one.act));
      }
    },
  });
  live = rig;
  return {
    rig,
    end: () => (live = undefined),
    model,
    handles,
    settled,
    send,
    watch,
    died: () => journal.dead,
    over: () => !journal.dead && rig.agent.status === 'idle' && [...settled.values()].every((times) => times > 0),
    async rest() {
      const seenIdle = { yet: false };
      void rig.agent.whenIdle().then(() => (seenIdle.yet = true));
      for (let round = 0; round < 300 && !seenIdle.yet && !journal.dead; round++) await rounds(1);
      await rounds(5);
      for (let round = 0; round < 300 && rig.agent.status === 'running' && !journal.dead; round++) await rounds(1);
    },
  };
}

function act(one: Act, rig: TestAgent, send: (text: string) => void): void {
  const { agent } = rig;
  switch (one) {
    case 'followup':
      return send('one more prompt');
    case 'steer':
      return void agent.steer('steer');
    case 'steer-twice':
      agent.steer('left');
      return void agent.steer('right');
    case 'inject':
      return void agent.inject('context');
    case 'cancel':
      return agent.cancel();
    case 'cancel-keep':
      return agent.cancel('parent', { keepInbox: true });
    case 'replace':
      return void compact(rig);
  }
}

/** Everything before the last message of the user becomes a summary: a cut at which no call is parted from its result. */
async function compact({ host }: TestAgent): Promise<void> {
  const { messages, generation } = host.history();
  const to = messages.findLastIndex(({ role }) => role === 'user');
  if (to <= 0) return;
  const summary: Message = { role: 'user', content: [{ type: 'text', text: `summary of ${to}` }] };
  await host.replaceHistory({ generation, from: 0, to, messages: [summary], because: 'a test' }).catch(() => false);
}

function recording(model: Model, seen: readonly SessionEvent[], sent: Sent[]): Model {
  return {
    id: model.id,
    stream(request, signal) {
      const at = seen.findLast((event) => event.type === 'step.opened');
      if (at?.type === 'step.opened') sent.push({ turn: at.data.turn, step: at.data.step, request });
      return model.stream(request, signal);
    },
  };
}
