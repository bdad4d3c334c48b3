import type { FaultRule, SeededFaults } from './fault.ts';
import type { Turn } from './turn.ts';

/**
 * How the scripted model decides whether a step still has to be done.
 * `naive`: only a tool result of it counts. `reader`: also its recorded result quoted anywhere, such as in a continuation
 * prompt. `checker`: as `reader`, and when it is told that an outcome is unknown it inspects before it decides.
 */
export type Temperament = 'naive' | 'reader' | 'checker';

/** One shell command of the task, and the words that its output holds once it ran. */
export interface ShellStep {
  readonly id: string;
  readonly command: string;
  /** What the command prints when it is done, such as `EFFECT_OK_1`. Seen inside a quoted command it does not count. */
  readonly evidence: string;
  /** How a `checker` finds out whether the step was done: a command, and a word its output holds only then. */
  readonly inspect?: { readonly command: string; readonly shows: string };
}

/** A step handed to a subagent of the agent under test (Claude Code's `Agent` or `Task` tool). */
export interface DelegatedStep {
  readonly id: string;
  /** What the subagent's report holds when its own steps are done. */
  readonly evidence: string;
  readonly delegate: { readonly steps: readonly ShellStep[] };
}

/** A step of the task. */
export type Step = ShellStep | DelegatedStep;

/** What the scripted model wants to get done, in order. */
export interface Task {
  readonly steps: readonly Step[];
  /** The answer once every step is done. */
  readonly finalText?: string;
}

/** All that a model server plays. Plain JSON: it can be kept in a file and sent over a wire. */
export interface Script {
  readonly task: Task;
  readonly temperament: Temperament;
  /** Faults by the number of the main request, counted from 1. The first rule that matches wins. */
  readonly faults?: readonly FaultRule[];
  /** Faults drawn from a seed, for requests that no rule matches. */
  readonly seeded?: SeededFaults;
  /** Fixed answers to main requests 1, 2, … instead of what the temperament would do; after the last one it decides again. */
  readonly turns?: readonly Turn[];
  /** What a request to compact the conversation gets: the results word for word, or a sentence that says nothing. */
  readonly summary?: 'faithful' | 'uninformative';
}

/** Whether a step is handed to a subagent. */
export function isDelegated(step: Step): step is DelegatedStep {
  return 'delegate' in step;
}
