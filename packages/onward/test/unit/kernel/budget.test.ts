import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import {
  addBranch,
  type Amounts,
  type Budget,
  type BudgetUnit,
  budgetUnits,
  createBudget,
  exhausted,
  reserve,
  settle,
  usedOf,
} from '../../../src/kernel/budget.ts';
import { findNonJson } from '../../../src/kernel/json.ts';

const reserved = (budget: Budget, node: string, id: string, amounts: Amounts): Budget => {
  const result = reserve(budget, node, id, amounts);
  if (!result.ok) throw new Error(`refused by ${result.node}: ${result.unit} ${result.wanted} > ${result.limit}`);
  return result.budget;
};

const tree = (limits: Amounts = {}, left: Amounts = {}, right: Amounts = {}): Budget =>
  addBranch(addBranch(createBudget('root', limits), 'left', 'root', left), 'right', 'root', right);

describe('reserve', () => {
  it('counts in the node and in all above it, and in no other', () => {
    const budget = reserved(tree(), 'left', 'a', { attempts: 1, usd: 0.5 });
    expect(usedOf(budget, 'left')).toEqual({ attempts: 1, usd: 0.5 });
    expect(usedOf(budget, 'root')).toEqual({ attempts: 1, usd: 0.5 });
    expect(usedOf(budget, 'right')).toEqual({});
  });

  it('is refused by the first limit in the way, which is named', () => {
    const budget = reserved(tree({ attempts: 3 }, { attempts: 2 }), 'left', 'a', { attempts: 2 });
    expect(reserve(budget, 'left', 'b', { attempts: 1 })).toEqual({
      ok: false,
      node: 'left',
      unit: 'attempts',
      limit: 2,
      wanted: 3,
    });
    const full = reserved(budget, 'right', 'b', { attempts: 1 });
    expect(reserve(full, 'right', 'c', { attempts: 1 })).toMatchObject({
      ok: false,
      node: 'root',
      limit: 3,
      wanted: 4,
    });
  });

  it('the same id again is the same reservation, open or settled, whatever it asks for', () => {
    const budget = reserved(tree({ attempts: 1 }), 'left', 'a', { attempts: 1 });
    expect(reserve(budget, 'right', 'a', { attempts: 5 })).toEqual({ ok: true, budget });
    const settled = settle(budget, 'left', 'a', { attempts: 1 });
    expect(reserve(settled, 'left', 'a', { attempts: 1 })).toEqual({ ok: true, budget: settled });
  });

  it('a limit of zero allows nothing, an absent one everything', () => {
    expect(reserve(tree({ usd: 0 }), 'left', 'a', { usd: 0.000_001 }).ok).toBe(false);
    expect(reserve(tree(), 'left', 'a', { usd: 9e6 }).ok).toBe(true);
  });

  it('what asks for none of a used-up unit is not in its way', () => {
    const budget = settle(tree({ usd: 1 }), 'left', 'a', { usd: 2 });
    expect(reserve(budget, 'left', 'b', { attempts: 1 }).ok).toBe(true);
    expect(reserve(budget, 'left', 'c', { usd: 0 }).ok).toBe(true);
  });
});

describe('settle', () => {
  it('replaces the reservation by the truth, less or more', () => {
    const open = reserved(tree({ tokens: 100 }), 'left', 'a', { tokens: 100 });
    expect(usedOf(settle(open, 'left', 'a', { tokens: 30 }), 'root')).toEqual({ tokens: 30 });
    const over = settle(open, 'left', 'a', { tokens: 130 });
    expect(usedOf(over, 'root')).toEqual({ tokens: 130 });
    expect(reserve(over, 'right', 'b', { tokens: 1 })).toMatchObject({ ok: false, node: 'root', wanted: 131 });
  });

  it('belongs to the node that reserved, whichever is named now', () => {
    const budget = settle(reserved(tree(), 'left', 'a', { tokens: 5 }), 'right', 'a', { tokens: 7 });
    expect([usedOf(budget, 'left'), usedOf(budget, 'right')]).toEqual([{ tokens: 7 }, {}]);
  });

  it('settling again changes nothing', () => {
    const budget = settle(tree(), 'left', 'a', { tokens: 5 });
    expect(settle(budget, 'left', 'a', { tokens: 50 })).toBe(budget);
  });

  it('with nothing gives a reservation back', () => {
    const budget = settle(reserved(tree({ attempts: 1 }), 'left', 'a', { attempts: 1 }), 'left', 'a', {});
    expect(usedOf(budget, 'root')).toEqual({});
    expect(reserve(budget, 'right', 'b', { attempts: 1 }).ok).toBe(true);
  });
});

