import { describe, expect, test } from 'vitest';
import fc from 'fast-check';
import { retryAfterMs } from '../../../src/models/retry-after.ts';

const NOW = Date.UTC(2030, 0, 1, 12);
const at = (ms: number): string => new Date(ms).toUTCString();

function read(headers: Readonly<Record<string, string>>, now: number | undefined = NOW): number | undefined {
  return retryAfterMs((name) => headers[name], now);
}

describe('a hint to wait', () => {
  test.each([
    ['3', 3000],
    [' 3 ', 3000],
    ['0.5', 500],
    ['90', 90_000],
    [at(NOW + 5000), 5000],
    ['Tuesday, 01-Jan-30 12:00:05 GMT', 5000],
  ])('of %j is %i ms', (text, ms) => {
    expect(read({ 'retry-after': text })).toBe(ms);
  });

  test.each([
    '0',
    '-5',
    'NaN',
    'Infinity',
    '1e3',
    '',
    'soon',
    '0x10',
    at(NOW),
    at(NOW - 60_000),
    'Monday',
    '2030-01-01',
  ])('of %j says nothing', (text) => {
    expect(read({ 'retry-after': text })).toBeUndefined();
  });

  test('in milliseconds is the more exact one, unless it says nothing', () => {
    expect(read({ 'retry-after-ms': '1234.5', 'retry-after': '9' })).toBe(1235);
    expect(read({ 'retry-after-ms': '0', 'retry-after': '9' })).toBe(9000);
  });

  test("that is a date counts from the server's own clock", () => {
    const headers = { date: at(NOW - 3_600_000), 'retry-after': at(NOW - 3_600_000 + 7000) };

    expect(read(headers)).toBe(7000);
    expect(read(headers, undefined)).toBe(7000);
  });

  test('that is a date says nothing without any clock', () => {
    expect(retryAfterMs((name) => (name === 'retry-after' ? at(NOW + 5000) : undefined))).toBeUndefined();
  });

  test('is a positive, finite number or nothing, whatever the header says', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.double().map(String), fc.date().map(String)), (text) => {
        const ms = read({ 'retry-after': text, 'retry-after-ms': text });
        expect(ms === undefined || (Number.isFinite(ms) && ms > 0)).toBe(true);
      }),
    );
  });
});
