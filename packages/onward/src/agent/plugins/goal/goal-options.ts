import { OnwardError } from '../../../kernel/error.ts';
import { longestMs } from '../../../kernel/policy.ts';
import type { GoalSpent } from './goal-state.ts';

/** A round that is about to end, for the caller's own judgement. */
export interface GoalRound {
  /** From 1. */
  readonly round: number;
  /** The last answer that had any text. */
  readonly text: string;
  /** Calls with an effect that succeeded in this round. */
  readonly effects: number;
  readonly spent: GoalSpent;
}

/** Hard caps. Checked before each round and, but for the rounds, before each request: at most one request goes over. */
export interface GoalLimits {
  /** Rounds in all; a round that is retried counts once. 1 to 1,000. */
  readonly maxRounds: number;
  /** US dollars. A model that does not say what it costs ends the goal, since the cap could not be kept. */
  readonly maxUsd?: number;
  /** Time under way, ms: rounds with their retries and waits, not the time in which no process ran. */
  readonly maxMs?: number;
  /** Tokens, input and output. A model that does not count them ends the goal. */
  readonly maxTokens?: number;
  /** Rounds in a row without a call that changed something and with the same text again. Default 2; 0 = not looked at. */
  readonly noProgress?: number;
}

/** What to reach, and how far to go for it. */
export interface GoalOptions extends GoalLimits {
  readonly text: string;
  /** True when the goal is reached; asked at the end of each round. The model can say so, too, with `goal_done`. */
  readonly done?: (round: GoalRound) => boolean | Promise<boolean>;
}

/** The options with their defaults. */
export interface CheckedGoal extends GoalOptions {
  readonly noProgress: number;
}

const known = new Set(['text', 'maxRounds', 'maxUsd', 'maxMs', 'maxTokens', 'noProgress', 'done']);

/** Throws `config/bad-value` with the place of what is wrong. */
export function checkGoal(options: GoalOptions): CheckedGoal {
  if (typeof options !== 'object' || (options as unknown) === null) throw bad('goal', 'an object');
  for (const key of Object.keys(options))
    if (!known.has(key)) throw bad(`goal.${key}`, 'left out: there is no such option');
  const { text, done, maxRounds, maxUsd, maxMs, maxTokens, noProgress = 2 } = options;
  if (typeof text !== 'string' || text.trim() === '') throw bad('goal.text', 'a text');
  if (done !== undefined && typeof done !== 'function') throw bad('goal.done', 'a function');
  whole('maxRounds', maxRounds, 1, 1_000);
  if (maxUsd !== undefined && !(typeof maxUsd === 'number' && maxUsd > 0 && maxUsd <= 1e6))
    throw bad('goal.maxUsd', 'an amount above 0 and up to 1,000,000');
  if (maxMs !== undefined) whole('maxMs', maxMs, 1, longestMs);
  if (maxTokens !== undefined) whole('maxTokens', maxTokens, 1, 1e12);
  whole('noProgress', noProgress, 0, 1_000);
  return { ...options, noProgress };
}

function whole(name: string, value: unknown, least: number, most: number): void {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < least || value > most || Object.is(value, -0))
    throw bad(`goal.${name}`, `a whole number from ${least} to ${most}`);
}

function bad(place: string, must: string): OnwardError {
  return new OnwardError('config/bad-value', `${place} must be ${must}.`, { place });
}
