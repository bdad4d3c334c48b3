import { assertNever } from '../../kernel/error.ts';
import type { Journal } from '../../kernel/journal.ts';
import { event, holder } from './support.ts';

/** What a case asks another process to do, as plain data. */
export type ElsewhereWork =
  /** Append so many events, each at the position it expects, again whenever another was faster. */
  | { readonly kind: 'race'; readonly stream: string; readonly writer: string; readonly count: number }
  /** Append so many events without looking. */
  | { readonly kind: 'add'; readonly stream: string; readonly writer: string; readonly count: number }
  /** Claim a stream for as long as 10 s of wall clock. */
  | { readonly kind: 'claim'; readonly stream: string; readonly writer: string };

/** Positions of the appended events, or the epoch of the claim (empty when refused). */
export type ElsewhereReport = readonly number[];

/** Does the work with a handle of this process. A harness calls it in a process of its own. */
export async function workElsewhere(journal: Journal, work: ElsewhereWork): Promise<ElsewhereReport> {
  switch (work.kind) {
    case 'race':
      return race(journal, work);
    case 'add': {
      const positions: number[] = [];
      for (let n = 1; n <= work.count; n++) positions.push(await addOne(journal, work, n));
      return positions;
    }
    case 'claim': {
      const claimed = await journal.claim(work.stream, holder(work.writer), 10_000);
      return claimed.ok ? [claimed.lease.epoch] : [];
    }
    default:
      return assertNever(work, 'workElsewhere');
  }
}

async function race(journal: Journal, work: ElsewhereWork & { readonly kind: 'race' }): Promise<readonly number[]> {
  const { stream, writer, count } = work;
  const positions: number[] = [];
  let expected = 0;
  while (positions.length < count) {
    const events = [event(`${writer} ${positions.length + 1}`)];
    const appended = await journal.append([{ stream, expected, events }]);
    if (appended.ok) positions.push((expected = appended.positions[stream] ?? 0));
    else if (appended.refusal.kind === 'stale-position') expected = appended.refusal.actual;
    else throw new Error(`refused: ${JSON.stringify(appended.refusal)}`);
  }
  return positions;
}

async function addOne(journal: Journal, work: ElsewhereWork & { readonly kind: 'add' }, n: number): Promise<number> {
  const { stream, writer } = work;
  const appended = await journal.append([{ stream, expected: 'any', events: [event(`${writer} ${n}`)] }]);
  if (!appended.ok) throw new Error(`refused: ${JSON.stringify(appended.refusal)}`);
  return appended.positions[stream] ?? 0;
}
