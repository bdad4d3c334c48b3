import { describe, expect, test } from 'vitest';
import type { Json } from '../../../../src/kernel/json.ts';
import { outcome, play, say } from './support.ts';

const overloaded = 'API Error: 529 Overloaded. This is a server-side issue, usually temporary — try again in a moment.';
const done = say.text('All is done.');

const limit = (info: Json): Json => ({ type: 'rate_limit_event', rate_limit_info: info, session_id: 's' });

describe('a usage limit', () => {
  const text = "You've hit your session limit · resets 4:25pm (UTC)";
  const end = [say.error('rate_limit', text), say.failed(text, 429)];

  test('parks until the time that the event names in seconds', () => {
    const info = { status: 'rejected', resetsAt: 1_796_000_000, rateLimitType: 'five_hour' };
    const { ending } = play([say.init(), limit(info), ...end]);
    expect(ending).toMatchObject({ ok: false, failure: { resetsAt: 1_796_000_000_000 } });
    expect(outcome(ending)).toBe('quota');
  });

  test("is known from the CLI's own words when no event names its end", () => {
    const { ending } = play([say.init(), ...end]);
    expect(outcome(ending)).toBe('quota');
    expect(ending).not.toHaveProperty('failure.resetsAt');
  });

  test('that was only near, or lifted again, leaves a plain throttle alone', () => {
    const plain = 'API Error: Server is temporarily limiting requests (not your usage limit) · later';
    for (const status of ['allowed', 'allowed_warning']) {
      const info = { status, resetsAt: 1_796_000_000 };
      const lines = [say.init(), limit(info), say.error('rate_limit', plain), say.failed(plain, 429)];
      expect(outcome(play(lines).ending)).toBe('throttled');
    }
  });

  test('does not colour a failure of another kind', () => {
    const info = { status: 'rejected', resetsAt: 1_796_000_000 };
    const lines = [say.init(), limit(info), say.error('server_error', overloaded), say.failed(overloaded, 529)];
    const { ending } = play(lines);
    expect(outcome(ending)).toBe('transient');
    expect(ending).not.toHaveProperty('failure.resetsAt');
  });
});

describe('words are not signals', () => {
  const words =
    "rate limit exceeded; 529 Overloaded; API Error: 401; You've hit your session limit; Credit balance is too low";

  test("R34 limit and error words in a tool's output change nothing", () => {
    const lines = [
      say.init(),
      say.call('c1', 'Bash', { command: 'grep -r limit' }),
      say.returned('c1', words),
      done,
      say.result(),
    ];
    expect(play(lines).ending).toEqual({ ok: true, text: 'All is done.' });
  });

  test('R34 nor do they when the run then fails of something else', () => {
    const text = 'API Error: 400 bad';
    const lines = [say.init(), say.returned('c1', words), say.error('unknown', text), say.failed(text, 400)];
    expect(outcome(play(lines, { stderr: words, exit: { code: 1, signal: null } }).ending)).toBe('input');
  });

  test('R34 a run that died with such words on standard error is a crash', () => {
    const played = play([say.init(), say.text(words)], { stderr: words, exit: { code: 1, signal: null } });
    expect(outcome(played.ending)).toBe('crash');
  });

  test('R35 our own prompt in the stream is never taken for a failure', () => {
    const echo = {
      type: 'user',
      message: { role: 'user', content: [{ type: 'text', text: `Onward: rate limit detected. ${words}` }] },
    };
    expect(play([say.init(), echo, echo, done, say.result()]).ending.ok).toBe(true);
  });

  test('R36 a line number 529 in an answer or in code is only text', () => {
    const answer = 'The fault is in server.ts:529, which reads 529 bytes and prints "API Error: 529 Overloaded".';
    const lines = [say.init(), say.text(answer), say.result({ result: answer })];
    expect(play(lines).ending).toEqual({ ok: true, text: answer });
  });

  test('an answer of the model that begins like an error of the CLI is an answer', () => {
    const lines = [say.init(), say.text(overloaded), say.result({ result: overloaded })];
    expect(play(lines).ending).toEqual({ ok: true, text: overloaded });
  });
});
