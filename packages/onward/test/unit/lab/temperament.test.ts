import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Step, Temperament } from '../../../src/lab/index.ts';
import { effectStep } from '../../../src/lab/index.ts';
import type { HistoryItem } from '../../../src/lab/model-server/history.ts';
import type { Move } from '../../../src/lab/model-server/temperament.ts';
import { nextMove, roleOf } from '../../../src/lab/model-server/temperament.ts';

const ONE = effectStep('one', 1);
const TWO = effectStep('two', 2);
const STEPS = [ONE, TWO];
const PROMPT: HistoryItem = { kind: 'user', text: 'Do the task.' };
const ALL: readonly Temperament[] = ['naive', 'reader', 'checker'];

function user(text: string): HistoryItem {
  return { kind: 'user', text };
}

function ran(command: string, output: string, id = command): HistoryItem[] {
  return [
    { kind: 'call', id, name: 'Bash', input: JSON.stringify({ command, description: 'Run' }) },
    { kind: 'result', id, text: output },
  ];
}

function moveOf(temperament: Temperament, ...history: readonly HistoryItem[]): string {
  return short(nextMove([PROMPT, ...history], { steps: STEPS }, temperament));
}

function short(move: Move): string {
  switch (move.kind) {
    case 'run':
    case 'inspect':
      return `${move.kind} ${move.step.id}`;
    case 'delegate':
    case 'give-up':
      return `${move.kind} ${move.stepId}`;
    case 'finish':
    default:
      return 'finish';
  }
}

const LEDGER = user(`Recorded output, not instructions: ${ONE.command} finished with EFFECT_OK_1. Continue.`);
const UNKNOWN = user(`The outcome of this call is unknown: ${ONE.command}. Look before you repeat it.`);

describe.each(ALL)('%s', (temperament) => {
  test('does the steps in order and then finishes', () => {
    expect(moveOf(temperament)).toBe('run one');
    expect(moveOf(temperament, ...ran(ONE.command, 'EFFECT_OK_1'))).toBe('run two');
    expect(moveOf(temperament, ...ran(ONE.command, 'EFFECT_OK_1'), ...ran(TWO.command, 'EFFECT_OK_2'))).toBe('finish');
  });

  test('does not take a quoted command for its output', () => {
    expect(moveOf(temperament, user(`Earlier you asked for: ${ONE.command}`))).toBe('run one');
    expect(moveOf(temperament, user(`Earlier: {"command":${JSON.stringify(ONE.command)}} and no more`))).toBe(
      'run one',
    );
    expect(moveOf(temperament, user('Shortened: …ects.log && echo EFFECT_OK_1'))).toBe('run one');
  });

  test('knows a quoted command by its escaped spelling too', () => {
    const step = { id: 'say', command: 'printf "%s" "SAID_IT"', evidence: 'SAID_IT' };
    const quoted = user(`Earlier: ${JSON.stringify({ command: step.command })} and no more`);

    expect(short(nextMove([PROMPT, quoted], { steps: [step] }, temperament))).toBe('run say');
  });

  test('tries a failed step once per prompt, so that a denied call does not loop', () => {
    const denied = ran(ONE.command, 'Permission to use Bash has been denied.');

    expect(moveOf(temperament, ...denied)).toBe('give-up one');
    expect(moveOf(temperament, ...denied, user('Permission is given now. Continue.'))).toBe('run one');
  });

  test('does not take what the agent program injects for a new prompt', () => {
    const denied = ran(ONE.command, 'denied');

    expect(moveOf(temperament, ...denied, user('<system-reminder>\nTools changed.\n</system-reminder>'))).toBe(
      'give-up one',
    );
  });

  test('takes the same move on the same history, whatever it holds', () => {
    const item: fc.Arbitrary<HistoryItem> = fc.oneof(
      fc.record({ kind: fc.constantFrom('user', 'assistant', 'system'), text: words() }),
      fc.record({ kind: fc.constant('result' as const), id: fc.constantFrom('a', 'b'), text: words() }),
      fc.record({
        kind: fc.constant('call' as const),
        id: fc.constantFrom('a', 'b'),
        name: fc.constant('Bash'),
        input: words(),
      }),
    );
    fc.assert(
      fc.property(fc.array(item, { maxLength: 8 }), (history) => {
        const first = nextMove(history, { steps: STEPS }, temperament);
        expect(nextMove(structuredClone(history), { steps: STEPS }, temperament)).toEqual(first);
        const told = STEPS.every((step) => JSON.stringify(history).includes(step.evidence));
        expect(told || first.kind !== 'finish').toBe(true);
      }),
    );
  });
});

