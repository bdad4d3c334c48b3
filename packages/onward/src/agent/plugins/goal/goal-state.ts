import { assertNever, OnwardError } from '../../../kernel/error.ts';
import type { Json } from '../../../kernel/json.ts';
import type { SessionEvent, TurnEnd, Usage } from '../../plugin.ts';

/** `usage-limited`: blocked by a usage limit or throttling, so that the same may work later. */
export type GoalStatus = 'idle' | 'active' | 'done' | 'blocked' | 'usage-limited' | 'stopped';

/** What the rounds have used so far. */
export interface GoalSpent {
  readonly usd: number;
  readonly tokens: number;
  readonly ms: number;
}

/** Where the goal stands, as the log says. */
export interface GoalState {
  /** After a failure: final once the agent is idle, since a retry turn takes it back. */
  readonly status: GoalStatus;
  /** Why it ended; empty before. */
  readonly because: string;
  /** Rounds that have begun; a retried one counts once. */
  readonly rounds: number;
  /** A round is under way. */
  readonly running: boolean;
  readonly spent: GoalSpent;
  /** Rounds in a row without progress. */
  readonly withoutProgress: number;
  /** False after a restart, until `start()`. */
  readonly armed: boolean;
}

/** How a goal ended. `provisional`: by a failed turn, until a retry turn adopts its round. */
export interface Ending {
  readonly status: Exclude<GoalStatus, 'idle' | 'active'>;
  readonly because: string;
  readonly provisional?: true;
}

interface Round {
  /** The turn that runs it now: of its prompt, or of the latest retry. */
  readonly turn: number;
  readonly open: boolean;
  /** Text of the step under way, and of the last answer that had any. */
  readonly coming: string;
  readonly text: string;
  /** Ids of calls with effects that have started in this step, and how many succeeded in this round. */
  readonly started: readonly string[];
  readonly effects: number;
}

/** The fold of a goal. */
export interface GoalFold {
  /** The goal that was started last. */
  readonly goal: string | undefined;
  readonly ending: Ending | undefined;
  readonly rounds: number;
  /** The next round; its message is the first one of the plugin that is accepted after the reservation. */
  readonly reserved: { readonly round: number; readonly message?: string } | undefined;
  /** Messages of the plugin that are queued. */
  readonly queued: readonly string[];
  readonly round: Round | undefined;
  readonly withoutProgress: number;
  /** Text of the round before. */
  readonly before: string | undefined;
  readonly spent: GoalSpent;
  /** Some answer had no price, or no count of tokens. */
  readonly unpriced: boolean;
  readonly uncounted: boolean;
  /** Time and writer of the latest event. */
  readonly last: { readonly at: number; readonly epoch: number | undefined };
}

/** Name of the plugin, of its records and of the sender of its prompts. */
export const pluginName = 'goal';

/** Code of the failure by which a cap ends a turn. */
export const limitCode = 'goal/limit';

/** A session without a goal. */
export const noGoal: GoalFold = {
  goal: undefined,
  ending: undefined,
  rounds: 0,
  reserved: undefined,
  queued: [],
  round: undefined,
  withoutProgress: 0,
  before: undefined,
  spent: { usd: 0, tokens: 0, ms: 0 },
  unpriced: false,
  uncounted: false,
  last: { at: 0, epoch: undefined },
};

type Of<Type extends SessionEvent['type']> = Extract<SessionEvent, { readonly type: Type }>;
type Steps = { readonly [Type in SessionEvent['type']]?: (state: GoalFold, event: Of<Type>) => GoalFold };

const steps: Steps = {
  'plugin.recorded': (state, event) => (event.data.plugin === pluginName ? record(state, event) : state),
  'message.accepted': (state, { data }) => (data.from === pluginName ? queue(state, data.id) : state),
  'message.dropped': drop,
  'turn.opened': openTurn,
  'step.opened': (state, { data }) => inRound(state, data.turn, () => ({ coming: '', started: [] })),
  'block.closed': (state, { data: { turn, part } }) =>
    part.type === 'text' ? inRound(state, turn, (round) => ({ coming: round.coming + part.text })) : state,
  'answer.completed': (state, { data }) =>
    answer(
      inRound(state, data.turn, ({ coming, text }) => ({ text: coming.trim() === '' ? text : coming })),
      data,
    ),
  'call.started': (state, { data }) => inRound(state, data.turn, ({ started }) => ({ started: [...started, data.id] })),
  // What an earlier receipt was found for has changed nothing again.
  'call.finished': (state, { data: { turn, id, outcome } }) =>
    inRound(state, turn, ({ started, effects }) =>
      outcome.ok && outcome.repeated !== true && started.includes(id) ? { effects: effects + 1 } : {},
    ),
  'step.closed': (state, { data }) => (isOwn(state, data.turn) ? spend(state, data.usage) : state),
  'aside.finished': (state, { data }) => (state.round?.open === true ? spend(state, data.usage) : state),
  'turn.closed': closeTurn,
};

/** Adds one event. Which turn belongs to a round is said by its message and by the links of retries, never by what is next. */
export function addToGoal(state: GoalFold, event: SessionEvent): GoalFold {
  const step = steps[event.type] as ((state: GoalFold, event: SessionEvent) => GoalFold) | undefined;
  const timed = tick(state, event);
  return step === undefined ? timed : step(timed, event);
}

/** Time counts while a round is open and one process writes; what lies between two processes does not. */
function tick(state: GoalFold, event: SessionEvent): GoalFold {
  if (state.goal === undefined && event.type !== 'plugin.recorded') return state;
  const { last, spent } = state;
  const counts = state.round?.open === true && last.epoch === event.epoch;
  const ms = counts ? spent.ms + Math.max(0, event.at - last.at) : spent.ms;
  return { ...state, last: { at: event.at, epoch: event.epoch }, spent: ms === spent.ms ? spent : { ...spent, ms } };
}

