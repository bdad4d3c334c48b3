import type { FaultRule, SeededFaults } from './fault.ts';
import type { Script } from './script.ts';
import type { StopReason, ToolCall, Turn, TurnUsage } from './turn.ts';

/** One answer of a script that is a list of answers. What is left out is empty; without `stop` it ends as its calls say. */
export interface TurnSpec {
  readonly thinking?: string;
  readonly text?: string;
  readonly calls?: readonly ToolCall[];
  readonly stop?: StopReason;
  readonly usage?: TurnUsage;
}

/**
 * A script for any caller, whatever tools it offers, if any: a plain list of answers. Every request to a model API counts as a main
 * request. A request that meets a fault uses no answer up, so that the next one gets what this one should have; once the list is
 * used up, requests are refused with a 400 that says so.
 */
export interface TurnScript {
  readonly turns: readonly TurnSpec[];
  /** Faults by the number of the request, counted from 1. The first rule that matches wins. */
  readonly faults?: readonly FaultRule[];
  /** Faults drawn from a seed, for requests that no rule matches. */
  readonly seeded?: SeededFaults;
}

/** What a server plays: `list` is there if the script was a list of answers. */
export interface PlayedScript extends Script {
  readonly list?: readonly Turn[];
}

/** Whether a script is a list of answers rather than a task. */
export function isTurnScript(script: Script | TurnScript): script is TurnScript {
  return 'turns' in script && !('task' in script);
}

/** The script as a server plays it. */
export function toPlayed(script: Script | TurnScript): PlayedScript {
  if (!isTurnScript(script)) return script;
  const { turns, ...faults } = script;
  return { task: { steps: [] }, temperament: 'naive', ...faults, list: turns.map(toTurn) };
}

function toTurn(spec: TurnSpec): Turn {
  const calls = spec.calls ?? [];
  return { ...spec, text: spec.text ?? '', calls, stop: spec.stop ?? (calls.length > 0 ? 'tool' : 'end') };
}
