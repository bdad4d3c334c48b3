import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readResetTime } from '../../../../src/supervisor/adapters/codex/reset-time.ts';
import { line, play, rollout } from './attempt.ts';

const months = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ');
const sentence = (time: string): string => `You’ve hit your usage limit. Visit https://x or try again at ${time}.`;

/** As codex writes it: seconds cut off, the date only when it is another day. */
function written(at: Date, saidAt: Date): string {
  const time = `${at.getHours() % 12 || 12}:${String(at.getMinutes()).padStart(2, '0')} ${at.getHours() < 12 ? 'AM' : 'PM'}`;
  if (at.toDateString() === saidAt.toDateString()) return time;
  return `${months[at.getMonth()]} ${at.getDate()}th, ${at.getFullYear()} ${time}`;
}

describe('the end of a usage limit as a sentence says it', () => {
  test('is never before the real one and at most a minute after it', () => {
    const moment = fc.integer({ min: Date.UTC(2025, 0, 1), max: Date.UTC(2030, 0, 1) });
    fc.assert(
      fc.property(moment, fc.integer({ min: 1_000, max: 30 * 86_400_000 }), (saidAt, ms) => {
        const end = saidAt + ms;
        const zoneChanges = new Date(saidAt).getTimezoneOffset() !== new Date(end).getTimezoneOffset();
        fc.pre(!zoneChanges);
        const read = readResetTime(sentence(written(new Date(end), new Date(saidAt))), saidAt) ?? 0;
        expect(read).toBeGreaterThanOrEqual(end);
        expect(read - end).toBeLessThanOrEqual(60_000);
      }),
    );
  });

  test.each(['later', '4:10', 'Foo 3rd, 2026 4:10 PM'])('is not guessed: %s', (time) => {
    expect(readResetTime(sentence(time), Date.UTC(2026, 10, 30))).toBeUndefined();
  });

  test('that lies before the sentence was said is not believed', () => {
    const noon = new Date(2026, 10, 30, 12, 0).getTime();
    expect(readResetTime(sentence('4:10 AM'), noon)).toBeUndefined();
    expect(readResetTime(sentence('Dec 3rd, 2025 4:10 AM'), noon)).toBeUndefined();
  });

  test('is used when the session file has no window', () => {
    const said = new Date(2026, 10, 30, 12, 0).getTime();
    const message = sentence('4:10 PM');
    const session = rollout(message, 'usage_limit_exceeded').replace(
      '"type":"task_complete"',
      `"type":"task_complete","completed_at":${said / 1_000}`,
    );
    const { ending } = play([line.failed(message)], { session });
    expect(ending.ok || ending.failure.resetsAt).toBe(new Date(2026, 10, 30, 16, 11).getTime());
  });
});
