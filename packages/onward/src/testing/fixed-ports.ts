import { createHash } from 'node:crypto';
import type { Hash, Ids, Random } from '../kernel/ports.ts';

/** Ids that count: valid UUIDs of version 7, the same in every run of a test. `series` (hex) keeps two sources apart. */
export function createFixedIds(series = ''): Ids {
  const prefix = series.padStart(8, '0');
  let made = 0;
  return {
    uuid: () => {
      made += 1;
      return `${prefix}-0000-7000-8000-${made.toString(16).padStart(12, '0')}`;
    },
  };
}

/** Chance that follows a list; the last sample then stays. Without samples it is 0.5, at which jitter changes nothing. */
export function createFixedRandom(samples: readonly number[] = []): Random {
  let next = 0;
  return {
    next: () => {
      const sample = samples[Math.min(next, samples.length - 1)] ?? 0.5;
      next += 1;
      return sample;
    },
  };
}

/** The real SHA-256. */
export const testHash: Hash = { sha256: (text) => createHash('sha256').update(text, 'utf8').digest('hex') };
