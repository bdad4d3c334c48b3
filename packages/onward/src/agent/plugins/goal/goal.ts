import { OnwardError } from '../../../kernel/error.ts';
import type { Admission, Plugin, PluginHost, SessionEvent } from '../../plugin.ts';
import { type GoalTool, goalDone, toolName } from './goal-done.ts';
import { checkGoal, type CheckedGoal, type GoalOptions } from './goal-options.ts';
import { addToGoal, type Ending, type GoalFold, type GoalState, limitCode, noGoal, pluginName } from './goal-state.ts';
import { judge, usedUp } from './judge.ts';

export type { GoalTool } from './goal-done.ts';

/** The plugin, its tool, and the switch. One per agent. */
export interface Goal extends Plugin {
  /** Give these to the agent, too, so that the model can say that the goal is reached. */
  readonly tools: readonly GoalTool[];
  /**
   * Queues the first round, or goes on after a restart or an ending, with what is left of the caps; resolves when that is
   * on record. `fresh` (and another text) counts anew. A goal that is done stays so unless `fresh`. Rejects when it cannot
   * be recorded; then nothing was queued.
   */
  start(options?: { readonly fresh?: boolean }): Promise<GoalState>;
  /** No further round. The turn under way goes on: cancel it with the agent. */
  stop(because?: string): Promise<GoalState>;
  state(): GoalState;
}

/**
 * Works towards a goal in rounds: each is one prompt, reserved on record before it is queued, so that nothing is counted
 * twice or lost in a crash. A retry turn of a round is that round. Never begins by itself. Throws `config/bad-value` for bad
 * options; its methods throw `agent/plugin-not-loaded` before an agent has loaded it.
 */
export function goal(options: GoalOptions): Goal {
  const checked = checkGoal(options);
  let driver: Driver | undefined;
  let ended = false;
  const own = (): Driver => {
    if (driver !== undefined) return driver;
    throw new OnwardError('agent/plugin-not-loaded', 'This goal is not part of an agent yet.', {
      next: ['Give it to createAgent as one of its plugins first.'],
    });
  };
  return {
    name: pluginName,
    tools: [goalDone(async (summary) => await own().reached(summary))],
    setup(host) {
      if (driver !== undefined && !ended)
        throw new OnwardError('agent/plugin-in-use', 'This goal belongs to another agent already.', {
          next: ['Make one for each agent.'],
        });
      const active = new Driver(host, checked);
      [driver, ended] = [active, false];
      // What it came to can still be read afterwards.
      return async () => {
        await active.end();
        ended = true;
      };
    },
    start: async ({ fresh = false } = {}) => await own().start(fresh),
    stop: async (because = 'stopped by the user') => await own().stop(because),
    state: () => own().view(),
  };
}

/** Kept as a class for its private mutable parts: whether it may act at all, and the one act under way. */
class Driver {
  readonly #host: PluginHost;
  readonly #goal: CheckedGoal;
  readonly #state: () => GoalFold;
  /** Only ever set by `start()`: a restart continues nothing by itself. */
  #armed = false;
  #tail: Promise<unknown> = Promise.resolve();

