/** One line of the report: ours and the other, in the same unit, and what the ratio should be. */
export interface Row {
  readonly what: string;
  readonly ours: number;
  readonly bare: number | null;
  readonly unit: string;
  /** Higher is better for rates, lower for times. */
  readonly better: 'higher' | 'lower';
  readonly aim: string;
}

/** The report as a Markdown table. */
export function markdown(rows: readonly Row[]): string {
  const head = ['what', 'Onward', 'bare', 'ratio', 'aim'];
  const body = rows.map((row) => [
    row.what,
    `${round(row.ours)} ${row.unit}`,
    row.bare === null ? '' : `${round(row.bare)} ${row.unit}`,
    row.bare === null ? '' : round(row.ours / row.bare),
    row.aim,
  ]);
  return [head, head.map(() => '---'), ...body].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/** The middle one of several measurements. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

/** What each would be if all were the same. */
export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function round(value: number): string {
  if (value >= 100) return value.toFixed(0);
  return value >= 10 ? value.toFixed(1) : value.toFixed(2);
}
