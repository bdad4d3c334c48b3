import { afterEach, describe, expect, it } from 'vitest';
import type { Plugin } from '../../../src/agent/plugin.ts';
import { goal } from '../../../src/agent/plugins/goal/index.ts';
import { planMode } from '../../../src/agent/plugins/plan-mode/index.ts';
import type { SessionEvent } from '../../../src/agent/session-events.ts';
import { sessionStream } from '../../../src/agent/session-events.ts';
import { readSession } from '../../../src/agent/session-log.ts';
import { finalText, foldTranscript } from '../../../src/agent/transcript.ts';
import { answerQuestion } from '../../../src/effects/index.ts';
import type { Journal } from '../../../src/kernel/journal.ts';
import { questionStream } from '../../../src/kernel/question.ts';
import {
  type Agent,
  type AnyTool,
  createAgent,
  createMemoryJournal,
  openAgent,
  questions,
} from '../../../src/library/agent/index.ts';
import { systemClock } from '../../../src/processes/index.ts';
import { createScriptedModel, type ModelScript, type ScriptedModel } from '../../../src/testing/scripted-model.ts';

const overloaded = { fail: { message: 'Overloaded', status: 529, type: 'overloaded_error' } } as const;
const agents = new Set<Agent>();

afterEach(async () => {
  for (const agent of agents) await agent[Symbol.asyncDispose]();
  agents.clear();
});

interface Setup {
  readonly script: ModelScript;
  readonly plugins: readonly Plugin[];
  readonly tools?: readonly AnyTool[];
}

interface Started {
  readonly agent: Agent;
  readonly model: ScriptedModel;
  readonly journal: Journal;
  /** Lengths of the session after each append: where a crash can cut it. */
  readonly cuts: ReadonlySet<number>;
}

async function start({ script, plugins, tools }: Setup): Promise<Started> {
  const model = createScriptedModel(script);
  const journal = createMemoryJournal({ clock: systemClock });
  const cuts = new Set<number>();
  const append = journal.append.bind(journal);
  journal.append = async (batch) => {
    const result = await append(batch);
    cuts.add((await journal.read(sessionStream('s'))).length);
    return result;
  };
  const own = tools === undefined ? {} : { tools };
  const agent = await createAgent({ id: 's', model, journal, retry: false, plugins, ...own });
  agents.add(agent);
  return { agent, model, journal, cuts };
}

const eventsOf = async (journal: Journal): Promise<readonly SessionEvent[]> =>
  await readSession(journal, sessionStream('s'));

/** Retries the first failures of the session, after having done something. */
function retrying(times: number, before: () => Promise<void> = () => Promise.resolve()): Plugin {
  let left = times;
  return {
    name: 'retrying',
    setup: (host) =>
      void host.on('agent/request-error', async (_, next) => {
        if (left-- <= 0) return await next();
        await before();
        return { kind: 'retry' };
      }),
  };
}

const anything = {
  '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => ({ value }) },
} as const;

function writer(): AnyTool & { readonly written: unknown[] } {
  const written: unknown[] = [];
  const run = (input: unknown): string => {
    written.push(input);
    return 'written';
  };
  return { name: 'write', description: 'Writes.', input: anything, inputSchema: { type: 'object' }, run, written };
}