  constructor(host: PluginHost, options: CheckedGoal) {
    this.#host = host;
    this.#goal = options;
    this.#state = host.fold(noGoal, addToGoal);
    host.on('agent/prompt-admission', async ({ id }, next) => this.#refused(id) ?? (await next()));
    host.on('agent/pre-step', async ({ turn }, next) => {
      this.#hold(turn);
      await next();
    });
    // The next round is queued while this one is still open, so that the agent is not idle in between.
    host.on('agent/turn-stopping', async ({ turn }, next) => {
      await next();
      if (this.#isRound(turn)) await this.#drive();
    });
    host.observe((event) => this.#seen(event));
  }

  async start(fresh: boolean): Promise<GoalState> {
    if (this.#host.lifetime.aborted)
      throw new OnwardError('agent/disposed', 'The agent of this goal is disposed.', {
        next: ['Open it again, with this goal as one of its plugins, and start the goal then.'],
      });
    const reached = fresh ? undefined : await this.#isDone();
    return await this.#alone(async () => {
      const { ending, goal: before } = this.#state();
      const { text } = this.#goal;
      if (ending?.status === 'done' && !fresh && before === text) return this.view();
      if (fresh || before !== text || ending !== undefined || !this.#armed)
        await this.#host.record('goal.started', { text, fresh });
      this.#armed = true;
      // One that is queued may be parked behind a failure, or be left from an earlier process: another takes its place.
      const { round, reserved } = this.#state();
      if (round?.open !== true || reserved !== undefined) await this.#next(reached, true);
      return this.view();
    });
  }

  async stop(because: string): Promise<GoalState> {
    this.#armed = false;
    return await this.#alone(async () => {
      const { goal: started, ending } = this.#state();
      if (started !== undefined && ending === undefined) await this.#finish({ status: 'stopped', because });
      return this.view();
    });
  }

  async reached(summary: string): Promise<string> {
    return await this.#alone(async () => {
      const { goal: started, ending } = this.#state();
      if (started === undefined || ending !== undefined) return 'There is no goal under way; nothing was recorded.';
      await this.#finish({ status: 'done', because: summary });
      return 'Recorded: the goal is reached. Sum up for the person you work for what was done.';
    });
  }

  async end(): Promise<void> {
    this.#armed = false;
    await this.#tail;
  }

  view(): GoalState {
    const { goal: started, ending, rounds, round, spent, withoutProgress } = this.#state();
    return {
      status: ending?.status ?? (started === undefined ? 'idle' : 'active'),
      because: ending?.because ?? '',
      rounds,
      running: round?.open === true,
      spent,
      withoutProgress,
      armed: this.#armed && ending === undefined,
    };
  }

  /** Acts come one after the other; a failed one does not stand in the way of the next. */
  async #alone<Value>(act: () => Promise<Value>): Promise<Value> {
    const result = this.#tail.then(act);
    this.#tail = result.catch(() => undefined);
    return await result;
  }

  #isRound(turn: number): boolean {
    const { round } = this.#state();
    return round?.open === true && round.turn === turn;
  }

  /** Rounds that nobody asked for in this process, or that are no longer wanted, open no turn. */
  #refused(id: string): Admission | undefined {
    const { queued, reserved, ending } = this.#state();
    if (!queued.includes(id)) return undefined;
    if (reserved?.message !== id) return { kind: 'block', because: 'another round has taken its place' };
    if (ending !== undefined) return { kind: 'block', because: `the goal is ${ending.status}` };
    return this.#armed ? undefined : { kind: 'block', because: 'the goal was not started again' };
  }

  #hold(turn: number): void {
    if (!this.#isRound(turn)) return;
    const because = usedUp(this.#state(), this.#goal, this.#host.clock.now());
    if (because !== undefined) throw new OnwardError(limitCode, because);
  }

  #seen(event: SessionEvent): void {
    if (event.type !== 'turn.closed') return;
    const { reason } = event.data.end;
    // Not after a failure: a retry may follow, and if none does, the goal is blocked by what the log says already.
    if (reason === 'completed' || reason === 'max-tokens' || reason === 'interrupted') void this.#drive();
  }

  /** Never rejects: what cannot be recorded disarms, and the turn under way is none the worse for it. */
  async #drive(): Promise<void> {
    // Outside of `#alone`, since the caller may well stop the goal in there.
    const reached = this.#armed ? await this.#isDone() : undefined;
    await this.#alone(async () => await this.#next(reached, false)).catch(() => undefined);
  }

  /** The next round, or the end. `replace`: also in place of one that is reserved. */
  async #next(reached: Ending | undefined, replace: boolean): Promise<void> {
    const state = this.#state();
    if (!this.#armed || this.#host.lifetime.aborted || state.ending !== undefined) return;
    const ending = reached ?? judge(state, this.#goal, this.#host.clock.now());
    if (ending !== undefined) return await this.#finish(ending);
    if (state.reserved !== undefined && !replace) return;
    const round = state.rounds + 1;
    try {
      await this.#host.record('round.reserved', { round });
      if (this.#armed) this.#host.followup(promptOf(this.#goal, round));
    } catch (error) {
      this.#armed = false;
      throw error;
    }
  }

  async #finish({ status, because }: Ending): Promise<void> {
    this.#armed = false;
    await this.#host.record('goal.ended', { status, because });
  }

  /** The caller's judgement of the round that ends, or has ended. */
  async #isDone(): Promise<Ending | undefined> {
    const { done } = this.#goal;
    const { round, rounds, spent, goal: started } = this.#state();
    if (done === undefined || round === undefined || started !== this.#goal.text) return undefined;
    try {
      const reached = (await done({ round: rounds, text: round.text, effects: round.effects, spent })) as unknown;
      return reached === true ? { status: 'done', because: 'The caller judged it reached.' } : undefined;
    } catch (error) {
      const message = error instanceof Error ? error.message : typeof error;
      return { status: 'blocked', because: `goal.done threw: ${message.slice(0, 300)}` };
    }
  }
}

function promptOf({ text, maxRounds }: CheckedGoal, round: number): string {
  const what = round === 1 ? 'Work towards this goal' : 'Go on working towards the goal';
  return (
    `[Goal, round ${round} of at most ${maxRounds}] ${what}:\n\n${text}\n\n` +
    `Look at what is done already, then do what is missing. When all of it is reached and verified, say so` +
    ` with the tool ${toolName} if you have it.`
  );
}
