import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createProgress, type Verbosity } from '../../../src/cli/progress.ts';
import type { Decision } from '../../../src/kernel/decide.ts';
import type { Json } from '../../../src/kernel/json.ts';
import type { RunStreamEvent } from '../../../src/library/index.ts';
import { createFakeClock, type FakeClock } from '../../../src/testing/index.ts';
import { createFakeIo, type FakeIo } from './support/fake-io.ts';

const now = Date.UTC(2030, 0, 1, 12);

beforeEach(() => void vi.stubEnv('TZ', 'UTC'));
afterEach(() => void vi.unstubAllEnvs());

function event(type: string, data: Json = {}, rest: Partial<RunStreamEvent> = {}): RunStreamEvent {
  return { v: 1, run: 'r', seq: 1, at: now, type, attempt: 1, willRetry: null, nextAt: null, data, ...rest };
}

function failure(message = 'API Error: 529 Overloaded.', nextAt: number | null = now + 10_000): RunStreamEvent {
  const data = { failure: { message }, classification: { class: 'transient', evidence: 'category=server_error' } };
  return event('attempt.failed', data, { nextAt, willRetry: nextAt !== null });
}

const decided = (decision: Decision): RunStreamEvent =>
  event('recovery.decided', { decision: decision as unknown as Json });

interface Shown {
  readonly io: FakeIo;
  readonly clock: FakeClock;
  readonly progress: ReturnType<typeof createProgress>;
}

function show(events: readonly RunStreamEvent[], verbosity: Verbosity = 'normal', isTerminal = false): Shown {
  const io = createFakeIo({ isTerminal });
  const clock = createFakeClock({ now });
  const progress = createProgress(io, clock, verbosity);
  for (const one of events) progress.show(one);
  return { io, clock, progress };
}

describe('a failure', () => {
  const because = 'the reason';
  test.each<[string, Decision, number | null]>([
    ['next attempt in 10 s, at 12:00:10', { action: 'continue', at: now + 10_000, because }, now + 10_000],
    ['next attempt now', { action: 'continue', at: now, because }, now],
    ['the same prompt again in 10 s, at 12:00:10', { action: 'restart', at: now + 10_000, because }, now + 10_000],
    ['a new conversation with a summary now', { action: 'rebuild', at: now, because }, now],
    ['next attempt in 5 min, at 12:05:00', { action: 'hold', at: now + 300_000, because }, now + 300_000],
    ['parked until 2030-01-01T13:00:00.000Z', { action: 'park', until: now + 3_600_000, on: 'quota', because }, null],
    ['a human is needed', { action: 'ask', because }, null],
    ['no further attempt', { action: 'stop', reason: 'final', because }, null],
    ['ended', { action: 'cancelled', because }, null],
    ['stopped by a limit', { action: 'budget', unit: 'attempts', because }, null],
  ])('R142 is one line with class, evidence, what happens and when: %s', (what, decision, nextAt) => {
    const { io } = show([failure('API Error: 529 Overloaded.', nextAt), decided(decision)]);
    expect(io.errLines).toEqual([
      `12:00:00 attempt 1 failed, transient (category=server_error): API Error: 529 Overloaded. -> ${what} (the reason)`,
    ]);
  });

  test('R142 is said even if the decision is never seen', () => {
    const { io, progress } = show([failure()]);
    progress.stop();
    expect(io.errLines).toHaveLength(1);
    expect(io.errLines[0]).toContain('-> next attempt in 10 s, at 12:00:10');
  });

  test('R142 stays one line whatever the server wrote', () => {
    const text = `<html>\n<body>\r\n502\u001B[2J Bad Gateway ${'x'.repeat(5_000)}`;
    const { io } = show([failure(text), decided({ action: 'continue', at: now + 10_000, because })]);
    expect(io.errLines).toHaveLength(1);
    // oxlint-disable-next-line no-control-regex -- control characters are refused
    expect(io.errLines[0]).not.toMatch(/[\n\r\u001B]/);
    expect(io.errLines[0]?.length).toBeLessThan(600);
  });

  test('is not said when nothing is to be said', () => {
    expect(show([failure(), decided({ action: 'ask', because })], 'quiet').io.errLines).toEqual([]);
  });
});

