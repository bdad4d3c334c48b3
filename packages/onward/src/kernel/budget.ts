import { OnwardError } from './error.ts';

/** What can be limited: counts, ms, tokens and US dollars. The `retry` units count only what was spent again. */
export const budgetUnits = [
  'attempts',
  'wallMs',
  'waitMs',
  'tokens',
  'usd',
  'toolCalls',
  'retryTokens',
  'retryUsd',
] as const;

/** One of {@link budgetUnits}. */
export type BudgetUnit = (typeof budgetUnits)[number];

/** Amounts by unit; an absent unit is 0 as an amount and unlimited as a limit. */
export type Amounts = Readonly<Partial<Record<BudgetUnit, number>>>;

interface Node {
  readonly parent: string | null;
  readonly limits: Amounts;
  /** Spent and reserved, of this node and of all below it. */
  readonly used: Amounts;
}

interface Entry {
  readonly node: string;
  readonly amounts: Amounts;
  readonly settled: boolean;
}

/**
 * A tree of limits as plain data. What a child reserves or spends counts in every node above it, so that no branch can
 * spend what the whole does not have. Every change names an id and is idempotent: folding a log twice gives the same tree.
 */
export interface Budget {
  readonly nodes: Readonly<Record<string, Node>>;
  readonly entries: Readonly<Record<string, Entry>>;
}

/** A reservation holds, or the first limit that stands in its way. */
export type Reserved =
  | { readonly ok: true; readonly budget: Budget }
  | {
      readonly ok: false;
      readonly node: string;
      readonly unit: BudgetUnit;
      readonly limit: number;
      readonly wanted: number;
    };

/** A tree with a root and its limits. */
export function createBudget(root: string, limits: Amounts): Budget {
  refuseBadAmounts(limits);
  return { nodes: { [root]: { parent: null, limits, used: {} } }, entries: {} };
}

/** Adds a branch; adding the same branch again changes nothing. */
export function addBranch(budget: Budget, name: string, parent: string, limits: Amounts): Budget {
  refuseBadAmounts(limits);
  nodeOf(budget, parent);
  if (Object.hasOwn(budget.nodes, name)) return budget;
  return { ...budget, nodes: { ...budget.nodes, [name]: { parent, limits, used: {} } } };
}

/** Sets amounts aside before the act they pay for. The same id again is the same reservation. */
export function reserve(budget: Budget, node: string, id: string, amounts: Amounts): Reserved {
  refuseBadAmounts(amounts);
  if (Object.hasOwn(budget.entries, id)) return { ok: true, budget };
  for (const name of lineage(budget, node)) {
    const { limits, used } = nodeOf(budget, name);
    for (const unit of budgetUnits) {
      const limit = limits[unit];
      const wanted = (used[unit] ?? 0) + (amounts[unit] ?? 0);
      if (limit !== undefined && (amounts[unit] ?? 0) > 0 && wanted > limit)
        return { ok: false, node: name, unit, limit, wanted };
    }
  }
  return { ok: true, budget: put(budget, id, { node, amounts, settled: false }) };
}

/**
 * Replaces a reservation by what was really spent, also when that is more: the truth is recorded and the next
 * reservation is refused. Without a reservation it records the spending. Settling again changes nothing.
 */
export function settle(budget: Budget, node: string, id: string, actual: Amounts): Budget {
  refuseBadAmounts(actual);
  const earlier = Object.hasOwn(budget.entries, id) ? budget.entries[id] : undefined;
  if (earlier?.settled === true) return budget;
  return put(budget, id, { node: earlier?.node ?? node, amounts: actual, settled: true });
}

/** The first unit of a node or of one above it that is used up, and where. */
export function exhausted(
  budget: Budget,
  node: string,
): { readonly node: string; readonly unit: BudgetUnit; readonly limit: number } | undefined {
  for (const name of lineage(budget, node)) {
    const { limits, used } = nodeOf(budget, name);
    for (const unit of budgetUnits) {
      const limit = limits[unit];
      if (limit !== undefined && (used[unit] ?? 0) >= limit) return { node: name, unit, limit };
    }
  }
  return undefined;
}

/** Spent and reserved under a node. */
export function usedOf(budget: Budget, node: string): Amounts {
  return nodeOf(budget, node).used;
}

function put(budget: Budget, id: string, entry: Entry): Budget {
  const before = Object.hasOwn(budget.entries, id) ? budget.entries[id]?.amounts : undefined;
  const nodes = { ...budget.nodes };
  for (const name of lineage(budget, entry.node)) {
    const node = nodeOf(budget, name);
    const used: Partial<Record<BudgetUnit, number>> = { ...node.used };
    for (const unit of budgetUnits) {
      const change = (entry.amounts[unit] ?? 0) - (before?.[unit] ?? 0);
      if (change !== 0) used[unit] = (used[unit] ?? 0) + change;
    }
    nodes[name] = { ...node, used };
  }
  return { nodes, entries: { ...budget.entries, [id]: entry } };
}

function lineage(budget: Budget, node: string): readonly string[] {
  const names: string[] = [];
  for (let name: string | null = node; name !== null; name = nodeOf(budget, name).parent) names.push(name);
  return names;
}

function nodeOf(budget: Budget, name: string): Node {
  const node = Object.hasOwn(budget.nodes, name) ? budget.nodes[name] : undefined;
  if (node === undefined)
    throw new OnwardError('budget/unknown-node', `There is no budget named ${name}.`, { place: name });
  return node;
}

function refuseBadAmounts(amounts: Amounts): void {
  for (const [unit, amount] of Object.entries(amounts)) {
    if (typeof amount === 'number' && amount >= 0 && (budgetUnits as readonly string[]).includes(unit)) continue;
    throw new OnwardError(
      'budget/bad-amount',
      `${unit} cannot be ${String(amount)}: amounts are numbers of at least 0.`,
      { place: unit },
    );
  }
}
