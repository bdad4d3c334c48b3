import { type Amounts, budgetUnits, createBudget, exhausted, settle } from '../kernel/budget.ts';
import type { SessionState, Spent } from './session-state.ts';
import type { Allowance } from './tool.ts';

/** Hard limits, checked before each request and each call, also on the way of an error. */
export interface Limits {
  /** Of the whole session. `attempts` counts requests; time is not counted here. */
  readonly session?: Amounts;
  /** Of one prompt with all its retries. `wallMs` is a deadline from its start. */
  readonly turn?: Amounts;
  /** The limits of whoever started this agent. */
  readonly within?: Allowance;
}

/** A limit that is used up. */
export interface LimitHit {
  readonly scope: 'session' | 'turn';
  readonly unit: string;
  readonly limit: number;
}

/** Throws `budget/bad-amount` for a limit that is no amount. */
export function checkLimits(limits: Limits): void {
  createBudget('session', limits.session ?? {});
  createBudget('turn', limits.turn ?? {});
}

/**
 * The first limit that leaves no room for one more request. For one more call also `toolCalls`; `inFlight` calls have
 * begun and are not yet counted.
 */
export function limitHit(
  limits: Limits,
  state: SessionState,
  asking: { readonly for: 'request' } | { readonly for: 'call'; readonly inFlight: number },
): LimitHit | undefined {
  const parent = limits.within?.exhausted();
  if (parent !== undefined) return { scope: 'session', ...parent };
  const extra = asking.for === 'call' ? asking.inFlight : 0;
  return (
    hit('session', limits.session, state.spent.session, { extra, asking: asking.for }) ??
    hit('turn', limits.turn, state.spent.chain, { extra, asking: asking.for })
  );
}

function hit(
  scope: LimitHit['scope'],
  limits: Amounts | undefined,
  spent: Spent,
  more: { readonly extra: number; readonly asking: 'request' | 'call' },
): LimitHit | undefined {
  if (limits === undefined) return undefined;
  const relevant = budgetUnits.filter((unit) => unit !== (more.asking === 'call' ? 'attempts' : 'toolCalls'));
  const checked = Object.fromEntries(
    relevant.flatMap((unit) => (limits[unit] === undefined ? [] : [[unit, limits[unit]]])),
  );
  const { attempts, tokens, usd, toolCalls } = spent;
  const amounts: Amounts = { attempts, tokens, usd: Math.min(usd, 9e6), toolCalls: toolCalls + more.extra };
  const found = exhausted(settle(createBudget(scope, checked), scope, 'spent', amounts), scope);
  return found === undefined ? undefined : { scope, unit: found.unit, limit: found.limit };
}