describe('exhausted', () => {
  it('names the unit and the node that is used up, nearest first', () => {
    expect(exhausted(tree({ attempts: 1 }), 'left')).toBeUndefined();
    const budget = settle(tree({ usd: 1 }, { attempts: 1 }), 'left', 'a', { attempts: 1, usd: 1 });
    expect(exhausted(budget, 'left')).toEqual({ node: 'left', unit: 'attempts', limit: 1 });
    expect(exhausted(budget, 'right')).toEqual({ node: 'root', unit: 'usd', limit: 1 });
  });
});

describe('bad input', () => {
  const bad: readonly Amounts[] = [
    { usd: Number.NaN },
    { usd: -0.01 },
    { usd: Number.POSITIVE_INFINITY },
    { usd: 9e6 + 1 },
    { tokens: 9e12 + 1 },
    { attempts: '1' as unknown as number },
    { constructor: 1 } as Amounts,
    { euros: 1 } as Amounts,
  ];

  it.each(bad)('%j is no amount, wherever it is given', (amounts) => {
    const acts = [
      (): unknown => createBudget('root', amounts),
      (): unknown => addBranch(tree(), 'x', 'root', amounts),
      (): unknown => reserve(tree(), 'left', 'a', amounts),
      (): unknown => settle(tree(), 'left', 'a', amounts),
    ];
    for (const act of acts) expect(act).toThrow(expect.objectContaining({ code: 'budget/bad-amount' }));
  });

  it('an unknown node is named', () => {
    const acts = [
      (): unknown => addBranch(tree(), 'x', 'nowhere', {}),
      (): unknown => reserve(tree(), 'nowhere', 'a', {}),
      (): unknown => settle(tree(), 'nowhere', 'a', {}),
      (): unknown => exhausted(tree(), 'nowhere'),
      (): unknown => usedOf(tree(), '__proto__'),
    ];
    for (const act of acts) expect(act).toThrow(expect.objectContaining({ code: 'budget/unknown-node' }));
  });

  it('names and ids may be any text', () => {
    let budget = createBudget('__proto__', { attempts: 1 });
    budget = addBranch(budget, 'constructor', '__proto__', {});
    budget = reserved(budget, 'constructor', '__proto__', { attempts: 1 });
    expect(reserve(budget, 'constructor', 'toString', { attempts: 1 }).ok).toBe(false);
    expect(JSON.parse(JSON.stringify(budget))).toEqual(budget);
  });

  it('a minus zero is a zero, since JSON has no other', () => {
    const budget = reserved(tree({ usd: -0 }, { tokens: -0 }), 'left', 'a', { usd: -0 });
    expect(findNonJson(budget)).toBeUndefined();
  });

  it('a branch added again keeps its limits', () => {
    const budget = addBranch(createBudget('root', {}), 'b', 'root', { attempts: 1 });
    expect(addBranch(budget, 'b', 'root', { attempts: 9 })).toBe(budget);
    expect(addBranch(budget, 'root', 'b', {})).toBe(budget);
  });
});

describe('money', () => {
  it('ten times 0.1 fits into 1', () => {
    let budget = tree({ usd: 1 });
    for (let n = 0; n < 10; n++) budget = reserved(budget, 'left', `a${n}`, { usd: 0.1 });
    expect(usedOf(budget, 'root')).toEqual({ usd: 1 });
    expect(reserve(budget, 'left', 'more', { usd: 0.000_000_001 }).ok).toBe(false);
  });

  it('any amounts that add up to the limit in exact arithmetic fit, in any order', () => {
    const nanos = fc.array(fc.integer({ min: 1, max: 3_000_000_000 }), { minLength: 1, maxLength: 40 });
    fc.assert(
      fc.property(nanos, (parts) => {
        const total = parts.reduce((sum, part) => sum + part, 0);
        let budget = tree({ usd: total / 1e9 });
        for (const [n, part] of parts.entries()) budget = reserved(budget, 'left', `a${n}`, { usd: part / 1e9 });
        expect(usedOf(budget, 'root').usd).toBe(total / 1e9);
        expect(reserve(budget, 'right', 'more', { usd: 1e-9 }).ok).toBe(false);
      }),
    );
  });
});

interface Act {
  readonly kind: 'reserve' | 'settle';
  readonly node: 'root' | 'left' | 'right';
  readonly id: string;
  readonly amounts: Amounts;
}