describe('plan mode in the loop', () => {
  it('A56 reaches the retry request when it is switched on during recovery, with one notice and the same tools', async () => {
    const plan = planMode({ start: 'acting', instructions: 'PLAN ONLY' });
    const { agent, model } = await start({
      script: [[overloaded], [overloaded], 'done'],
      plugins: [plan, retrying(2, async () => await plan.enter())],
      tools: [...plan.tools, writer()],
    });
    expect(await agent.followup('go').orThrow()).toBe('done');
    const [failed, ...retried] = model.requests;
    expect(failed?.system).not.toContain('PLAN ONLY');
    expect(retried).toHaveLength(2);
    for (const request of retried) {
      expect(request.system).toContain('PLAN ONLY');
      expect(request.tools).toEqual(failed?.tools);
      const notices = JSON.stringify(request.messages).match(/Plan mode was switched on/g);
      expect(notices).toHaveLength(1);
    }
  });

  it('runs no call with an effect before a person approved the plan, and all of them after', async () => {
    const plan = planMode();
    const write = writer();
    const { agent, journal, model } = await start({
      script: [
        [{ call: 'write', input: { n: 1 } }],
        [{ call: 'propose_plan', input: { plan: 'Write 2.' } }],
        [{ call: 'write', input: { n: 2 } }],
        'done',
      ],
      plugins: [plan],
      tools: [...plan.tools, write],
    });
    const prompt = agent.followup('go');
    const waiting = await prompt.settled;
    expect(waiting).toMatchObject({ kind: 'waiting', question: { details: { input: { plan: 'Write 2.' } } } });
    expect([write.written, plan.mode(), plan.proposal()?.state]).toEqual([[], 'planning', 'open']);
    const question = waiting.kind === 'waiting' ? waiting.question.id : '';
    await answerQuestion(journal, question, { choice: 'approve', by: 'ann' }, systemClock);
    expect(await prompt.ended).toMatchObject({ kind: 'done', text: 'done' });
    expect(write.written).toEqual([{ n: 2 }]);
    expect([plan.mode(), plan.proposal()?.state]).toEqual(['acting', 'approved']);
    expect(model.requests.at(-1)?.system).not.toContain('Plan mode is on');
    expect(model.refused).toEqual([]);
  });

  it('goes on planning after a rejection, whose words the model reads', async () => {
    const plan = planMode();
    const write = writer();
    const { agent, journal, model } = await start({
      script: [[{ call: 'propose_plan', input: { plan: 'Delete.' } }], [{ call: 'write', input: {} }], 'well'],
      plugins: [plan],
      tools: [...plan.tools, write],
    });
    const prompt = agent.followup('go');
    await prompt.settled;
    const [asked] = await questions(journal);
    const rejection = { choice: 'deny', by: 'ann', note: 'too much' };
    await answerQuestion(journal, asked?.question.id ?? '', rejection, systemClock);
    expect(await prompt.ended).toMatchObject({ kind: 'done', text: 'well' });
    expect(JSON.stringify(model.requests[1]?.messages)).toContain('too much');
    expect([write.written, plan.mode()]).toEqual([[], 'planning']);
    expect(plan.proposal()).toMatchObject({ state: 'rejected', note: expect.stringContaining('too much') as string });
  });

  it('keeps its mode over a restart', async () => {
    const plan = planMode({ start: 'acting' });
    const { agent, journal } = await start({ script: ['a'], plugins: [plan] });
    await agent.followup('go').orThrow();
    await plan.enter('ann');
    await agent[Symbol.asyncDispose]();
    const again = planMode({ start: 'acting' });
    const model = createScriptedModel(['b']);
    agents.add(await openAgent('s', { journal, model, retry: false, plugins: [again] }));
    expect(again.mode()).toBe('planning');
  });
});

