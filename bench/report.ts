/** One line of the report: what was measured of ours and of the other, round by round, and what the ratio should be. */
export interface Row {
  readonly what: string;
  readonly unit: string;
  readonly aim: string;
  /** One figure for each round. */
  readonly ours: readonly number[];
  /** The other's figure of the same round; none where there is nothing to compare with. */
  readonly bare: readonly number[];
}

/** Both sides of one round. */
export interface Pair {
  readonly ours: number;
  readonly bare: number;
}

/** Both sides in turn, in each round the other one first, so that a machine that gets slower or faster hurts both alike. */
export async function sideBySide(
  rounds: number,
  ours: () => number | Promise<number>,
  bare: () => number | Promise<number>,
): Promise<Pick<Row, 'ours' | 'bare'>> {
  const pairs: Pair[] = [];
  for (let round = 0; round < rounds; round++) {
    const pair = { ours: 0, bare: 0 };
    // oxlint-disable-next-line no-await-in-loop -- one after the other is the point
    if (round % 2 === 1) pair.bare = await bare();
    // oxlint-disable-next-line no-await-in-loop -- as above
    pair.ours = await ours();
    // oxlint-disable-next-line no-await-in-loop -- as above
    if (round % 2 === 0) pair.bare = await bare();
    pairs.push(pair);
  }
  return { ours: pairs.map((pair) => pair.ours), bare: pairs.map((pair) => pair.bare) };
}

/** The report as a Markdown table: medians, and the median of the ratios of each round with its quartiles. */
export function markdown(rows: readonly Row[]): string {
  const head = ['what', 'Onward', 'bare', 'ratio (middle half of the rounds)', 'aim'];
  const body = rows.map((row) => {
    const ratios = row.bare.map((bare, round) => (row.ours[round] ?? Number.NaN) / bare);
    const [low, middle, high] = [0.25, 0.5, 0.75].map((part) => rounded(quantile(ratios, part)));
    const spread = ratios.length === 1 ? middle : `${middle} (${low} to ${high})`;
    const figure = (values: readonly number[]): string => `${rounded(quantile(values, 0.5))} ${row.unit}`;
    if (ratios.length === 0) return [row.what, figure(row.ours), '', '', row.aim];
    return [row.what, figure(row.ours), figure(row.bare), spread ?? '', row.aim];
  });
  return [head, head.map(() => '---'), ...body].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(Math.floor(sorted.length * part), sorted.length - 1)] ?? Number.NaN;
}

function rounded(value: number): string {
  if (value >= 100) return value.toFixed(0);
  return value >= 10 ? value.toFixed(1) : value.toFixed(2);
}
