import type { Fault, FaultRule, Temperament } from '../../../src/lab/index.ts';

/** Every way in which the scripted model reads its history. */
export const temperaments: readonly Temperament[] = ['naive', 'reader', 'checker'];

/** The fault meets request `from`, or `from` to `to`; `null` = for ever. */
export function hits(fault: Fault, from: number, to: number | null = from): readonly FaultRule[] {
  return [{ from, to, fault }];
}
