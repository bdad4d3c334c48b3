import { OnwardError } from './error.ts';
import { emptyIdMap, getById, type IdMap, withId } from './id-map.ts';

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

/** An open reservation, or `settled`: which is all that is kept of it, since the sums hold the rest. */
type Entry = { readonly node: string; readonly amounts: Amounts } | 'settled';

/**
 * A tree of limits as plain data. What a child reserves or spends counts in every node above it, so that no branch can
 * spend what the whole does not have. Every change names an id and is idempotent, for any id ever seen: folding a log
 * twice gives the same tree. A change costs about the same however many went before.
 */
export interface Budget {
  readonly nodes: IdMap<Node>;
  readonly entries: IdMap<Entry>;
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

/** A tree with a root and its limits. Throws `budget/bad-amount` for a limit that is no amount. */
export function createBudget(root: string, limits: Amounts): Budget {
  const node: Node = { parent: null, limits: clean(limits), used: {} };
  return { nodes: withId(emptyIdMap<Node>(), root, node), entries: emptyIdMap() };
}

/** Adds a branch; adding the same branch again changes nothing. */
export function addBranch(budget: Budget, name: string, parent: string, limits: Amounts): Budget {
  const node: Node = { parent, limits: clean(limits), used: {} };
  nodeOf(budget, parent);
  if (getById(budget.nodes, name) !== undefined) return budget;
  return { ...budget, nodes: withId(budget.nodes, name, node) };
}

/** Sets amounts aside before the act they pay for. The same id again is the same reservation. */
export function reserve(budget: Budget, node: string, id: string, amounts: Amounts): Reserved {
  const asked = clean(amounts);
  const path = lineage(budget, node);
  if (getById(budget.entries, id) !== undefined) return { ok: true, budget };
  for (const name of path) {
    const { limits, used } = nodeOf(budget, name);
    for (const unit of budgetUnits) {
      const limit = limits[unit];
      const more = asked[unit] ?? 0;
      if (limit === undefined || more === 0) continue;
      const wanted = exact(unit, (used[unit] ?? 0) + more);
      if (wanted > limit) return { ok: false, node: name, unit, limit, wanted };
    }
  }
  return { ok: true, budget: record(budget, id, { node, amounts: asked }, add(budget, path, asked, {})) };
}

/**
 * Replaces a reservation by what was really spent, also when that is more: the truth is recorded and the next
 * reservation is refused. Without a reservation it records the spending. Settling again changes nothing.
 */
export function settle(budget: Budget, node: string, id: string, actual: Amounts): Budget {
  const spent = clean(actual);
  const earlier = getById(budget.entries, id);
  if (earlier === 'settled') return budget;
  const path = lineage(budget, earlier?.node ?? node);
  return record(budget, id, 'settled', add(budget, path, spent, earlier?.amounts ?? {}));
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

function record(budget: Budget, id: string, entry: Entry, nodes: IdMap<Node>): Budget {
  return { nodes, entries: withId(budget.entries, id, entry) };
}

/** The nodes after `more` was added to each of the path and `less` taken away. */
function add(budget: Budget, path: readonly string[], more: Amounts, less: Amounts): IdMap<Node> {
  let { nodes } = budget;
  for (const name of path) {
    const node = nodeOf(budget, name);
    const used: Partial<Record<BudgetUnit, number>> = {};
    for (const unit of budgetUnits) {
      const [before, change] = [node.used[unit] ?? 0, (more[unit] ?? 0) - (less[unit] ?? 0)];
      const sum = change === 0 ? before : exact(unit, before + change);
      if (sum !== 0) used[unit] = sum;
    }
    nodes = withId(nodes, name, { ...node, used });
  }
  return nodes;
}

function lineage(budget: Budget, node: string): readonly string[] {
  const names: string[] = [];
  for (let name: string | null = node; name !== null; name = nodeOf(budget, name).parent) names.push(name);
  return names;
}

function nodeOf(budget: Budget, name: string): Node {
  const node = getById(budget.nodes, name);
  if (node === undefined)
    throw new OnwardError('budget/unknown-node', `There is no budget named ${name}.`, { place: name });
  return node;
}

/**
 * The grid on which amounts of a unit are kept: nano-dollars, else thousandths. Sums are put back on the grid, so that ten
 * times 0.1 is 1 and no order of adding gives another total.
 */
function exact(unit: BudgetUnit, amount: number): number {
  const grid = unit === 'usd' || unit === 'retryUsd' ? 1e9 : 1e3;
  return Math.round(amount * grid) / grid + 0;
}

/** The amounts on the grid. Above the largest (9 million dollars) sums would no longer be exact. */
function clean(amounts: Amounts): Amounts {
  const kept: Partial<Record<BudgetUnit, number>> = {};
  for (const [unit, amount] of Object.entries(amounts)) {
    const known = budgetUnits.find((name) => name === unit);
    const largest = known === 'usd' || known === 'retryUsd' ? 9e6 : 9e12;
    if (known === undefined || typeof amount !== 'number' || !(amount >= 0 && amount <= largest))
      throw new OnwardError(
        'budget/bad-amount',
        `${unit} cannot be ${String(amount)}: amounts are numbers of known units, from 0 to ${largest}.`,
        { place: unit },
      );
    kept[known] = exact(known, amount);
  }
  return kept;
}