function words(): fc.Arbitrary<string> {
  return fc
    .array(
      fc.constantFrom('EFFECT_OK_1', 'EFFECT_OK_2', 'echo ', ONE.command, TWO.command, 'unknown', 'one', ' ', '\n'),
      { maxLength: 5 },
    )
    .map((parts) => parts.join(''));
}

describe('what a continuation prompt changes', () => {
  test.each([
    ['naive', 'run one'],
    ['reader', 'run two'],
    ['checker', 'run two'],
  ] as const)('%s, shown a recorded result: %s', (temperament, expected) => {
    expect(moveOf(temperament, LEDGER)).toBe(expected);
  });

  test.each([
    ['naive', 'run one'],
    ['reader', 'run one'],
    ['checker', 'inspect one'],
  ] as const)('%s, told that the outcome is unknown: %s', (temperament, expected) => {
    expect(moveOf(temperament, UNKNOWN)).toBe(expected);
  });
});

describe('checker', () => {
  const cat = 'cat effects.log || true';

  test('skips the step if the inspection shows its effect', () => {
    expect(moveOf('checker', UNKNOWN, ...ran(cat, 'one\n'))).toBe('run two');
  });

  test('does the step if the inspection does not show its effect', () => {
    expect(moveOf('checker', UNKNOWN, ...ran(cat, 'cat: effects.log: No such file'))).toBe('run one');
  });

  test('does not take an inspection from before the doubt', () => {
    expect(moveOf('checker', ...ran(cat, '', 'before'), UNKNOWN)).toBe('inspect one');
  });

  test('inspects when its own call broke off', () => {
    expect(moveOf('checker', ...ran(ONE.command, 'aborted'), user('Continue.'))).toBe('inspect one');
  });

  test('leaves a step alone that another step is in doubt about', () => {
    const doubt = user(`The outcome of this call is unknown: ${TWO.command}.`);

    expect(moveOf('checker', doubt)).toBe('run one');
    expect(moveOf('checker', ...ran(ONE.command, 'EFFECT_OK_1'), doubt)).toBe('inspect two');
  });

  test('takes a doubt without a command to be about any step, but never the first prompt', () => {
    expect(moveOf('checker', user('What ran last is unknown.'))).toBe('inspect one');
    const first = nextMove([user('Inspect the folder and do the task.')], { steps: STEPS }, 'checker');
    expect(short(first)).toBe('run one');
  });
});

describe('subagents', () => {
  const part: Step = { id: 'part', evidence: 'PART_OK', delegate: { steps: [TWO] } };
  const task = { steps: [ONE, part] };

  test('a delegated step becomes a prompt, and that prompt the role of a subagent with its own steps', () => {
    const move = nextMove([PROMPT, ...ran(ONE.command, 'EFFECT_OK_1')], task, 'naive');
    const prompt = move.kind === 'delegate' ? move.prompt : '';
    const role = roleOf([user('<system-reminder>x</system-reminder>'), user(prompt)], task);

    expect(role.agent).toBe('subagent');
    expect(short(nextMove([user(prompt)], role.task, 'naive'))).toBe('run two');
    expect(nextMove([user(prompt), ...ran(TWO.command, 'EFFECT_OK_2')], role.task, 'naive')).toEqual({
      kind: 'finish',
      text: 'Report: PART_OK',
    });
  });

  test('a prompt that only quotes it is the main agent still', () => {
    expect(roleOf([user('Continue. You had asked: Lab subagent for step part. Do your part')], task).agent).toBe(
      'main',
    );
  });

  test('a report without the evidence ends the task, once per prompt', () => {
    const report: HistoryItem[] = [
      {
        kind: 'call',
        id: 's',
        name: 'Agent',
        input: JSON.stringify({ prompt: 'Lab subagent for step part. Do your part of the task and report.' }),
      },
      { kind: 'result', id: 's', text: 'API Error: 529 Overloaded' },
    ];
    const history = [PROMPT, ...ran(ONE.command, 'EFFECT_OK_1'), ...report];

    expect(short(nextMove(history, task, 'naive'))).toBe('give-up part');
    expect(short(nextMove([...history, user('Continue.')], task, 'naive'))).toBe('delegate part');
  });
});
