import { describe, expect, test } from 'vitest';
import { becauseOf, stateOf, table } from '../../../src/cli/describe-run.ts';
import type { Phase } from '../../../src/supervisor/index.ts';

const phases: readonly (readonly [Phase, string, string])[] = [
  [{ kind: 'ready', mode: 'first' }, 'ready', 'orphaned'],
  [{ kind: 'running', n: 1 } as unknown as Phase, 'running', 'orphaned'],
  [{ kind: 'waiting', at: 1, mode: 'continue' } as unknown as Phase, 'waiting', 'orphaned'],
  [{ kind: 'paused', reason: 'needs-human', because: 'b' }, 'paused: needs-human', 'paused: needs-human'],
  [{ kind: 'ended', outcome: 'done', because: 'b' }, 'done', 'done'],
  [{ kind: 'ended', outcome: 'cancelled', because: 'b' }, 'cancelled', 'cancelled'],
];

describe('the state of a run', () => {
  test.each(phases)('%j is %s while a process keeps it going, else %s', (phase, live, orphaned) => {
    expect(stateOf(phase, true)).toBe(live);
    expect(stateOf(phase, false)).toBe(orphaned);
  });

  test('says why where the word alone does not', () => {
    expect(becauseOf({ kind: 'ready', mode: 'first' }, false)).toBe('the process that kept it going is gone');
    expect(becauseOf({ kind: 'ready', mode: 'first' }, true)).toBe('');
    expect(becauseOf({ kind: 'paused', reason: 'limit', because: 'used up' }, false)).toBe('used up');
  });
});

describe('a table', () => {
  test('has columns of one width and each cell on one line', () => {
    expect(
      table([
        ['a', 'long cell', 'end'],
        ['bbb', 'x\ny', ''],
      ]),
    ).toEqual(['a    long cell  end', 'bbb  x y']);
    expect(table([])).toEqual([]);
  });
});
