import { describe, expect, it } from 'vitest';

import { type Failure, failureChain, resetsAtOf, retryAfterOf } from '../../../src/kernel/failure.ts';

const chain = (...links: readonly Partial<Failure>[]): Failure =>
  links.reduceRight<Failure | undefined>(
    (cause, link, n) => ({ message: `${n}`, ...link, ...(cause === undefined ? {} : { cause }) }),
    undefined,
  ) ?? { message: '' };

describe('failureChain', () => {
  it('is outermost first', () => {
    expect(failureChain(chain({}, {}, {})).map((link) => link.message)).toEqual(['0', '1', '2']);
  });

  it('ends after 16 links, also when it never ends', () => {
    const loop: { message: string; cause?: Failure } = { message: 'x' };
    loop.cause = loop;
    expect(failureChain(loop)).toHaveLength(16);
  });
});

describe('hints', () => {
  it('the longest wait and the latest end of the chain count', () => {
    const failure = chain({ retryAfterMs: 5 }, { retryAfterMs: 30, resetsAt: 100 }, { resetsAt: 200, retryAfterMs: 7 });
    expect([retryAfterOf(failure), resetsAtOf(failure)]).toEqual([30, 200]);
  });

  it('without any there is none', () => {
    expect([retryAfterOf(chain({}, {})), resetsAtOf(chain({}, {}))]).toEqual([undefined, undefined]);
  });

  it('what is no amount of time or no moment does not hide what is', () => {
    const failure = chain(
      { retryAfterMs: Number.NaN, resetsAt: Number.NaN },
      { retryAfterMs: 30, resetsAt: 100 },
      { retryAfterMs: -1, resetsAt: -1 },
    );
    expect([retryAfterOf(failure), resetsAtOf(failure)]).toEqual([30, 100]);
    expect(resetsAtOf(chain({ resetsAt: Number.POSITIVE_INFINITY }, { resetsAt: 8.64e15 + 1 }))).toBeUndefined();
  });

  it('a server that says never to come back is heard', () => {
    expect(retryAfterOf(chain({ retryAfterMs: Number.POSITIVE_INFINITY }, { retryAfterMs: 5 }))).toBe(
      Number.POSITIVE_INFINITY,
    );
  });
});
