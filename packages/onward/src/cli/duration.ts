import { OnwardError } from '../kernel/error.ts';
import { longestMs } from '../kernel/policy.ts';

const units: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  min: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/**
 * Reads a duration like `90s`, `1.5h`, `250ms`, `0`; gives ms. A bare number other than 0 is refused, since nobody knows
 * its unit. Throws `cli/bad-duration` naming the flag.
 */
export function parseDuration(text: string, flag: string): number {
  const match = /^(\d{1,15}(?:\.\d{1,15})?)(ms|s|min|m|h|d)?$/.exec(text.trim());
  const amount = Number(match?.[1]);
  const unit = match?.[2];
  if (match === null || (unit === undefined && amount !== 0)) {
    throw bad(flag, `${flag} must be a time like 90s, 10m, 2h or 0; it is ${JSON.stringify(text)}.`);
  }
  const ms = Math.round(amount * (units[unit ?? 'ms'] ?? 1));
  // Rounded to 0 it would mean the opposite: no limit.
  if (ms === 0 && amount !== 0) throw bad(flag, `${flag} must be 0 or at least 1ms; it is ${text}.`);
  if (ms > longestMs) throw bad(flag, `${flag} must be at most a year; it is ${text}.`);
  return ms;
}

/** Reads a schedule like `10s,20s,60s`; `0` or `none` is no retry at all. Throws `cli/bad-duration`. */
export function parseSchedule(text: string, flag: string): readonly number[] {
  if (text === 'none' || text === '0') return [];
  return text.split(',').map((part) => parseDuration(part, flag));
}

/** Reads a whole number of at least `least`. Throws `cli/bad-number`. */
export function parseCount(text: string, flag: string, least: number): number {
  if (/^\d{1,9}$/.test(text) && Number(text) >= least) return Number(text);
  throw new OnwardError(
    'cli/bad-number',
    `${flag} must be a whole number of at least ${least}; it is ${JSON.stringify(text)}.`,
    { place: flag, next: [`For instance: ${flag} ${Math.max(least, 5)}`] },
  );
}

/** A time for people: `950 ms`, `12 s`, `3 min 20 s`, `2 h 5 min`. */
export function showDuration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  const seconds = Math.round(ms / 1_000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return seconds % 60 === 0 ? `${minutes} min` : `${minutes} min ${seconds % 60} s`;
  const hours = Math.floor(minutes / 60);
  return minutes % 60 === 0 ? `${hours} h` : `${hours} h ${minutes % 60} min`;
}

function bad(flag: string, sentence: string): OnwardError {
  return new OnwardError('cli/bad-duration', sentence, {
    place: flag,
    next: ['Give a number and a unit: ms, s, m, h or d.'],
  });
}
