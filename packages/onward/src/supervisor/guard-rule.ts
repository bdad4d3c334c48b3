import type { Hash, Ids } from '../kernel/ports.ts';
import type { Observation } from './adapter.ts';
import { newDelimiter, quoteOutput } from './continuation.ts';
import { shortInput } from './record.ts';
import { callIdentity, type CallState, type RunState } from './run-state.ts';

/**
 * Refuses a call that the journal has as finished *and* whose record the agent lost: once each, with the result, so that a
 * wanted second run of the same command goes through. Knows only earlier attempts; made anew for each attempt.
 */
export function guardRule(
  run: RunState,
  n: number,
  { hash, ids }: { readonly hash: Hash; readonly ids: Ids },
): (call: Extract<Observation, { kind: 'call-intended' }>) => string | undefined {
  const refused = run.attempts.flatMap((attempt) =>
    attempt.calls.filter((call) => call.state === 'refused').map(callIdentity),
  );
  const lost = lostCalls(run, n).filter((call) => call.ok === true);
  const left = new Map<string, CallState[]>();
  for (const call of lost) left.set(callIdentity(call), [...(left.get(callIdentity(call)) ?? []), call]);
  for (const identity of refused) left.get(identity)?.shift();
  return (observation) => {
    const call = left
      .get(callIdentity({ tool: observation.tool, input: shortInput(observation.input, hash) }))
      ?.shift();
    if (call === undefined) return undefined;
    return `Onward: this call already ran in this task and finished, but the conversation lost it, so it is not run again. If a second run is really wanted, call it once more.\n${quoteOutput(call, newDelimiter(ids))}`;
  };
}

/** Finished calls of attempts before `n` that the agent's own history does not have. */
export function lostCalls(run: RunState, n: number): readonly CallState[] {
  return run.attempts
    .filter((attempt) => attempt.n < n)
    .flatMap((attempt) => attempt.calls.filter((call) => call.lost && call.state === 'finished'));
}