describe('a goal in the loop', () => {
  it('runs rounds until the model says that it is done, and is idle only then', async () => {
    const ship = goal({ text: 'Ship it.', maxRounds: 10 });
    const { agent, model, journal } = await start({
      script: ['one', 'two', [{ call: 'goal_done', input: { summary: 'Shipped.' } }], 'all done'],
      plugins: [ship],
      tools: ship.tools,
    });
    await ship.start();
    await agent.whenIdle();
    expect(ship.state()).toMatchObject({ status: 'done', because: 'Shipped.', rounds: 3, running: false });
    expect(model.requests).toHaveLength(4);
    expect(agent.queued()).toEqual([]);
    expect(finalText(await eventsOf(journal), 3)).toBe('all done');
  });

  it('A140 counts a round that fails and is retried once, from the outcome of the retry', async () => {
    const ship = goal({ text: 'Ship it.', maxRounds: 2, done: ({ text }) => text === 'shipped' });
    const { agent, journal } = await start({
      script: ['one', [overloaded], [overloaded], 'shipped'],
      plugins: [retrying(2), ship],
    });
    await ship.start();
    await agent.whenIdle();
    expect(ship.state()).toMatchObject({ status: 'done', rounds: 2 });
    const turns = foldTranscript(await eventsOf(journal)).entries.flatMap((entry) =>
      entry.entry === 'turn' ? [entry.trigger.kind] : [],
    );
    expect(turns).toEqual(['prompt', 'prompt', 'retry', 'retry']);
  });

  it('is blocked when the retries of a round are exhausted, and goes on when it is started again', async () => {
    const ship = goal({ text: 'Ship it.', maxRounds: 3, done: ({ text }) => text === 'shipped' });
    const { agent } = await start({
      script: [[overloaded], [overloaded], 'shipped'],
      plugins: [retrying(1), ship],
    });
    await ship.start();
    await agent.whenIdle();
    expect(ship.state()).toMatchObject({ status: 'blocked', because: 'Overloaded', rounds: 1, armed: false });
    await ship.start();
    await agent.whenIdle();
    expect(ship.state()).toMatchObject({ status: 'done', rounds: 2 });
  });

  it('ends its turn before the request that would go over its cap', async () => {
    const usage = { inputTokens: 60, outputTokens: 0 };
    const ship = goal({ text: 'Ship it.', maxRounds: 9, maxTokens: 100 });
    const write = writer();
    const { agent, model } = await start({
      script: () => [{ call: 'write' }, { finish: 'calls', usage }],
      plugins: [ship],
      tools: [write],
    });
    await ship.start();
    await agent.whenIdle();
    expect(model.requests).toHaveLength(2);
    expect(ship.state()).toMatchObject({ status: 'blocked', because: 'The goal has used 120 of 100 tokens.' });
  });

  it('is stopped by a cancel', async () => {
    const ship = goal({ text: 'Ship it.', maxRounds: 9 });
    const box: { agent?: Agent } = {};
    const cancels: AnyTool = {
      ...writer(),
      name: 'stop',
      effect: 'none',
      run: () => {
        box.agent?.cancel();
        return null;
      },
    };
    const { agent, model } = await start({ script: ['one', [{ call: 'stop' }]], plugins: [ship], tools: [cancels] });
    box.agent = agent;
    await ship.start();
    await agent.whenIdle();
    expect(ship.state()).toMatchObject({ status: 'stopped', rounds: 2 });
    expect(model.requests).toHaveLength(2);
  });

  it('does not go on by itself in another process, and with one more round when it is started there', async () => {
    const ship = goal({ text: 'Ship it.', maxRounds: 2 });
    const { agent, journal } = await start({
      script: ['one', [{ stall: true }]],
      plugins: [ship],
    });
    await ship.start();
    const running = (): boolean => ship.state().rounds === 2 && ship.state().running;
    while (!running()) await new Promise((resolve) => void setImmediate(resolve));
    await agent[Symbol.asyncDispose]();
    const again = goal({ text: 'Ship it.', maxRounds: 3 });
    const model = createScriptedModel(['user', 'three']);
    const later = await openAgent('s', { journal, model, retry: false, plugins: [again] });
    agents.add(later);
    await later.followup('hello').orThrow();
    expect([model.requests.length, again.state().status, again.state().armed]).toEqual([1, 'active', false]);
    await again.start();
    await later.whenIdle();
    expect(model.requests).toHaveLength(2);
    expect(again.state()).toMatchObject({ status: 'blocked', because: 'All 3 rounds are used up.', rounds: 3 });
  });
});

/** What a machine that lost power after `count` events of the session would find, with its questions as they were asked. */
async function crashedAfter(events: readonly SessionEvent[], count: number, from: Journal): Promise<Journal> {
  const journal = createMemoryJournal({ clock: systemClock });
  const holder = { id: 'gone', host: 'here', pid: 1, startedAt: 'long ago' };
  const claimed = await journal.claim(sessionStream('s'), holder, 60_000);
  if (!claimed.ok) throw new Error('not claimed');
  const kept = events.slice(0, count).map(({ type, v, data }) => ({ type, v, data }));
  await journal.append([{ stream: sessionStream('s'), expected: 0, epoch: claimed.lease.epoch, events: kept }]);
  for (const event of events.slice(0, count)) {
    if (event.type !== 'call.waiting') continue;
    const stream = questionStream(event.data.question);
    const [opened] = await from.read(stream);
    if (opened !== undefined) {
      const { type, v, data } = opened;
      await journal.append([{ stream, expected: 0, events: [{ type, v, data }] }]);
    }
  }
  await journal.release(claimed.lease);
  return journal;
}

