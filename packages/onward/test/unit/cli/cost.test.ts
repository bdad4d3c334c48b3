import { describe, expect, test } from 'vitest';
import { costOf, showCost } from '../../../src/cli/cost.ts';
import type { RunState } from '../../../src/supervisor/index.ts';

type Attempt = Partial<RunState['attempts'][number]>;

function run(...attempts: readonly Attempt[]): RunState {
  return { attempts } as unknown as RunState;
}

const own = (inputTokens: number, outputTokens: number, usd?: number): NonNullable<Attempt['usage']> => ({
  scope: 'own',
  inputTokens,
  outputTokens,
  ...(usd === undefined ? {} : { usd }),
});
const cumulative = (inputTokens: number, outputTokens: number): NonNullable<Attempt['usage']> => ({
  scope: 'cumulative',
  inputTokens,
  outputTokens,
});
const failed = { kind: 'failed' } as unknown as NonNullable<Attempt['end']>;
const committed = { kind: 'committed' } as unknown as NonNullable<Attempt['end']>;

describe('what a run cost', () => {
  test('R138 is useful where an attempt finished or made progress, and lost where it did neither', () => {
    const { useful, lost } = costOf(
      run(
        { usage: own(100, 10, 0.5), end: failed, progressed: false },
        { usage: own(200, 20, 0.25), end: failed, progressed: true },
        { usage: own(300, 30, 0.25), end: committed, progressed: false },
      ),
    );
    expect(useful).toEqual({ inputTokens: 500, outputTokens: 50, usd: 0.5, partial: false });
    expect(lost).toEqual({ inputTokens: 100, outputTokens: 10, usd: 0.5, partial: false });
  });

  test('counts a conversation that reports its total only once', () => {
    const { useful, lost } = costOf(
      run(
        { usage: cumulative(100, 10), end: failed, progressed: false },
        { usage: cumulative(150, 30), end: committed, progressed: false },
      ),
    );
    expect(lost).toMatchObject({ inputTokens: 100, outputTokens: 10 });
    expect(useful).toMatchObject({ inputTokens: 50, outputTokens: 20 });
  });

  test('is never negative when a new conversation begins to count at nothing', () => {
    const { useful } = costOf(
      run(
        { usage: cumulative(100, 10), end: failed, progressed: false },
        { usage: cumulative(40, 4), end: committed, progressed: false },
      ),
    );
    expect(useful.inputTokens).toBeGreaterThanOrEqual(0);
  });

  test('says that it was more when an attempt reported nothing', () => {
    const { lost } = costOf(
      run({ end: failed, progressed: false }, { usage: own(1, 1), end: committed, progressed: false }),
    );
    expect(lost).toEqual({ inputTokens: 0, outputTokens: 0, usd: null, partial: true });
    expect(showCost(lost)).toBe('0 tokens in, 0 out (at least: an attempt ended without a report)');
  });

  test('has dollars only where the agent names them', () => {
    expect(showCost({ inputTokens: 1, outputTokens: 2, usd: null, partial: false })).toBe('1 tokens in, 2 out');
    expect(showCost({ inputTokens: 1, outputTokens: 2, usd: 0.1, partial: false })).toBe('1 tokens in, 2 out, $0.1000');
  });
});
