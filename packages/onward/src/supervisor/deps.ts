import type { Journal } from '../kernel/journal.ts';
import type { Clock, Hash, Ids, Random } from '../kernel/ports.ts';
import type { AgentAdapter, AgentPlace, Observation } from './adapter.ts';
import type { AttemptHost } from './attempt-host.ts';

/** What is only shown while it happens and never recorded: text as it comes, notices, that the run waits for a lock. */
export interface LiveEvent {
  readonly run: string;
  readonly attempt: number;
  readonly observation: Extract<Observation, { kind: 'delta' | 'notice' | 'alive' }>;
}

/** Everything the coordinator works with, as arguments. */
export interface SupervisorDeps {
  readonly journal: Journal;
  readonly adapters: readonly AgentAdapter[];
  readonly host: AttemptHost;
  readonly clock: Clock;
  readonly random: Random;
  readonly ids: Ids;
  readonly hash: Hash;
  /** The environment that agents get. */
  readonly env: Readonly<Record<string, string>>;
  readonly live?: (event: LiveEvent) => void;
  /** The arguments as they were given to this process, where the recorded ones lack a credential. */
  readonly options?: readonly string[];
}

/** Where a run's agent lives. */
export function placeOf(deps: SupervisorDeps, cwd: string): AgentPlace {
  return { cwd, env: deps.env };
}