const threeRounds = (): ReturnType<typeof goal> => goal({ text: 'Ship it.', maxRounds: 3, noProgress: 0 });

describe('after a crash at any durable write', () => {
  it('a goal that is started again begins no more rounds than it may, and comes to its end', async () => {
    const before = threeRounds();
    const script: ModelScript = ['one', [overloaded], 'two', 'three'];
    const { agent: first, journal: from, cuts } = await start({ script, plugins: [retrying(1), before] });
    await before.start();
    await first.whenIdle();
    const events = await eventsOf(from);
    expect([before.state().rounds, cuts.size > 10]).toEqual([3, true]);
    for (const count of cuts) {
      const journal = await crashedAfter(events, count, from);
      const again = threeRounds();
      const plugins = [again, retrying(count % 2)];
      const options = { journal, model: createScriptedModel(() => 'on'), retry: false, plugins };
      const agent = await openAgent('s', { ...options, recover: count % 3 === 0 });
      agents.add(agent);
      await again.start();
      await agent.whenIdle();
      const turns = (await eventsOf(journal)).filter(
        (event) => event.type === 'turn.opened' && event.data.trigger.kind === 'prompt',
      );
      expect([count, turns.length, again.state().rounds, again.state().status]).toEqual([count, 3, 3, 'blocked']);
    }
  });

  it('a plan that waited can still be approved, and the mode is the one that was durable', async () => {
    const [plan, write] = [planMode(), writer()];
    const script: ModelScript = [
      [{ call: 'propose_plan', input: { plan: 'Write.' } }],
      [{ call: 'write', input: {} }],
      'done',
    ];
    const {
      agent: first,
      journal: from,
      cuts,
    } = await start({ script, plugins: [plan], tools: [...plan.tools, write] });
    const prompt = first.followup('go');
    const asked = await prompt.settled;
    const approval = { choice: 'approve', by: 'ann' };
    await answerQuestion(from, asked.kind === 'waiting' ? asked.question.id : '', approval, systemClock);
    await prompt.ended;
    const events = await eventsOf(from);
    const place = (type: string): number => events.findIndex((event) => event.type === type) + 1;
    const seen: string[] = [];
    for (const count of [...cuts].filter((cut) => cut >= place('call.waiting'))) {
      const journal = await crashedAfter(events, count, from);
      const [again, written] = [planMode(), writer()];
      const model = createScriptedModel([[{ call: 'write', input: {} }], 'done']);
      const options = { journal, model, retry: false, plugins: [again], tools: [...again.tools, written] };
      const agent = await openAgent('s', options);
      agents.add(agent);
      expect([count, again.mode()]).toEqual([count, count < place('call.started') ? 'planning' : 'acting']);
      for (const { question } of await questions(journal)) {
        await answerQuestion(journal, question.id, approval, systemClock);
        const end = await agent.handle(prompt.id)?.ended;
        seen.push(`${end?.kind}, ${again.mode()}, ${written.written.length} written`);
      }
      await agent[Symbol.asyncDispose]();
    }
    // One cut lies between the question and its answer.
    expect(seen[0]).toBe('done, acting, 1 written');
  });
});

describe('the transcript of a real session', () => {
  it('A142 shows the terminal failure beside the retries, from a tail of any length', async () => {
    const { agent, journal } = await start({
      script: ['fine', [overloaded], [overloaded], [{ text: 'half' }, overloaded]],
      plugins: [retrying(2)],
    });
    await agent.followup('one').orThrow();
    expect((await agent.followup('two').settled).kind).toBe('failed');
    const events = await eventsOf(journal);
    const ends = foldTranscript(events).entries.flatMap((entry) => (entry.entry === 'end' ? [entry] : []));
    expect(ends.map(({ shown, supersededBy, retries }) => [shown.title, supersededBy, retries])).toEqual([
      ['Done', undefined, 0],
      ['Failed', 3, 0],
      ['Failed', 4, 1],
      ['Failed', undefined, 2],
    ]);
    for (let k = 1; k <= events.length; k++) {
      const last = foldTranscript(events.slice(-k)).entries.at(-1);
      expect(last).toMatchObject({ entry: 'end', shown: { title: 'Failed' } });
    }
  });
});
