import { type Amounts, type BudgetUnit, budgetUnits, createBudget, exhausted, settle } from '../kernel/budget.ts';
import { OnwardError } from '../kernel/error.ts';
import type { SessionState, Spent } from './session-state.ts';
import type { Allowance } from './tool.ts';
import { isTime } from './tool-set.ts';

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

/** Units that a conversation counts. `wallMs` only of a turn. */
const counted = ['attempts', 'tokens', 'usd', 'toolCalls'] as const;

/** Throws `agent/bad-option` with the path of a limit that is no amount, or of one that nothing counts against. */
export function checkLimits(limits: Limits): void {
  checkAmounts('limits.session', limits.session, counted);
  checkAmounts('limits.turn', limits.turn, [...counted, 'wallMs']);
  const { within } = limits;
  if (within !== undefined && (typeof within?.exhausted !== 'function' || typeof within.spend !== 'function'))
    throw bad('limits.within', 'must be an allowance, as a tool is given one');
}

function checkAmounts(place: string, amounts: Amounts | undefined, units: readonly BudgetUnit[]): void {
  if (amounts === undefined) return;
  if (typeof amounts !== 'object' || amounts === null) throw bad(place, 'must be an object');
  for (const [unit, amount] of Object.entries(amounts)) {
    if (amount === undefined) continue;
    if (!units.some((known) => known === unit))
      throw bad(`${place}.${unit}`, `cannot be limited here; there are ${units.join(', ')}`);
    if (unit === 'usd') {
      if (!(amount >= 0 && amount <= 9e6)) throw bad(`${place}.usd`, 'must be dollars from 0 to 9,000,000');
    } else if (unit === 'wallMs') {
      if (!isTime(amount)) throw bad(`${place}.wallMs`, 'must be a time in ms, at most a year');
    } else if (!(Number.isSafeInteger(amount) && amount >= 0 && amount <= 9e12))
      throw bad(`${place}.${unit}`, 'must be a whole number from 0');
  }
}

function bad(place: string, what: string): OnwardError {
  return new OnwardError('agent/bad-option', `${place} ${what}.`, { place });
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