const amount = fc.oneof(fc.integer({ min: 0, max: 50 }), fc.double({ min: 0, max: 50, noNaN: true }));
const amounts: fc.Arbitrary<Amounts> = fc.dictionary(fc.constantFrom<BudgetUnit>(...budgetUnits), amount, {
  maxKeys: 3,
});
const act: fc.Arbitrary<Act> = fc.record({
  kind: fc.constantFrom('reserve', 'settle'),
  node: fc.constantFrom('root', 'left', 'right'),
  id: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'),
  amounts,
});
const play = (budget: Budget, acts: readonly Act[]): Budget => {
  let now = budget;
  for (const { kind, node, id, amounts: some } of acts) {
    if (kind === 'settle') now = settle(now, node, id, some);
    else {
      const result = reserve(now, node, id, some);
      if (result.ok) now = result.budget;
    }
  }
  return now;
};
const limits: Amounts = { attempts: 100, usd: 60, tokens: 80 };

describe('for all histories', () => {
  it('the tree is plain JSON at every point', () => {
    fc.assert(
      fc.property(fc.array(act, { maxLength: 60 }), (acts) => {
        const budget = play(tree(limits, { usd: 30 }), acts);
        expect(JSON.parse(JSON.stringify(budget))).toEqual(budget);
      }),
    );
  });

  it('the same log of what held, folded again, gives the same tree', () => {
    fc.assert(
      fc.property(fc.array(act, { maxLength: 60 }), (acts) => {
        const settles = acts.filter(({ kind }) => kind === 'settle');
        const budget = play(tree(limits), settles);
        expect(play(budget, [...settles, ...settles])).toBe(budget);
      }),
    );
  });

  it('a parent has used what its children have, so that no branch outgrows the whole', () => {
    fc.assert(
      fc.property(fc.array(act, { maxLength: 60 }), (acts) => {
        const budget = play(tree(limits), acts);
        for (const unit of budgetUnits) {
          const children = (usedOf(budget, 'left')[unit] ?? 0) + (usedOf(budget, 'right')[unit] ?? 0);
          expect(usedOf(budget, 'root')[unit] ?? 0).toBeGreaterThanOrEqual(children - 1e-6);
        }
      }),
    );
  });

  it('reservations alone never pass a limit of a node or of one above it', () => {
    fc.assert(
      fc.property(fc.array(act, { maxLength: 60 }), (acts) => {
        const reserves = acts.filter(({ kind }) => kind === 'reserve');
        const budget = play(tree(limits, { usd: 30 }), reserves);
        for (const unit of budgetUnits)
          expect(usedOf(budget, 'root')[unit] ?? 0).toBeLessThanOrEqual(limits[unit] ?? Number.POSITIVE_INFINITY);
        expect(usedOf(budget, 'left').usd ?? 0).toBeLessThanOrEqual(30);
      }),
    );
  });

  it('no order of settling gives another tree', () => {
    const settles = fc.uniqueArray(
      fc.record({ id: fc.string(), usd: fc.double({ min: 0, max: 1_000, noNaN: true }) }),
      {
        selector: ({ id }) => id,
        maxLength: 40,
      },
    );
    const orders = settles.chain((some) =>
      fc.tuple(fc.constant(some), fc.shuffledSubarray(some, { minLength: some.length })),
    );
    fc.assert(
      fc.property(orders, ([one, other]) => {
        const [a, b] = [one, other].map((some) =>
          some.reduce((sum, { id, usd }) => settle(sum, 'left', id, { usd }), tree()),
        );
        expect(a).toEqual(b);
      }),
    );
  });
});

describe('size', () => {
  it('10,000 reservations open at once and then settled keep exact sums, and every id is still known', () => {
    const many = 10_000;
    let budget = tree({ attempts: many, usd: 100 });
    for (let n = 0; n < many; n++) budget = reserved(budget, 'left', `attempt-${n}`, { attempts: 1, usd: 0.001 });
    expect(reserve(budget, 'right', 'more', { attempts: 1 }).ok).toBe(false);
    for (let n = 0; n < many; n++) budget = settle(budget, 'left', `attempt-${n}`, { attempts: 1, usd: 0.000_1 });
    expect(usedOf(budget, 'root')).toEqual({ attempts: many, usd: 1 });
    for (const n of [0, 1, 4_999, many - 1]) expect(settle(budget, 'left', `attempt-${n}`, { usd: 5 })).toBe(budget);
  });

  it('R138 what is spent again is bounded apart from the rest', () => {
    let budget = settle(createBudget('run', { retryTokens: 1_000, retryUsd: 0.5 }), 'run', 'first', {
      tokens: 9_000,
      usd: 4,
    });
    expect(exhausted(budget, 'run')).toBeUndefined();
    let retries = 0;
    while (exhausted(budget, 'run') === undefined && retries < 100) {
      retries += 1;
      budget = settle(budget, 'run', `retry-${retries}`, { tokens: 300, usd: 0.1, retryTokens: 300, retryUsd: 0.1 });
    }
    expect([retries, exhausted(budget, 'run')]).toEqual([4, { node: 'run', unit: 'retryTokens', limit: 1_000 }]);
  });
});
