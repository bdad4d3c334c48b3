import type { ErrorCondition, FaultRule } from '../model-server/fault.ts';
import type { Scenario } from './scenario.ts';
import { twoEffects } from './scenario.ts';

/** The provider answers, but with an HTTP error. Step one is done by then: request 2 carries its result. */
export const PROVIDER_ERRORS: readonly Scenario[] = [
  twoEffects('overloaded-twice', 'the provider is overloaded (529) for two requests', [errors('overloaded', 2, 3)], {
    recoverable: true,
    expectation: 'Waits, goes on in the same session, ends with both effects done once.',
  }),
  twoEffects('overloaded-for-ever', 'the provider stays overloaded (529)', [errors('overloaded', 2, null)], {
    recoverable: false,
    expectation:
      'Tries within its bounds, then stops and says that the provider is still failing; the session can be resumed.',
  }),
  twoEffects('server-error-for-ever', 'the provider answers 500 to everything', [errors('server-error', 2, null)], {
    recoverable: false,
    expectation: 'As overloaded-for-ever. The number of requests stays bounded, whatever the agent retries by itself.',
  }),
  twoEffects('bad-gateway', 'a proxy answers with an HTML page (502) once', [errors('bad-gateway', 2, 2)], {
    recoverable: true,
    expectation: 'Takes the page for what it is, a passing fault, and goes on.',
  }),
  twoEffects(
    'rate-limited',
    'a rate limit (429) that asks for three seconds',
    [{ from: 2, fault: { kind: 'error', error: 'rate-limited', retryAfterSeconds: 3 } }],
    {
      recoverable: true,
      expectation: 'Goes on no sooner than three seconds later, then ends with both effects done once.',
    },
  ),
  twoEffects(
    'usage-limit',
    'the subscription is used up and resets in an hour',
    [{ from: 2, to: null, fault: { kind: 'usage-limit', resetsInSeconds: 3600 } }],
    {
      recoverable: false,
      expectation:
        'Parks until the reset or stops, naming the time; it does not ask again before it. (Claude Code with an API key shows no reset time: a 429 like any other.)',
    },
  ),
  twoEffects('out-of-credit', 'the account has no credit left', [errors('billing', 2, null)], {
    recoverable: false,
    expectation: 'Stops after one request and asks for a person: no reset time, nothing to wait for.',
  }),
  twoEffects('unauthorised', 'the key is refused (401)', [errors('unauthorised', 1, null)], {
    recoverable: false,
    expectation: 'Stops and asks for a person. The agent itself may ask a few more times; nobody else does.',
  }),
  twoEffects('bad-request', 'the provider calls the request invalid (400)', [errors('bad-request', 2, null)], {
    recoverable: false,
    expectation: 'Stops: the same request again would get the same answer.',
  }),
  twoEffects('context-overflow', 'the conversation no longer fits the model', [errors('context-overflow', 2, null)], {
    recoverable: false,
    expectation: 'Does not repeat the same history. Only a shorter one, or a labelled fresh start, could go on.',
  }),
];

function errors(error: ErrorCondition, from: number, to: number | null): FaultRule {
  return { from, to, fault: { kind: 'error', error } };
}
