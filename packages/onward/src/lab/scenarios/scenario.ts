import type { FaultRule } from '../model-server/fault.ts';
import type { Script, ShellStep, Step, Temperament } from '../model-server/script.ts';

/** A named situation to try an agent in: what goes wrong, what the model wants done, and what a good outcome is. */
export interface Scenario {
  /** kebab-case, unique. */
  readonly name: string;
  /** One line: what goes wrong. */
  readonly what: string;
  readonly faults: readonly FaultRule[];
  readonly steps: readonly Step[];
  readonly temperament: Temperament;
  /** Whether the task can still be finished by going on, without a person. */
  readonly recoverable: boolean;
  /** In words: what an agent that recovers well does here. */
  readonly expectation: string;
}

/** The script that a model server plays for a scenario, with another temperament if wanted. */
export function scriptOf(scenario: Scenario, change: { readonly temperament?: Temperament } = {}): Script {
  return {
    task: { steps: scenario.steps },
    temperament: change.temperament ?? scenario.temperament,
    faults: scenario.faults,
  };
}

/**
 * One step that appends a word to `effects.log` in the working directory and prints its evidence. A word that is there twice is
 * an effect that was repeated.
 */
export function effectStep(word: string, number: number): ShellStep {
  const evidence = `EFFECT_OK_${number}`;
  return {
    id: word,
    command: `echo ${word} >> effects.log && echo ${evidence}`,
    evidence,
    inspect: { command: 'cat effects.log || true', shows: word },
  };
}

/** The task of nearly every scenario: `one` and `two` in `effects.log`, once each. */
export const TWO_EFFECTS: readonly ShellStep[] = [effectStep('one', 1), effectStep('two', 2)];

/** A scenario with the usual task and a careful model. */
export function twoEffects(
  name: string,
  what: string,
  faults: readonly FaultRule[],
  rest: Pick<Scenario, 'recoverable' | 'expectation'>,
): Scenario {
  return { name, what, faults, steps: TWO_EFFECTS, temperament: 'checker', ...rest };
}
