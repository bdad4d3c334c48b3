import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { goal, type Goal, type GoalOptions } from '../../../src/agent/plugins/goal/index.ts';
import type { SessionEvent, TurnEnd } from '../../../src/agent/session-events.ts';
import type { Usage } from '../../../src/models/model.ts';
import { createFakeSession, type FakeSession } from './fake-host.ts';

const signal = new AbortController().signal;
const failedEnd = (kind: 'transient' | 'quota' | 'throttled' | 'auth'): TurnEnd => ({
  reason: 'failed',
  failure: { message: `it was ${kind}` },
  class: kind,
  rule: 'test/1:rule',
});
const completed: TurnEnd = { reason: 'completed' };

/** Plays the loop for a goal. */
class Rig {
  readonly session: FakeSession;
  readonly goal: Goal;
  turn: number;
  chain: number;

  constructor(options: Partial<GoalOptions> = {}, events?: readonly SessionEvent[]) {
    this.session = createFakeSession(events === undefined ? {} : { events });
    this.goal = goal({ text: 'Ship it.', maxRounds: 5, ...options });
    this.session.load(this.goal);
    const turns = this.session.events.flatMap((event) => (event.type === 'turn.opened' ? [event.data.turn] : []));
    this.turn = Math.max(0, ...turns);
    this.chain = this.turn;
  }

  /** Id of the prompt that the goal queued last. */
  get prompt(): string {
    return this.session.sent.at(-1)?.id ?? 'none';
  }

  async admit(id: string): Promise<string> {
    const payload = { id, content: [], signal };
    return (await this.session.run('agent/prompt-admission', payload, () => ({ kind: 'allow' }))).kind;
  }

  open(id: string): void {
    this.turn += 1;
    this.chain = this.turn;
    const { turn, chain } = this;
    this.session.emit('turn.opened', { turn, chain, trigger: { kind: 'prompt', id } });
    this.session.emit('input.committed', { items: [{ id }] });
  }

  retry(of: number): void {
    this.turn += 1;
    const { turn, chain } = this;
    this.session.emit('turn.opened', { turn, chain, trigger: { kind: 'retry', of } });
  }

  async step(text: string, more: { readonly effect?: boolean; readonly usage?: Usage } = {}): Promise<void> {
    const at = { turn: this.turn, step: 1 };
    const trigger = { kind: 'prompt', id: '' } as const;
    await this.session.run('agent/pre-step', { ...at, chain: this.chain, signal, trigger }, () => undefined);
    this.session.emit('step.opened', { ...at, model: 'm', messages: 1, generation: 0 });
    this.session.emit('block.closed', { ...at, block: 0, part: { type: 'text', text } });
    if (more.effect === true) {
      const part = { type: 'call', id: 'c', tool: 'write', input: {} } as const;
      this.session.emit('block.closed', { ...at, block: 1, part });
    }
    const usage = more.usage === undefined ? {} : { usage: more.usage };
    this.session.emit('answer.completed', { ...at, blocks: 1, finish: 'stop', ...usage });
    if (more.effect === true) {
      this.session.emit('call.started', { ...at, id: 'c' });
      this.session.emit('call.finished', { ...at, id: 'c', outcome: { ok: true, output: 'written' } });
    }
    this.session.emit('step.closed', { ...at, outcome: 'completed' });
  }

  async stopping(): Promise<void> {
    const payload = { turn: this.turn, step: 1, chain: this.chain, signal, text: '' };
    await this.session.run('agent/turn-stopping', payload, () => undefined);
  }

  async close(end: TurnEnd = completed): Promise<void> {
    this.session.emit('turn.closed', { turn: this.turn, chain: this.chain, end });
    await new Promise((resolve) => void setImmediate(resolve));
  }

  /** A whole round that completes. */
  async round(text: string, more: { readonly effect?: boolean; readonly usage?: Usage } = {}): Promise<void> {
    this.open(this.prompt);
    await this.step(text, more);
    await this.stopping();
    await this.close();
  }

  reservations(): readonly unknown[] {
    return this.session.records('goal', 'round.reserved');
  }
}

