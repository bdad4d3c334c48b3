import { LabError } from '../model-server/lab-error.ts';
import { BROKEN_CONNECTIONS } from './broken-connections.ts';
import { ENDINGS } from './endings.ts';
import { PROVIDER_ERRORS } from './provider-errors.ts';
import type { Scenario } from './scenario.ts';
import { SILENCE } from './silence.ts';

/** Every scenario of the lab, the healthy one first. */
export const scenarios: readonly Scenario[] = [...ENDINGS, ...PROVIDER_ERRORS, ...BROKEN_CONNECTIONS, ...SILENCE];

/** The scenario of that name. Throws `LabError` (`lab.unknown-scenario`) that lists all names. */
export function findScenario(name: string): Scenario {
  const found = scenarios.find((each) => each.name === name);
  if (found !== undefined) return found;
  const names = scenarios.map((each) => each.name).join(', ');
  throw new LabError('lab.unknown-scenario', `The lab has no scenario called ${JSON.stringify(name)}.`, [
    `Choose one of: ${names}.`,
  ]);
}