function isOwn(state: GoalFold, turn: number): boolean {
  return state.round?.open === true && state.round.turn === turn;
}

function inRound(state: GoalFold, turn: number, change: (round: Round) => Partial<Round>): GoalFold {
  const { round } = state;
  return round?.open === true && round.turn === turn ? { ...state, round: { ...round, ...change(round) } } : state;
}

function record(state: GoalFold, event: Of<'plugin.recorded'>): GoalFold {
  const data = fields(event.data.data);
  switch (event.data.kind) {
    case 'goal.started': {
      const goal = textIn(data['text']);
      const anew = data['fresh'] === true || goal !== state.goal;
      const base = anew ? { ...noGoal, last: state.last, queued: state.queued } : state;
      return {
        ...base,
        goal,
        ending: undefined,
        withoutProgress: state.ending === undefined ? base.withoutProgress : 0,
      };
    }
    case 'round.reserved':
      return { ...state, reserved: { round: Number(data['round']) } };
    case 'goal.ended':
      return { ...state, ending: { status: data['status'] as Ending['status'], because: textIn(data['because']) } };
    default: {
      const place = `${event.stream}@${event.position}`;
      throw new OnwardError('journal/bad-event', `${place} is no record of a goal.`, {
        place,
        next: ['Update onward: a newer program wrote this session.'],
      });
    }
  }
}

function fields(data: Json): { readonly [key: string]: Json } {
  return typeof data === 'object' && data !== null && !Array.isArray(data) ? (data as { [key: string]: Json }) : {};
}

function textIn(value: Json | undefined): string {
  return typeof value === 'string' ? value : '';
}

function queue(state: GoalFold, id: string): GoalFold {
  const { reserved } = state;
  const bound = reserved !== undefined && reserved.message === undefined ? { ...reserved, message: id } : reserved;
  return { ...state, queued: [...state.queued, id], reserved: bound };
}

function drop(state: GoalFold, { data: { ids, because } }: Of<'message.dropped'>): GoalFold {
  if (state.queued.length === 0) return state;
  const queued = state.queued.filter((id) => !ids.includes(id));
  const { reserved } = state;
  if (reserved?.message === undefined || !ids.includes(reserved.message)) return { ...state, queued };
  const status = because.startsWith('cancelled') ? 'stopped' : 'blocked';
  const ending: Ending = state.ending ?? { status, because: `Round ${reserved.round} was dropped: ${because}` };
  return { ...state, queued, reserved: undefined, ending };
}

function openTurn(state: GoalFold, { data: { turn, trigger } }: Of<'turn.opened'>): GoalFold {
  const { round, reserved } = state;
  if (trigger.kind === 'retry') {
    if (round === undefined || round.turn !== trigger.of) return state;
    const ending = state.ending?.provisional === true ? undefined : state.ending;
    return { ...state, ending, round: { ...round, turn, open: true, coming: '', started: [] } };
  }
  const queued = state.queued.filter((id) => id !== trigger.id);
  if (reserved?.message !== trigger.id) return { ...state, queued };
  const begun: Round = { turn, open: true, coming: '', text: '', started: [], effects: 0 };
  return { ...state, queued, rounds: reserved.round, reserved: undefined, round: begun };
}

function answer(state: GoalFold, data: Of<'answer.completed'>['data']): GoalFold {
  if (!isOwn(state, data.turn)) return state;
  const { usage } = data;
  const unpriced = state.unpriced || usage?.usd === undefined;
  const uncounted = state.uncounted || (usage?.inputTokens === undefined && usage?.outputTokens === undefined);
  return { ...spend(state, usage), unpriced, uncounted };
}

function spend(state: GoalFold, usage: Usage | undefined): GoalFold {
  if (usage === undefined) return state;
  const { usd, tokens, ms } = state.spent;
  const more = (usage.inputTokens ?? 0) + (usage.outputTokens ?? 0);
  return { ...state, spent: { usd: usd + (usage.usd ?? 0), tokens: tokens + more, ms } };
}

function closeTurn(state: GoalFold, { data: { turn, end } }: Of<'turn.closed'>): GoalFold {
  const { round } = state;
  if (round === undefined || !isOwn(state, turn)) return state;
  const closed = { ...state, round: { ...round, open: false } };
  if (end.reason === 'completed' || end.reason === 'max-tokens')
    return { ...closed, withoutProgress: stillAfter(state), before: round.text };
  return { ...closed, ending: state.ending ?? endingOf(end) };
}

/** Rounds in a row without progress, if the round under way ended now. */
export function stillAfter({ round, before, withoutProgress }: GoalFold): number {
  const progress = round === undefined || round.effects > 0 || round.text !== before;
  return progress ? 0 : withoutProgress + 1;
}

/** What the end of a round's turn means for the goal; `undefined`: nothing, it can go on. */
function endingOf(end: TurnEnd): Ending | undefined {
  switch (end.reason) {
    case 'failed': {
      const limited = end.class === 'quota' || end.class === 'throttled';
      const because = end.failure.message;
      if (end.failure.code === limitCode) return { status: 'blocked', because };
      return { status: limited ? 'usage-limited' : 'blocked', because, provisional: true };
    }
    case 'limit':
      return { status: 'blocked', because: `The ${end.scope} limit of ${end.limit} ${end.unit} is used up.` };
    case 'aborted':
      return { status: 'stopped', because: `A round was cancelled: ${end.cause}` };
    // A process that ends, well or badly, does not end the goal: `start()` goes on.
    case 'disposed':
    case 'interrupted':
    case 'completed':
    case 'max-tokens':
      return undefined;
    default:
      return assertNever(end, 'the end of a round');
  }
}
