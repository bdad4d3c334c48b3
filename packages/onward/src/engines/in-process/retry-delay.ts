const FIRST_MS = 1000;
const LONGEST_MS = 60_000;

/**
 * How long to leave something alone after it threw for the `failures`-th time in a row (from 1), in ms: 1 s, doubling
 * to 60 s, and up to a tenth more by `sample` (in [0, 1)), so that what failed together does not come back together.
 */
export function retryDelay(failures: number, sample: number): number {
  const base = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(failures - 1, 16));
  return base + (base / 10) * sample;
}
