import { OnwardError } from '../kernel/error.ts';
import type { Classification, Failure } from '../kernel/failure.ts';
import { assertNever } from '../kernel/error.ts';
import type { PauseReason } from './run-events.ts';
import type { AttemptState, RunState } from './run-state.ts';

/** How a run ended or rests: exactly one of these. `text` exists only where the task is done. */
export type RunResult =
  | { readonly status: 'done'; readonly run: string; readonly text: string; readonly attempts: number }
  | {
      readonly status: 'failed';
      readonly run: string;
      readonly because: string;
      readonly attempts: number;
      readonly failure?: Failure;
      readonly classification?: Classification;
    }
  | { readonly status: 'cancelled'; readonly run: string; readonly because: string; readonly attempts: number }
  | {
      readonly status: 'paused';
      readonly run: string;
      readonly reason: PauseReason;
      readonly because: string;
      readonly attempts: number;
      /** When going on makes sense again, ms since the epoch, where that is known. */
      readonly until?: number;
      readonly failure?: Failure;
      readonly classification?: Classification;
    };

/** The result of a run that rests or is over; `undefined` while it goes on. */
export async function resultOf(
  run: RunState,
  read: (body: NonNullable<AttemptState['prompt']>) => Promise<string>,
): Promise<RunResult | undefined> {
  const { phase } = run;
  const last = run.attempts.at(-1);
  const base = { run: run.id, attempts: run.attempts.length };
  const failed =
    last?.end?.kind === 'failed' ? { failure: last.end.failure, classification: last.end.classification } : {};
  switch (phase.kind) {
    case 'ready':
    case 'waiting':
    case 'running':
      return undefined;
    case 'paused':
      return {
        status: 'paused',
        ...base,
        reason: phase.reason,
        because: phase.because,
        ...(phase.until === undefined ? {} : { until: phase.until }),
        ...failed,
      };
    case 'ended':
      if (phase.outcome === 'done' && last?.end?.kind === 'committed')
        return { status: 'done', ...base, text: await read(last.end.text) };
      if (phase.outcome === 'cancelled') return { status: 'cancelled', ...base, because: phase.because };
      return { status: 'failed', ...base, because: phase.because, ...failed };
    default:
      return assertNever(phase, 'resultOf');
  }
}

/** The answer of a run that is done; throws `run/not-done` for every other end, for callers that want one path. */
export function orThrow(result: RunResult): string {
  if (result.status === 'done') return result.text;
  const kind = result.status === 'paused' ? `paused (${result.reason})` : result.status;
  throw new OnwardError('run/not-done', `The run is ${kind}: ${result.because}`, {
    place: `run:${result.run}`,
    next:
      result.status === 'paused'
        ? [`onward resume ${result.run}`, `onward why ${result.run}`]
        : [`onward why ${result.run}`],
  });
}