describe('the wait for the next attempt', () => {
  const wait = [failure(), decided({ action: 'continue', at: now + 10_000, because: 'x' })];

  test('counts down on a terminal, second by second, and is gone when the attempt starts', async () => {
    const { io, clock, progress } = show(wait, 'normal', true);
    for (let second = 0; second < 10; second++) await clock.advance(1_000);
    progress.show(event('attempt.started', { mode: 'continue' }, { attempt: 2, at: now + 10_000 }));
    const counted = io.statuses.filter((text) => text !== '').map((text) => text.trim());
    expect(counted).toEqual([10, 9, 8, 7, 6, 5, 4, 3, 2, 1].map((left) => `next attempt in ${left} s`));
    expect(io.statuses.at(-1)).toBe('');
    expect(clock.pending()).toEqual([]);
  });

  test('leaves nothing running when it is cut short', async () => {
    const { io, clock, progress } = show(wait, 'normal', true);
    await clock.advance(2_000);
    progress.stop();
    await clock.advance(0);
    expect(clock.pending()).toEqual([]);
    expect(io.statuses.at(-1)).toBe('');
  });

  test('redraws nothing without a terminal', async () => {
    const { io, clock } = show(wait);
    await clock.advance(3_000);
    expect(io.statuses.filter((text) => text !== '')).toEqual([]);
    expect(io.errLines).toHaveLength(1);
  });
});

describe('the other lines', () => {
  const story = [
    event('run.accepted', {}, { attempt: null }),
    event('attempt.started', { mode: 'first' }),
    event('attempt.spawned', { pid: 1 }),
    event('request.retried', { status: 529, delayMs: 500 }),
    event('request.retried', {}),
    event('delta', { text: 'I wi' }, { seq: null }),
    event('message.committed', { body: { text: 'I will\nlook' } }),
    event('call.started', { tool: 'Bash', input: { command: 'ls' } }),
    event('call.finished', { ok: false }),
    event('line.rejected', { reason: 'not valid UTF-8' }),
    event('notice', { text: 'Claude Code compacted the conversation.' }, { seq: null }),
    event('attempt.started', { mode: 'continue' }, { attempt: 2 }),
    event('call.refused', { tool: 'Bash' }, { attempt: 2 }),
    event('attempt.started', { mode: 'restart' }, { attempt: 3 }),
    event('attempt.started', { mode: 'rebuild' }, { attempt: 4 }),
    event('attempt.committed', {}, { attempt: 4 }),
    event('run.ended', { outcome: 'done' }, { attempt: null }),
    event('something.new', {}),
  ];

  test('R142 the golden timeline', () => {
    expect(show(story).io.errLines.map((line) => line.slice('12:00:00 '.length))).toEqual([
      'attempt 1 started',
      'attempt 1 the agent repeats a request itself (529, after 500 ms)',
      'attempt 1 the agent repeats a request itself (cause unknown)',
      'attempt 1 a line of the agent was set aside: not valid UTF-8',
      'attempt 1 notice: Claude Code compacted the conversation.',
      'attempt 2 started, continuing the same conversation',
      'attempt 2 not repeated: Bash, it had already run',
      'attempt 3 started, the original prompt again: it was never taken',
      'attempt 4 started, a new conversation with a summary of the lost one',
      'attempt 4 finished with evidence',
    ]);
  });

  test('--verbose adds calls and messages', () => {
    const { io } = show(story, 'verbose');
    expect(io.errLines).toContain('12:00:00 attempt 1 tool Bash {"command":"ls"}');
    expect(io.errLines).toContain('12:00:00 attempt 1 tool finished with an error');
    expect(io.errLines).toContain('12:00:00 attempt 1 says: I will look');
  });

  test('--quiet says none of them', () => {
    expect(show(story, 'quiet').io.errLines).toEqual([]);
  });
});
