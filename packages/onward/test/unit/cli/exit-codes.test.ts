import { describe, expect, test } from 'vitest';
import { exitCodeOf, exitCodeOfError, exitCodeOfSettlement, exitCodes } from '../../../src/cli/exit-codes.ts';
import type { PauseReason, RunResult } from '../../../src/supervisor/index.ts';

const base = { run: 'r', attempts: 1, because: 'why' };
const classification = { class: 'quality', rule: 'r', evidence: 'e' } as unknown as NonNullable<
  Extract<RunResult, { status: 'failed' }>['classification']
>;

describe('the exit status', () => {
  test('R110 has one documented meaning for each number: the golden table', () => {
    expect(Object.values(exitCodes).map(({ code, meaning }) => [code, meaning])).toEqual([
      [0, 'done, with evidence'],
      [1, 'failed for good, or cancelled'],
      [2, 'wrong usage or configuration'],
      [3, 'needs a human: login, denied tools, unknown outcome, question'],
      [4, 'the provider is still failing'],
      [5, 'a limit is reached'],
      [6, 'the expectation is not met'],
      [7, 'a live process holds it'],
      [75, 'parked until later'],
      [130, 'interrupted (Ctrl-C) and checkpointed'],
      [143, 'terminated (SIGTERM, SIGHUP) and checkpointed'],
    ]);
  });

  test.each<[RunResult, number]>([
    [{ status: 'done', run: 'r', attempts: 1, text: 'yes' }, 0],
    [{ status: 'failed', ...base }, 1],
    [{ status: 'failed', ...base, classification }, 6],
    [{ status: 'cancelled', ...base }, 1],
  ])('of %j is %i', (result, code) => {
    expect(exitCodeOf(result)).toBe(code);
  });

  // A record, so that the compiler asks for every reason.
  const paused: Readonly<Record<PauseReason, number>> = {
    'needs-human': 3,
    provider: 4,
    limit: 5,
    held: 7,
    parked: 75,
    interrupted: 130,
  };
  test.each(Object.entries(paused))('of a run that is paused by %s is %i', (reason, code) => {
    expect(exitCodeOf({ status: 'paused', ...base, reason: reason as PauseReason })).toBe(code);
  });

  test.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 143],
  ] as const)('of a run that %s interrupted is %i', (signal, code) => {
    expect(exitCodeOf({ status: 'paused', ...base, reason: 'interrupted' }, signal)).toBe(code);
  });

  test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('tells how a run ended, even if %s came meanwhile', (signal) => {
    expect(exitCodeOf({ status: 'done', run: 'r', attempts: 1, text: 'yes' }, signal)).toBe(0);
    expect(exitCodeOf({ status: 'paused', ...base, reason: 'provider' }, signal)).toBe(4);
  });

  test.each([
    ['transient', 4],
    ['throttled', 4],
    ['crash', 4],
    ['quota', 4],
    ['billing', 3],
    ['auth', 3],
    ['outcome-unknown', 3],
    ['context-lost', 3],
    ['quality', 6],
    ['input', 1],
    ['overflow', 1],
    ['policy', 1],
    ['conflict', 1],
    ['incomplete', 1],
    ['unclassified', 1],
  ] as const)('of a prompt that failed as %s is %i', (kind, code) => {
    const failure = { message: 'It failed.' };
    expect(exitCodeOfSettlement({ kind: 'failed', turn: 1, failure, class: kind })).toBe(code);
    const timed = exitCodeOfSettlement({ kind: 'failed', turn: 1, failure, class: kind, retryAt: 1 });
    expect(timed).toBe(kind === 'quota' ? 75 : code);
  });

  test.each([
    [{ kind: 'done', turn: 1, text: '', usage: {} }, 0],
    [{ kind: 'incomplete', turn: 1, partial: '', reason: 'max-tokens' }, 1],
    [{ kind: 'blocked', because: '' }, 1],
    [{ kind: 'limit', turn: 1, unit: 'usd', limit: 1 }, 5],
    [{ kind: 'interrupted', turn: 1 }, 3],
    [{ kind: 'cancelled', cause: 'user' }, 1],
  ] as const)('of a prompt that ended as %j is %i', (settlement, code) => {
    expect(exitCodeOfSettlement(settlement)).toBe(code);
  });

  test.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('of a prompt that %s cancelled here is %i', (signal, code) => {
    expect(exitCodeOfSettlement({ kind: 'cancelled', cause: 'user' }, signal)).toBe(code);
    expect(exitCodeOfSettlement({ kind: 'done', turn: 1, text: '', usage: {} }, signal)).toBe(0);
  });

  test('of every ending is in the table', () => {
    const codes = new Set(Object.values(exitCodes).map(({ code }) => code));
    for (const code of [...Object.values(paused), 0, 1, 6]) expect(codes).toContain(code);
  });

  test.each([
    ['run/held', 7],
    ['session/held', 7],
    ['run/changed', 3],
    ['run/other-host', 3],
    ['bug/no-result', 1],
    ['bug/unhandled-case', 1],
    ['run/unknown', 2],
    ['run/ambiguous', 2],
    ['run/finished', 2],
    ['cli/usage', 2],
    ['config/bad-value', 2],
    ['journal/vanished', 2],
    ['processes/unsafe-directory', 2],
  ])('of the error %s is %i', (code, status) => {
    expect(exitCodeOfError(code)).toBe(status);
  });
});
