import type { RunState, UsageState } from '../supervisor/index.ts';

/** What attempts cost. A sum says `partial` when an attempt reported nothing: then it was more. */
export interface Cost {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly usd: number | null;
  readonly partial: boolean;
}

/** What the committed attempt cost, and what those before it cost: not in vain where they made progress, but paid. */
export function costOf(run: RunState): { readonly useful: Cost; readonly lost: Cost } {
  let before: UsageState | undefined;
  const useful: (UsageState | undefined)[] = [];
  const lost: (UsageState | undefined)[] = [];
  for (const attempt of run.attempts) {
    const own = ownUsage(attempt.usage, before);
    if (attempt.usage !== undefined) before = attempt.usage;
    const counts = attempt.end?.kind === 'committed' || attempt.progressed;
    (counts ? useful : lost).push(own);
  }
  return { useful: sum(useful), lost: sum(lost) };
}

/** A cumulative report counts the whole conversation, so that what came before is taken off. */
function ownUsage(usage: UsageState | undefined, before: UsageState | undefined): UsageState | undefined {
  if (usage?.scope !== 'cumulative' || before?.scope !== 'cumulative') return usage;
  return {
    ...usage,
    inputTokens: Math.max(0, usage.inputTokens - before.inputTokens),
    outputTokens: Math.max(0, usage.outputTokens - before.outputTokens),
  };
}

function sum(parts: readonly (UsageState | undefined)[]): Cost {
  const known = parts.filter((part) => part !== undefined);
  const dollars = known.flatMap((part) => (part.usd === undefined ? [] : [part.usd]));
  return {
    inputTokens: known.reduce((total, part) => total + part.inputTokens, 0),
    outputTokens: known.reduce((total, part) => total + part.outputTokens, 0),
    usd: dollars.length === 0 ? null : dollars.reduce((total, usd) => total + usd, 0),
    partial: known.length < parts.length,
  };
}

/** A cost for people. */
export function showCost({ inputTokens, outputTokens, usd, partial }: Cost): string {
  const dollars = usd === null ? '' : `, $${usd.toFixed(4)}`;
  return `${inputTokens} tokens in, ${outputTokens} out${dollars}${partial ? ' (at least: an attempt ended without a report)' : ''}`;
}
