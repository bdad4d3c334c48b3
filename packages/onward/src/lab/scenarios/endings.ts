import type { Scenario } from './scenario.ts';
import { effectStep, TWO_EFFECTS, twoEffects } from './scenario.ts';

/** Nothing breaks on the wire: the healthy run, and turns that end early or fail inside a subagent. */
export const ENDINGS: readonly Scenario[] = [
  twoEffects('healthy', 'nothing goes wrong', [], {
    recoverable: true,
    expectation: 'Three requests, both effects once, a final text.',
  }),
  twoEffects(
    'token-limit',
    'the model stops at its token limit',
    [{ from: 2, fault: { kind: 'stop', reason: 'max-tokens' } }],
    {
      recoverable: true,
      expectation: 'Goes on where the model stopped; Claude Code does so by itself.',
    },
  ),
  twoEffects(
    'refusal',
    'the model refuses to go on',
    [{ from: 2, to: null, fault: { kind: 'stop', reason: 'refusal' } }],
    {
      recoverable: false,
      expectation: 'Stops: a refusal is an answer, not a fault.',
    },
  ),
  {
    name: 'subagent-overloaded',
    what: 'a subagent meets one overload (529) after its first effect',
    faults: [{ from: 2, agent: 'subagent', fault: { kind: 'error', error: 'overloaded' } }],
    steps: [
      ...TWO_EFFECTS.slice(0, 1),
      { id: 'part', evidence: 'PART_OK', delegate: { steps: [effectStep('three', 3), effectStep('four', 4)] } },
      ...TWO_EFFECTS.slice(1),
    ],
    temperament: 'checker',
    recoverable: true,
    expectation:
      'The retry happens inside, so that the subagent lives on. With no retry inside, Claude Code hands the error to the main model as a result and exits 0 with the part undone.',
  },
];
