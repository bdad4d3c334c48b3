import { describe, expect, it } from 'vitest';

import { assertNever, isOnwardError, OnwardError } from '../../../src/kernel/error.ts';

describe('OnwardError', () => {
  it('carries a code, a sentence, next steps, a place and its cause', () => {
    const cause = new Error('disk full');
    const error = new OnwardError('journal/full', 'The disk is full.', { next: ['Free space.'], place: 'a:1', cause });
    expect(error).toMatchObject({
      name: 'OnwardError',
      code: 'journal/full',
      message: 'The disk is full.',
      next: ['Free space.'],
      place: 'a:1',
      cause,
    });
    expect(error).toBeInstanceOf(Error);
  });

  it('without details has no next steps, place or cause', () => {
    const error = new OnwardError('a/b', 'x');
    expect([error.next, error.place, 'cause' in error]).toEqual([[], undefined, false]);
  });
});

describe('isOnwardError', () => {
  it('knows its own kind, also from another copy of the package', () => {
    const other = Object.assign(new Error('x'), { brand: 'onward.error', code: 'a/b' });
    expect([isOnwardError(new OnwardError('a/b', 'x')), isOnwardError(other), isOnwardError(other, 'a/b')]).toEqual([
      true,
      true,
      true,
    ]);
    expect(isOnwardError(other, 'a/c')).toBe(false);
  });

  it.each([undefined, null, 'onward.error', 1, {}, { brand: 'other' }, new Error('onward.error')])(
    'is not fooled by %s',
    (value) => {
      expect(isOnwardError(value)).toBe(false);
    },
  );
});

describe('assertNever', () => {
  const cycle: { self?: unknown } = {};
  cycle.self = cycle;

  it.each<readonly [unknown, string]>([
    ['later', 'decide met a value it does not know: "later"'],
    [{ kind: 'x' }, 'decide met a value it does not know: {"kind":"x"}'],
    [undefined, 'decide met a value it does not know: undefined'],
    [1n, 'decide met a value it does not know: bigint'],
    [cycle, 'decide met a value it does not know: object'],
  ])('names the value', (value, message) => {
    expect(() => assertNever(value as never, 'decide')).toThrow(
      expect.objectContaining({ code: 'bug/unhandled-case', message }),
    );
  });

  it('does not print a whole history', () => {
    const huge = { text: 'x'.repeat(10_000) } as unknown as never;
    expect(() => assertNever(huge, 'decide')).toThrow(/^.{1,260}$/);
  });
});
