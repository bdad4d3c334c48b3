import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Fault, Script } from '../../../src/lab/index.ts';
import {
  checkScript,
  describeFault,
  effectStep,
  findScenario,
  LabError,
  scenarios,
  scriptOf,
} from '../../../src/lab/index.ts';
import { chooseFault } from '../../../src/lab/model-server/choose-fault.ts';

const GOOD: Script = { task: { steps: [effectStep('one', 1)] }, temperament: 'naive' };
const OVERLOADED: Fault = { kind: 'error', error: 'overloaded' };

describe('a script that makes no sense is refused with the place', () => {
  const rule = { from: 1, fault: OVERLOADED };
  const faulty = (fault: unknown): unknown => ({ ...GOOD, faults: [rule, { from: 1, fault }] });
  test.each([
    ['script must be', null],
    ['script.temperament must be one of naive, reader, checker', { ...GOOD, temperament: 'bold' }],
    ['script.task must be', { temperament: 'naive' }],
    ['script.task.steps must be a list of at least one step', { ...GOOD, task: { steps: [] } }],
    ['script.task.steps[0].evidence must be', { ...GOOD, task: { steps: [{ id: 'a', command: 'ls' }] } }],
    ['script.task.steps[0].command must be', { ...GOOD, task: { steps: [{ id: 'a', evidence: 'b' }] } }],
    [
      'script.task.steps[1].id must be another id than one',
      { ...GOOD, task: { steps: [effectStep('one', 1), effectStep('one', 2)] } },
    ],
    [
      'script.task.steps[0].delegate.steps must be',
      { ...GOOD, task: { steps: [{ id: 'a', evidence: 'b', delegate: {} }] } },
    ],
    [
      'script.task.steps[0].inspect.shows must be',
      { ...GOOD, task: { steps: [{ ...effectStep('a', 1), inspect: { command: 'ls' } }] } },
    ],
    ['script.faults must be a list', { ...GOOD, faults: {} }],
    ['script.faults[0].from must be a whole number of at least 1', { ...GOOD, faults: [{ ...rule, from: 0 }] }],
    [
      'script.faults[0].to must be null, or a whole number of at least 3',
      { ...GOOD, faults: [{ ...rule, from: 3, to: 2 }] },
    ],
    ['script.faults[0].agent must be main or subagent', { ...GOOD, faults: [{ ...rule, agent: 'other' }] }],
    [
      'script.faults[0].agent must be left out',
      { ...GOOD, faults: [{ from: 1, agent: 'main', fault: { kind: 'refused' } }] },
    ],
    ['script.faults[1].fault.kind is "explode", which is no fault the lab knows', faulty({ kind: 'explode' })],
    ['script.faults[1].fault.error must be one of', faulty({ kind: 'error', error: 'odd' })],
    [
      'script.faults[1].fault.retryAfterSeconds must be a number of at least 0',
      faulty({ ...OVERLOADED, retryAfterSeconds: -1 }),
    ],
    ['script.faults[1].fault.at must be one of', faulty({ kind: 'stall', at: 'middle' })],
    ['script.faults[1].fault.how must be rst or fin', faulty({ kind: 'cut', at: 'text' })],
    [
      'script.faults[1].fault.everyMs must be a number of at least 1',
      faulty({ kind: 'ping-only', at: 'text', everyMs: 0 }),
    ],
    ['script.faults[1].fault.reason must be one of', faulty({ kind: 'stop', reason: 'end' })],
    ['script.faults[1].fault.forMs must be a number of at least 0', faulty({ kind: 'refused', forMs: Number.NaN })],
    ['script.faults[1].fault.resetsInSeconds must be', faulty({ kind: 'usage-limit' })],
    [
      'script.seeded.share must be a number from 0 to 1',
      { ...GOOD, seeded: { seed: 1, share: 2, faults: [OVERLOADED] } },
    ],
    [
      'script.seeded.faults must be a list of at least one fault',
      { ...GOOD, seeded: { seed: 1, share: 1, faults: [] } },
    ],
    [
      'script.seeded.faults[0].kind must be another kind',
      { ...GOOD, seeded: { seed: 1, share: 1, faults: [{ kind: 'refused' }] } },
    ],
    ['script.turns[0].stop must be one of', { ...GOOD, turns: [{ text: '', calls: [], stop: 'whim' }] }],
    ['script.summary must be faithful or uninformative', { ...GOOD, summary: 'short' }],
  ])('%s', (sentence, script) => {
    const caught = refusalOf(script);
    expect(caught).toBeInstanceOf(LabError);
    expect(caught).toMatchObject({ code: 'lab.bad-script', message: expect.stringContaining(sentence) });
  });
});

