import type { CheckedGoal } from './goal-options.ts';
import { type Ending, type GoalFold, stillAfter } from './goal-state.ts';

/** Which cap leaves no room for one more request; `undefined`: none. `now`: ms since the epoch. */
export function usedUp(state: GoalFold, limits: CheckedGoal, now: number): string | undefined {
  const { spent, round, last } = state;
  const { maxUsd, maxTokens, maxMs } = limits;
  if (maxUsd !== undefined && spent.usd >= maxUsd)
    return `The goal has cost ${money(spent.usd)} of ${money(maxUsd)} USD.`;
  if (maxUsd !== undefined && state.unpriced)
    return 'The model does not say what it costs, so maxUsd cannot be kept. Set maxTokens instead.';
  if (maxTokens !== undefined && spent.tokens >= maxTokens)
    return `The goal has used ${spent.tokens} of ${maxTokens} tokens.`;
  if (maxTokens !== undefined && state.uncounted)
    return 'The model does not count tokens, so maxTokens cannot be kept. Set maxMs instead.';
  const ms = spent.ms + (round?.open === true ? Math.max(0, now - last.at) : 0);
  if (maxMs !== undefined && ms >= maxMs) return `The goal has taken ${ms} of ${maxMs} ms.`;
  return undefined;
}

/** Whether another round may be reserved; else how the goal ends. */
export function judge(state: GoalFold, limits: CheckedGoal, now: number): Ending | undefined {
  const cap = usedUp(state, limits, now);
  if (cap !== undefined) return { status: 'blocked', because: cap };
  if (state.rounds >= limits.maxRounds)
    return { status: 'blocked', because: `All ${limits.maxRounds} rounds are used up.` };
  const still = state.round?.open === true ? stillAfter(state) : state.withoutProgress;
  if (limits.noProgress > 0 && still >= limits.noProgress)
    return { status: 'blocked', because: `${still} rounds in a row made no progress.` };
  return undefined;
}

function money(usd: number): string {
  return usd.toFixed(4).replace(/\.?0+$/, '');
}
