import type { Fault, FaultRule } from './fault.ts';
import { mulberry32 } from './prng.ts';
import type { Script } from './script.ts';

/** The number of a main request: among all of them, and among those of its own agent. Both count from 1. */
export interface RequestNumber {
  readonly agent: 'main' | 'subagent';
  readonly overall: number;
  readonly ofAgent: number;
}

/** The fault that a request meets, if any: the first matching rule, else what the seed draws. Pure. */
export function chooseFault(script: Script, number: RequestNumber): Fault | undefined {
  const rule = script.faults?.find((each) => each.fault.kind !== 'refused' && hits(each, number));
  return rule?.fault ?? drawn(script, number.overall);
}

/** The rule that closes the port once request `answered` is over (0 = at the start), if any. Pure. */
export function refusalAfter(script: Script, answered: number): FaultRule | undefined {
  return script.faults?.find((rule) => rule.fault.kind === 'refused' && rule.from === answered + 1);
}

function hits(rule: FaultRule, number: RequestNumber): boolean {
  if (rule.agent !== undefined && rule.agent !== number.agent) return false;
  const count = rule.agent === undefined ? number.overall : number.ofAgent;
  const last = rule.to === undefined ? rule.from : rule.to;
  return count >= rule.from && (last === null || count <= last);
}

/** Draws from the start each time: `overall` is small, and a function of the script alone needs no state. */
function drawn(script: Script, overall: number): Fault | undefined {
  const seeded = script.seeded;
  if (seeded === undefined || seeded.faults.length === 0) return undefined;
  const next = mulberry32(seeded.seed);
  let left = seeded.atMost ?? Number.POSITIVE_INFINITY;
  let fault: Fault | undefined;
  for (let count = 1; count <= overall; count += 1) {
    const meets = next() < seeded.share;
    const pick = seeded.faults[Math.floor(next() * seeded.faults.length)];
    fault = meets && left > 0 ? pick : undefined;
    if (fault !== undefined) left -= 1;
  }
  return fault;
}
