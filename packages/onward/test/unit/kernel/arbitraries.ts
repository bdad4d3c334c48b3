import fc from 'fast-check';

import { budgetUnits } from '../../../src/kernel/budget.ts';
import type { Continuable, Situation } from '../../../src/kernel/decide.ts';
import { type Failure, type FailureClass, failureClasses, type ProcessFact } from '../../../src/kernel/failure.ts';
import { defaultPolicy, longestMs, type Policy } from '../../../src/kernel/policy.ts';
import { now } from './situations.ts';

const facts: readonly ProcessFact[] = [
  'spawn-failed',
  'startup-timeout',
  'idle-timeout',
  'tool-timeout',
  'wall-timeout',
  'ended-without-result',
  'host-crashed',
  'not-gone',
];

const word = (...known: readonly string[]): fc.Arbitrary<string> =>
  fc.oneof(fc.constantFrom(...known), fc.string({ maxLength: 30 }));

const kinds: fc.Arbitrary<FailureClass> = fc.constantFrom(...failureClasses);
const anyNumber = fc.oneof(
  fc.double(),
  fc.integer({ min: -10, max: 700 }),
  fc.constantFrom(Number.NaN, Number.POSITIVE_INFINITY),
);

/** One link, with anything in any field, also what JSON cannot say. */
const link: fc.Arbitrary<Omit<Failure, 'cause'>> = fc.record(
  {
    message: fc.string(),
    type: word('overloaded_error', 'usage_limit_exceeded', 'invalid_request_error', 'api_error', 'outcome_unknown'),
    category: word('rate_limit', 'server_error', 'invalid_request', 'unknown'),
    status: anyNumber,
    code: word('ECONNRESET', 'ENOENT'),
    stop: word('max_tokens', 'refusal', 'end_turn'),
    exit: fc.record({ code: fc.option(fc.integer()), signal: fc.option(fc.constantFrom('SIGKILL', 'SIGTERM')) }),
    process: fc.constantFrom(...facts),
    denied: fc.array(fc.record({ tool: fc.string(), summary: fc.string() }), { maxLength: 3 }),
    text: fc.record({ class: kinds, rule: fc.string() }),
    retryAfterMs: anyNumber,
    resetsAt: fc.oneof(anyNumber, fc.integer({ min: now, max: now + longestMs })),
    requestId: fc.string(),
  },
  { requiredKeys: ['message'] },
);

/** A failure with up to five links. */
export const failures: fc.Arbitrary<Failure> = fc
  .array(link, { minLength: 1, maxLength: 5 })
  .map((links) => links.reduceRight<Failure>((cause, outer) => ({ ...outer, cause }), { message: 'root' }));

const ms = fc.oneof(fc.integer({ min: 0, max: 3_600_000 }), fc.constantFrom(0, longestMs));
const count = fc.integer({ min: 0, max: 5 });

/** Any policy that `resolvePolicy` would accept, mostly small numbers. */
export const policies: fc.Arbitrary<Policy> = fc.record({
  retry: fc.record({
    enabled: fc.oneof({ weight: 5, arbitrary: fc.constant(true) }, fc.constant(false)),
    strategy: fc.constant('list' as const),
    scheduleMs: fc.array(ms, { maxLength: 5 }),
    jitter: fc.double({ min: 0, max: 1, noNaN: true }),
    total: fc.integer({ min: 1, max: 25 }),
    hintCapMs: ms,
    unclassified: count,
    auth: count,
    fallbacks: count,
    inner: count,
  }),
  outage: fc.record({ everyMs: ms, patienceMs: ms }),
  quota: fc.record({ windows: count, marginMs: ms }),
  revisions: count,
  onDenied: fc.constantFrom('stop', 'ignore'),
  timeouts: fc.constant(defaultPolicy.timeouts),
});

/** A random number as the port gives it: from 0 to just under 1. */
export const samples: fc.Arbitrary<number> = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

/** Any situation that a loop can be in, neither cancelled nor out of budget, with hints and ends also of broken kinds. */
export const freeSituations: fc.Arbitrary<Situation> = fc.record(
  {
    class: kinds,
    policy: policies,
    continuable: fc.constantFrom<Continuable>('same', 'nothing-accepted', 'lost', 'unknown'),
    counts: fc.record({
      attempts: fc.integer({ min: 1, max: 30 }),
      consecutive: fc.integer({ min: 1, max: 8 }),
      unclassified: count,
      auth: count,
      fallbacks: count,
      revisions: count,
      quotaWindows: count,
    }),
    progressed: fc.boolean(),
    silent: fc.boolean(),
    repeatable: fc.boolean(),
    credentialChanged: fc.boolean(),
    poisoned: fc.boolean(),
    repairable: fc.boolean(),
    retryAfterMs: fc.oneof(anyNumber, ms, fc.integer({ min: 0, max: 2 * longestMs })),
    resetsAt: fc.oneof(anyNumber, fc.integer({ min: now - longestMs, max: now + 2 * longestMs })),
    failingSince: fc.integer({ min: now - 7_200_000, max: now }),
    now: fc.constant(now),
    sample: samples,
  },
  {
    requiredKeys: [
      'class',
      'policy',
      'continuable',
      'counts',
      'progressed',
      'silent',
      'repeatable',
      'credentialChanged',
      'poisoned',
      'repairable',
      'failingSince',
      'now',
      'sample',
    ],
  },
);

/** As `freeSituations`, and some of them cancelled or out of budget. */
export const situations: fc.Arbitrary<Situation> = fc
  .tuple(
    freeSituations,
    fc.record({ cancelled: fc.string(), budget: fc.constantFrom(...budgetUnits) }, { requiredKeys: [] }),
  )
  .map(([situation, endings]) => ({ ...situation, ...endings }));