describe('a goal', () => {
  it('does nothing until it is started', async () => {
    const rig = new Rig();
    rig.open('somebody');
    await rig.step('hello');
    await rig.stopping();
    await rig.close();
    expect(rig.session.sent).toEqual([]);
    expect(rig.goal.state()).toMatchObject({ status: 'idle', rounds: 0, armed: false });
  });

  it('reserves each round on record before it queues its prompt', async () => {
    const rig = new Rig();
    await rig.goal.start();
    const types = rig.session.events.map((event) => (event.type === 'plugin.recorded' ? event.data.kind : event.type));
    expect(types).toEqual(['goal.started', 'round.reserved', 'message.accepted']);
    expect(rig.session.sent[0]?.text).toContain('round 1 of at most 5');
    expect(rig.session.sent[0]?.text).toContain('Ship it.');
  });

  it('queues the next round while the turn of this one is still open, once however often the turn is about to stop', async () => {
    const rig = new Rig();
    await rig.goal.start();
    rig.open(rig.prompt);
    await rig.step('one');
    await rig.stopping();
    await rig.stopping();
    expect(rig.reservations()).toEqual([{ round: 1 }, { round: 2 }]);
    await rig.close();
    expect(rig.session.sent).toHaveLength(2);
  });

  it('goes on after a turn that ended without asking anybody, e.g. concluded by a tool', async () => {
    const rig = new Rig();
    await rig.goal.start();
    rig.open(rig.prompt);
    await rig.step('one');
    await rig.close({ reason: 'max-tokens' });
    expect(rig.session.sent).toHaveLength(2);
  });

  it('ends after the last round, and says so', async () => {
    const rig = new Rig({ maxRounds: 2 });
    await rig.goal.start();
    await rig.round('a');
    await rig.round('b');
    expect(rig.goal.state()).toMatchObject({ status: 'blocked', because: 'All 2 rounds are used up.', rounds: 2 });
    expect(rig.session.sent).toHaveLength(2);
  });

  it('never queues more rounds than it may, whatever their turns end with', async () => {
    const ends: TurnEnd[] = [completed, { reason: 'max-tokens' }, failedEnd('transient'), { reason: 'interrupted' }];
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 4 }), fc.array(fc.nat(3), { maxLength: 12 }), async (max, plays) => {
        const rig = new Rig({ maxRounds: max, noProgress: 0 });
        await rig.goal.start();
        let last = '';
        for (const play of plays) {
          if (rig.prompt === last || (await rig.admit(rig.prompt)) !== 'allow') break;
          last = rig.prompt;
          rig.open(rig.prompt);
          await rig.step('text');
          if (play < 2) await rig.stopping();
          await rig.close(ends[play]);
          if (play > 1) await rig.goal.start();
        }
        const begun = rig.session.events.filter((event) => event.type === 'turn.opened').length;
        expect(begun).toBeLessThanOrEqual(max);
        expect(rig.goal.state().rounds).toBe(begun);
      }),
      { numRuns: 50 },
    );
  });

  it('A140 counts a round that fails and is retried once, with the outcome of the retry', async () => {
    const rig = new Rig();
    await rig.goal.start();
    rig.open(rig.prompt);
    await rig.close(failedEnd('transient'));
    expect(rig.goal.state()).toMatchObject({ status: 'blocked', because: 'it was transient' });
    rig.retry(1);
    expect(rig.goal.state()).toMatchObject({ status: 'active', because: '', rounds: 1, running: true });
    await rig.step('done so far');
    await rig.stopping();
    await rig.close();
    expect(rig.goal.state()).toMatchObject({ status: 'active', rounds: 1 });
    expect(rig.reservations()).toEqual([{ round: 1 }, { round: 2 }]);
  });

  it('follows the link of a retry over several turns, and not what lies next to it', async () => {
    const rig = new Rig();
    await rig.goal.start();
    rig.open(rig.prompt);
    await rig.close(failedEnd('transient'));
    rig.retry(1);
    await rig.close(failedEnd('transient'));
    rig.retry(2);
    expect(rig.goal.state()).toMatchObject({ status: 'active', rounds: 1, running: true });
  });

  it('leaves its round alone when the turn of somebody else is retried', async () => {
    const rig = new Rig();
    await rig.goal.start();
    const mine = rig.prompt;
    rig.open('yours');
    await rig.close(failedEnd('transient'));
    rig.retry(1);
    expect(rig.goal.state()).toMatchObject({ status: 'active', rounds: 0, running: false });
    await rig.step('yours');
    await rig.stopping();
    await rig.close();
    expect(rig.session.sent).toHaveLength(1);
    rig.open(mine);
    expect(rig.goal.state()).toMatchObject({ rounds: 1, running: true });
  });

  it('leaves a round that is over alone when the turn of somebody else is retried, and does not judge by that turn', async () => {
    const asked: number[] = [];
    const rig = new Rig({ done: ({ round }) => asked.push(round) === 0 });
    await rig.goal.start();
    await rig.round('one');
    rig.open('yours');
    await rig.close(failedEnd('transient'));
    const before = asked.length;
    rig.retry(rig.turn);
    expect(rig.goal.state().running).toBe(false);
    await rig.step('yours');
    await rig.stopping();
    expect(asked).toHaveLength(before);
  });

  it.each([
    ['transient', 'blocked'],
    ['auth', 'blocked'],
    ['quota', 'usage-limited'],
    ['throttled', 'usage-limited'],
  ] as const)('is after a failure of class %s that nobody retries: %s', async (kind, status) => {
    const rig = new Rig();
    await rig.goal.start();
    rig.open(rig.prompt);
    await rig.close(failedEnd(kind));
    expect(rig.goal.state()).toMatchObject({ status, armed: false });
    expect(rig.session.sent).toHaveLength(1);
  });

  it('goes on after a failure when it is started again, with what is left of its rounds', async () => {
    const rig = new Rig();
    await rig.goal.start();
    rig.open(rig.prompt);
    await rig.close(failedEnd('auth'));
    await rig.goal.start();
    expect(rig.reservations()).toEqual([{ round: 1 }, { round: 2 }]);
    await rig.goal.start({ fresh: true });
    expect(rig.reservations()).toEqual([{ round: 1 }, { round: 2 }, { round: 1 }]);
  });

  it('is stopped by the cancel of its round, and then opens no turn for the round that was queued', async () => {
    const rig = new Rig();
    await rig.goal.start();
    rig.open(rig.prompt);
    await rig.step('a');
    await rig.stopping();
    await rig.close({ reason: 'aborted', cause: 'user' });
    expect(rig.goal.state().status).toBe('stopped');
    expect(await rig.admit(rig.prompt)).toBe('block');
  });

  it('is stopped by a cancel that drops its queued round', async () => {
    const rig = new Rig();
    await rig.goal.start();
    rig.session.emit('message.dropped', { ids: [rig.prompt], because: 'cancelled: user' });
    expect(rig.goal.state()).toMatchObject({ status: 'stopped', because: 'Round 1 was dropped: cancelled: user' });
  });

  it('ends when the model says that it is done, lets it finish its turn, and queues nothing more', async () => {
    const rig = new Rig();
    await rig.goal.start();
    rig.open(rig.prompt);
    await rig.step('a');
    expect(await rig.goal.tools[0]?.run({ summary: 'All shipped.' })).toContain('Recorded');
    await rig.stopping();
    await rig.close();
    expect(rig.goal.state()).toMatchObject({ status: 'done', because: 'All shipped.', rounds: 1 });
    expect(rig.session.sent).toHaveLength(1);
    expect(await rig.goal.tools[0]?.run({ summary: 'again' })).toContain('no goal under way');
    expect((await rig.goal.start()).status).toBe('done');
  });

  it('ends when the caller says that it is done', async () => {
    const seen: unknown[] = [];
    const rig = new Rig({
      done: async (round) => {
        seen.push(round);
        return await Promise.resolve(round.text === 'b');
      },
    });
    await rig.goal.start();
    await rig.round('a', { effect: true, usage: { usd: 1, inputTokens: 2, outputTokens: 3 } });
    await rig.round('b');
    expect(rig.goal.state()).toMatchObject({ status: 'done', rounds: 2 });
    expect(seen[0]).toEqual({ round: 1, text: 'a', effects: 1, spent: { usd: 1, tokens: 5, ms: 0 } });
  });

  it('is blocked, with the words, when the caller cannot say whether it is done', async () => {
    const rig = new Rig({
      done: () => {
        throw new Error('no database');
      },
    });
    await rig.goal.start();
    await rig.round('a');
    expect(rig.goal.state()).toMatchObject({ status: 'blocked', because: 'goal.done threw: no database' });
  });

  it('can be stopped by the caller while it is asked', async () => {
    const box: { goal?: Goal } = {};
    const rig = new Rig({
      done: async () => {
        await box.goal?.stop('enough');
        return false;
      },
    });
    box.goal = rig.goal;
    await rig.goal.start();
    await rig.round('a');
    expect(rig.goal.state()).toMatchObject({ status: 'stopped', because: 'enough' });
    expect(rig.session.sent).toHaveLength(1);
  });

  it('ends after rounds in a row that changed nothing and said the same', async () => {
    const rig = new Rig({ maxRounds: 50 });
    await rig.goal.start();
    await rig.round('same');
    await rig.round('same', { effect: true });
    await rig.round('same');
    expect(rig.goal.state()).toMatchObject({ status: 'active', withoutProgress: 1 });
    await rig.round('same');
    expect(rig.goal.state()).toMatchObject({ status: 'blocked', because: '2 rounds in a row made no progress.' });
    expect(rig.goal.state().rounds).toBe(4);
  });

  it('holds its cap on cost before the next request, not only before the next round', async () => {
    const rig = new Rig({ maxUsd: 1 });
    await rig.goal.start();
    rig.open(rig.prompt);
    await rig.step('a', { usage: { usd: 1.5 } });
    await expect(rig.step('b')).rejects.toThrow(expect.objectContaining({ code: 'goal/limit' }));
    await rig.stopping();
    expect(rig.goal.state()).toMatchObject({ status: 'blocked', because: 'The goal has cost 1.5 of 1 USD.' });
  });

  it('counts what failed attempts and asides of its rounds used, and nothing of the turns of others', async () => {
    const rig = new Rig({ maxTokens: 1_000 });
    await rig.goal.start();
    const usage = { inputTokens: 10, outputTokens: 1 };
    const mine = rig.prompt;
    rig.open('yours');
    await rig.step('yours', { usage });
    rig.session.emit('step.closed', { turn: rig.turn, step: 2, outcome: 'failed', usage });
    rig.session.emit('aside.finished', { plugin: 'compaction', purpose: 'summary', model: 'm', usage });
    await rig.close();
    rig.open(mine);
    rig.session.emit('step.closed', { turn: rig.turn, step: 1, outcome: 'failed', usage });
    rig.session.emit('aside.finished', { plugin: 'compaction', purpose: 'summary', model: 'm', usage });
    expect(rig.goal.state().spent.tokens).toBe(22);
  });

  it('does not pretend to keep a cap on cost with a model that names no cost', async () => {
    const rig = new Rig({ maxUsd: 1 });
    await rig.goal.start();
    await rig.round('a', { usage: { inputTokens: 1 } });
    expect(rig.goal.state().because).toContain('maxUsd cannot be kept');
  });

  it('counts the time of its rounds, with their waits, and not the time in which no process ran', async () => {
    const rig = new Rig({ maxMs: 10_000 });
    await rig.goal.start();
    rig.open(rig.prompt);
    rig.session.clock.jump(4_000);
    await rig.step('a');
    const later = new Rig({ maxMs: 10_000 }, rig.session.events);
    later.session.clock.jump(1_000_000);
    later.session.emit('turn.closed', { turn: 1, chain: 1, end: { reason: 'interrupted' } });
    expect(later.goal.state()).toMatchObject({ status: 'active', spent: { ms: 4_000 } });
    await later.goal.start();
    later.open(later.prompt);
    later.session.clock.jump(6_000);
    await expect(later.step('b')).rejects.toThrow('The goal has taken 10000 of 10000 ms.');
  });

  it('does not go on by itself after a restart: a round that was queued opens no turn until it is started', async () => {
    const before = new Rig();
    await before.goal.start();
    const after = new Rig({}, before.session.events);
    expect(after.goal.state()).toMatchObject({ status: 'active', armed: false, rounds: 0 });
    const [old] = before.session.sent;
    expect(await after.admit(old?.id ?? '')).toBe('block');
    after.session.emit('message.dropped', { ids: [old?.id ?? ''], because: 'the goal was not started again' });
  });

  it('starts again after a restart with the same round, in place of the one that was queued', async () => {
    const before = new Rig();
    await before.goal.start();
    const after = new Rig({}, before.session.events);
    const old = before.prompt;
    // Ids of the fake count anew in each process.
    after.session.sent.push({ verb: 'followup', id: 'used', text: '' });
    await after.goal.start();
    expect(after.reservations()).toEqual([{ round: 1 }, { round: 1 }]);
    expect([await after.admit(old), await after.admit(after.prompt)]).toEqual(['block', 'allow']);
    after.session.emit('message.dropped', { ids: [old], because: 'another round has taken its place' });
    expect(after.goal.state().status).toBe('active');
    await after.round('a');
    expect(after.goal.state().rounds).toBe(1);
  });

  it('reserves the same round again when its process died between the reservation and the prompt', async () => {
    const before = new Rig();
    await before.goal.start();
    const after = new Rig({}, before.session.events.slice(0, 2));
    await after.goal.start();
    expect(after.reservations()).toEqual([{ round: 1 }, { round: 1 }]);
    await after.round('a');
    expect(after.goal.state().rounds).toBe(1);
  });

  it('adopts the retry of a round that a crash cut, and goes on from there once it is started', async () => {
    const before = new Rig();
    await before.goal.start();
    before.open(before.prompt);
    const after = new Rig({}, before.session.events);
    await after.goal.start();
    expect(after.reservations()).toEqual([{ round: 1 }]);
    await after.close(failedEnd('transient'));
    after.retry(1);
    await after.step('recovered');
    await after.stopping();
    await after.close();
    expect(after.goal.state().rounds).toBe(1);
    expect(after.reservations()).toEqual([{ round: 1 }, { round: 2 }]);
  });

  it('queues nothing when the reservation cannot be stored, and is then disarmed', async () => {
    const rig = new Rig();
    await rig.goal.start();
    rig.open(rig.prompt);
    await rig.step('a');
    rig.session.recordFault = new Error('disk full');
    await rig.stopping();
    await rig.close();
    expect(rig.session.sent).toHaveLength(1);
    expect(rig.goal.state()).toMatchObject({ status: 'active', armed: false });
    await expect(rig.goal.start()).rejects.toThrow('disk full');
    rig.session.recordFault = undefined;
    await rig.goal.start();
    expect(rig.session.sent).toHaveLength(2);
  });

  it('is quiet after it was unloaded', async () => {
    const rig = new Rig();
    await rig.goal.start();
    rig.open(rig.prompt);
    await rig.session.unload('goal');
    await rig.close();
    expect(rig.session.sent).toHaveLength(1);
    expect(rig.goal.state()).toMatchObject({ status: 'active', armed: false, rounds: 1 });
    await expect(rig.goal.start()).rejects.toThrow(expect.objectContaining({ code: 'agent/disposed' }));
  });

  it('belongs to one agent at a time, and to none before it is loaded', async () => {
    const rig = new Rig();
    expect(() => createFakeSession().load(rig.goal)).toThrow(expect.objectContaining({ code: 'agent/plugin-in-use' }));
    await rig.session.unload('goal');
    createFakeSession().load(rig.goal);
    expect(rig.goal.state().status).toBe('idle');
    const other = goal({ text: 'x', maxRounds: 1 });
    await expect(other.start()).rejects.toThrow(expect.objectContaining({ code: 'agent/plugin-not-loaded' }));
  });

  it.each([
    [{ text: '' }, 'goal.text'],
    [{ maxRounds: 0 }, 'goal.maxRounds'],
    [{ maxRounds: 1.5 }, 'goal.maxRounds'],
    [{ maxRounds: Number.NaN }, 'goal.maxRounds'],
    [{ maxRounds: 1_001 }, 'goal.maxRounds'],
    [{ maxRounds: undefined }, 'goal.maxRounds'],
    [{ maxUsd: 0 }, 'goal.maxUsd'],
    [{ maxUsd: Number.POSITIVE_INFINITY }, 'goal.maxUsd'],
    [{ maxMs: -1 }, 'goal.maxMs'],
    [{ maxMs: 1e15 }, 'goal.maxMs'],
    [{ maxTokens: '5' }, 'goal.maxTokens'],
    [{ noProgress: -1 }, 'goal.noProgress'],
    [{ done: true }, 'goal.done'],
    [{ rounds: 3 }, 'goal.rounds'],
  ])('refuses %j at %s', (options, place) => {
    const whole = { text: 'x', maxRounds: 1, ...options } as never;
    expect(() => goal(whole)).toThrow(expect.objectContaining({ code: 'config/bad-value', place }));
  });
});