/** The faults of forty requests. */
const draw = (seed: number, share: number, atMost?: number): (string | null)[] => {
  const faults: Fault[] = [OVERLOADED, { kind: 'reset' }, { kind: 'empty-body' }];
  const script = { ...GOOD, seeded: { seed, share, faults, ...(atMost === undefined ? {} : { atMost }) } };
  return Array.from({ length: 40 }, (_, index) => {
    const fault = chooseFault(script, { agent: 'main', overall: index + 1, ofAgent: index + 1 });
    return fault === undefined ? null : describeFault(fault);
  });
};

describe('faults drawn by a seed', () => {
  test('are the same for the same seed and differ between seeds', () => {
    expect(draw(7, 0.5)).toEqual(draw(7, 0.5));
    expect(draw(7, 0.5)).not.toEqual(draw(8, 0.5));
  });

  test('keep to their share and their bound', () => {
    fc.assert(
      fc.property(fc.integer(), fc.integer({ min: 1, max: 5 }), (seed, atMost) => {
        expect(draw(seed, 0).every((fault) => fault === null)).toBe(true);
        expect(draw(seed, 1).every((fault) => fault !== null)).toBe(true);
        expect(draw(seed, 1, atMost).filter((fault) => fault !== null)).toHaveLength(atMost);
      }),
    );
  });

  test('give way to a rule', () => {
    const script: Script = {
      ...GOOD,
      faults: [{ from: 1, fault: { kind: 'reset' } }],
      seeded: { seed: 1, share: 1, faults: [OVERLOADED] },
    };

    expect(chooseFault(script, { agent: 'main', overall: 1, ofAgent: 1 })).toEqual({ kind: 'reset' });
  });
});

describe('scenarios', () => {
  test('hold the names the issue asks for', () => {
    const names = scenarios.map((each) => each.name);
    const asked =
      'healthy overloaded-twice overloaded-for-ever rate-limited usage-limit unauthorised bad-request reset-before-headers refused-port cut-in-text clean-end-after-text cut-after-call stall-in-text stall-after-call empty-answer error-event malformed-chunk context-overflow no-headers ping-only';
    expect(names).toEqual(expect.arrayContaining(asked.split(' ')));
  });

  test('have names of their own, survive JSON, and make scripts that the server takes', () => {
    expect(new Set(scenarios.map((each) => each.name)).size).toBe(scenarios.length);
    for (const scenario of scenarios) {
      expect(JSON.parse(JSON.stringify(scenario))).toEqual(scenario);
      expect(refusalOf(scriptOf(scenario))).toBeUndefined();
    }
  });

  test('play another temperament when asked to', () => {
    expect(scriptOf(findScenario('healthy'), { temperament: 'naive' }).temperament).toBe('naive');
  });

  test('an unknown name is refused with all names', () => {
    expect(() => findScenario('meteor')).toThrow(/no scenario called "meteor"/);
    expect(() => findScenario('meteor')).toThrow(
      expect.objectContaining({ code: 'lab.unknown-scenario', next: [expect.stringContaining('healthy')] }),
    );
  });
});

function refusalOf(script: unknown): unknown {
  try {
    checkScript(script as Script);
    return undefined;
  } catch (cause) {
    return cause;
  }
}
