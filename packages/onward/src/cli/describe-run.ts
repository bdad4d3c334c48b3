import { assertNever } from '../kernel/error.ts';
import type { Phase, RunState } from '../supervisor/index.ts';
import { oneLine } from './plain-text.ts';

/** The state of a run in a word or two, as people read it and `--json` gives it. `live`: a process keeps it going. */
export function stateOf(phase: Phase, live: boolean): string {
  switch (phase.kind) {
    case 'ready':
    case 'waiting':
    case 'running':
      return live ? phase.kind : 'orphaned';
    case 'paused':
      return `paused: ${phase.reason}`;
    case 'ended':
      return phase.outcome;
    default:
      return assertNever(phase, 'stateOf');
  }
}

/** Why it is in that state, in one line; empty where the state says it all. */
export function becauseOf(phase: Phase, live: boolean): string {
  if ('because' in phase) return phase.because;
  return live ? '' : 'the process that kept it going is gone';
}

/** One run in one object, for `ls --json`. Times are ms since the epoch. */
export interface RunSummary {
  /** The same as `run`; sessions have it, too. */
  readonly id: string;
  readonly kind: 'run';
  readonly run: string;
  readonly name: string | null;
  readonly agent: string;
  readonly state: string;
  /** A live process keeps it going. */
  readonly live: boolean;
  readonly attempts: number;
  readonly cwd: string;
  readonly acceptedAt: number;
  readonly because: string;
}

/** Sums a run up. */
export function summarise(run: RunState, live: boolean): RunSummary {
  const { phase, accepted } = run;
  return {
    run: run.id,
    name: accepted.name ?? null,
    agent: accepted.agent,
    state: stateOf(phase, live),
    live,
    attempts: run.attempts.length,
    cwd: accepted.cwd,
    acceptedAt: run.acceptedAt,
    because: becauseOf(phase, live),
    id: run.id,
    kind: 'run',
  };
}

/** `1 run`, `2 runs`. */
export function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}

/** A date and time of this machine's zone, `2026-01-31 23:59`. */
export function dateOf(ms: number): string {
  const date = new Date(ms);
  const parts = [date.getFullYear(), date.getMonth() + 1, date.getDate(), date.getHours(), date.getMinutes()];
  const [year, month, day, hours, minutes] = parts.map((part) => String(part).padStart(2, '0'));
  return `${year}-${month}-${day} ${hours}:${minutes}`;
}

/** Columns padded to the same width, each cell on one line; the last one is left as long as it is. */
export function table(rows: readonly (readonly string[])[]): readonly string[] {
  const clean = rows.map((row) => row.map((cell) => oneLine(cell, 2_000)));
  const widths = (clean[0] ?? []).map((_, column) => Math.max(...clean.map((row) => row[column]?.length ?? 0)));
  return clean.map((row) =>
    row
      .map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd(widths[column] ?? 0)))
      .join('  ')
      .trimEnd(),
  );
}
