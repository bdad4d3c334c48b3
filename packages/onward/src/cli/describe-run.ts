import { assertNever } from '../kernel/error.ts';
import type { Phase, RunState } from '../supervisor/index.ts';

/** The state of a run in a word or two, as `ls` shows it and `--json` gives it. */
export function stateOf(phase: Phase): string {
  switch (phase.kind) {
    case 'ready':
      return 'ready';
    case 'waiting':
      return 'waiting';
    case 'running':
      return 'running';
    case 'paused':
      return `paused: ${phase.reason}`;
    case 'ended':
      return phase.outcome;
    default:
      return assertNever(phase, 'stateOf');
  }
}

/** One run in one object, for `ls --json`. Times are ms since the epoch. */
export interface RunSummary {
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
    state:
      !live && (phase.kind === 'running' || phase.kind === 'waiting' || phase.kind === 'ready')
        ? 'orphaned'
        : stateOf(phase),
    live,
    attempts: run.attempts.length,
    cwd: accepted.cwd,
    acceptedAt: run.acceptedAt,
    because: 'because' in phase ? phase.because : '',
  };
}

/** Columns padded to the same width; the last one is left as it is. */
export function table(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) =>
    row.map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd(widths[column] ?? 0))).join('  '),
  );
}
