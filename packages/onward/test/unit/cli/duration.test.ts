import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseCount, parseDuration, parseSchedule, showDuration } from '../../../src/cli/duration.ts';
import { isOnwardError } from '../../../src/kernel/error.ts';
import { longestMs } from '../../../src/kernel/policy.ts';

/** The error that reading a text throws; fails when it throws none of ours. */
function refusal(read: () => unknown): { readonly code: string; readonly message: string; readonly next: number } {
  try {
    read();
  } catch (error) {
    if (isOnwardError(error)) return { code: error.code, message: error.message, next: error.next.length };
    throw error;
  }
  throw new Error('it was not refused');
}

/** The time that is read, or the code of the refusal. */
function readOrRefusal(text: string): number | string {
  try {
    return parseDuration(text, '--f');
  } catch (error) {
    return isOnwardError(error) ? error.code : String(error);
  }
}

const unitMs = { ms: 1, s: 1_000, m: 60_000, min: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const units = Object.keys(unitMs) as (keyof typeof unitMs)[];

describe('a time on the command line', () => {
  test.each([
    ['0', 0],
    ['0s', 0],
    ['250ms', 250],
    ['90s', 90_000],
    ['10m', 600_000],
    ['10min', 600_000],
    ['1.5h', 5_400_000],
    ['2h', 7_200_000],
    ['30d', 2_592_000_000],
    [' 5s ', 5_000],
    ['0.5ms', 1],
    ['365d', longestMs],
  ])('reads %j as %i ms', (text, ms) => {
    expect(parseDuration(text, '--max-time')).toBe(ms);
  });

  test('reads more than a Node timer can hold, since waits are made of several timers', () => {
    expect(parseDuration('60d', '--max-time')).toBeGreaterThan(2 ** 31 - 1);
  });

  test.each([
    '10x',
    '-5s',
    '+5s',
    '',
    ' ',
    '10',
    '1e3s',
    '0x10s',
    's',
    '1,5h',
    '1h30m',
    'NaN',
    'Infinity',
    'Infinityms',
    '５s',
    '366d',
    '9999999999999h',
    `${'9'.repeat(400)}s`,
    '0.0001ms',
    '10s\n20s',
  ])('refuses %j, names the flag and says what would be right', (text) => {
    const { code, message, next } = refusal(() => parseDuration(text, '--idle-timeout'));
    expect(code).toBe('cli/bad-duration');
    expect(message).toContain('--idle-timeout');
    expect(next).toBeGreaterThan(0);
  });

  test('a time that is not zero never becomes zero, which would mean no limit', () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 2, noNaN: true }), fc.constantFrom(...units), (amount, unit) => {
        const text = `${amount.toFixed(9)}${unit}`;
        fc.pre(Number(amount.toFixed(9)) > 0);
        expect(readOrRefusal(text)).not.toBe(0);
      }),
    );
  });

  test('whole amounts of any unit are exact, and more than a year is refused', () => {
    fc.assert(
      fc.property(fc.nat({ max: 1_000_000_000 }), fc.constantFrom(...units), (amount, unit) => {
        const ms = amount * unitMs[unit];
        expect(readOrRefusal(`${amount}${unit}`)).toBe(ms > longestMs ? 'cli/bad-duration' : ms);
      }),
    );
  });

  test('any text is read as a time within bounds or refused as a usage error, never anything else', () => {
    const texts = fc.oneof(fc.string(), fc.stringMatching(/^-?\d{0,20}(\.\d{0,5})?[a-z]{0,3}$/));
    fc.assert(
      fc.property(texts, (text) => {
        const read = readOrRefusal(text);
        const inBounds = typeof read === 'number' && Number.isInteger(read) && read >= 0 && read <= longestMs;
        expect(inBounds || read === 'cli/bad-duration', String(read)).toBe(true);
      }),
      { numRuns: 500 },
    );
  });
});

describe('a schedule on the command line', () => {
  test.each([
    ['10s,20s,60s', [10_000, 20_000, 60_000]],
    ['10s, 20s', [10_000, 20_000]],
    ['none', []],
    ['0', []],
    ['0s', [0]],
    ['1ms', [1]],
  ])('reads %j', (text, waits) => {
    expect(parseSchedule(text, '--schedule')).toEqual(waits);
  });

  test.each(['', '10s,', ',10s', '10s,,20s', '10s;20s', '10s,x', '10s,-1s', 'None', '10'])('refuses %j', (text) => {
    expect(refusal(() => parseSchedule(text, '--schedule')).code).toBe('cli/bad-duration');
  });
});

describe('a count on the command line', () => {
  test.each([
    ['1', 1],
    ['20', 20],
    ['007', 7],
    ['999999999', 999_999_999],
  ])('reads %j', (text, count) => {
    expect(parseCount(text, '--max-attempts', 1)).toBe(count);
  });

  test.each(['', '0', '-1', '1.5', '1e3', 'ten', ' 5', '99999999999'])('refuses %j', (text) => {
    const { code, message, next } = refusal(() => parseCount(text, '--max-attempts', 1));
    expect(code).toBe('cli/bad-number');
    expect(message).toContain('--max-attempts');
    expect(next).toBeGreaterThan(0);
  });
});

describe('a time for people', () => {
  test.each([
    [0, '0 ms'],
    [950, '950 ms'],
    [1_000, '1 s'],
    [59_499, '59 s'],
    [59_600, '1 min'],
    [200_000, '3 min 20 s'],
    [3_600_000, '1 h'],
    [7_500_000, '2 h 5 min'],
    [43_200_000, '12 h'],
  ])('shows %i ms as %j', (ms, text) => {
    expect(showDuration(ms)).toBe(text);
  });

  test('has at most two units and never 60 of one', () => {
    fc.assert(
      fc.property(fc.nat({ max: longestMs }), (ms) => {
        expect(showDuration(ms)).toMatch(/^\d+ (ms|s|min|h)( \d+ (s|min))?$/);
        expect(showDuration(ms)).not.toMatch(/\b60 (s|min)\b/);
      }),
    );
  });
});
