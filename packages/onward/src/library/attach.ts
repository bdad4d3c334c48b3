import { createInProcessEngine } from '../engines/in-process/index.ts';
import { OnwardError } from '../kernel/error.ts';
import { createRedactor } from '../kernel/redact.ts';
import {
  createCoordinator,
  foldRun,
  readBody,
  resultOf,
  runEvent,
  runHeld,
  type RunResult,
  type RunState,
  runStream,
  type RunStreamEvent,
  type SupervisorDeps,
} from '../supervisor/index.ts';
import { createRunFeed } from './run-feed.ts';

/** A run that this process keeps going. Iterate it for its events; `result` resolves when it is over or rests. */
export interface Supervision extends AsyncIterable<RunStreamEvent> {
  readonly id: string;
  readonly result: Promise<RunResult>;
  /** Checkpoints the run as interrupted; a second call ends its processes without waiting. */
  interrupt(because: string): void;
  /** Ends the run for good. */
  cancel(because: string): Promise<void>;
}

/** Keeps a recorded run going in this process until it is over or rests. `after`: events up to there are not repeated. */
export function attachRun(deps: SupervisorDeps, id: string, after = 0): Supervision {
  const key = runStream(id);
  const feed = createRunFeed(deps.journal, id, deps.clock, createRedactor(deps.env));
  const broken = Promise.withResolvers<never>();
  const coordinator = createCoordinator({ ...deps, live: (event) => feed.live(event) }, id, () => engine.wake(key));
  const engine = createInProcessEngine({
    journal: deps.journal,
    work: [coordinator],
    clock: deps.clock,
    random: deps.random,
    isDead: (holder) => deps.host.isDead(holder),
    onError: (error) => broken.reject(error),
  });
  const work = async (): Promise<RunResult> => {
    const never = new AbortController();
    try {
      await engine.start();
      const rest = await Promise.race([engine.settled(key, never.signal), broken.promise]);
      if (rest.kind === 'waiting' && rest.on === 'host') throw otherHost(id);
      return await readResult(deps, id, coordinator.state());
    } finally {
      await coordinator.close();
      await engine[Symbol.asyncDispose]();
      feed.end(coordinator.state()?.position ?? after);
    }
  };
  broken.promise.catch(() => undefined);
  const result = work();
  // A caller who only iterates hears of the end by the events; one who awaits `result` gets the error itself.
  result.catch(() => undefined);
  return {
    id,
    result,
    interrupt: (because) => coordinator.interrupt(because),
    cancel: (because) => engine.cancel(key, { id: deps.ids.uuid(), cause: because }),
    [Symbol.asyncIterator]: () => feed.read(after)[Symbol.asyncIterator](),
  };
}

async function readResult(deps: SupervisorDeps, id: string, run: RunState | undefined): Promise<RunResult> {
  const result = run === undefined ? undefined : await resultOf(run, (body) => readBody(deps.journal, body));
  if (result !== undefined) return result;
  throw new OnwardError('bug/no-result', `The run ${id} came to rest without a result.`, { place: runStream(id) });
}

/**
 * Opens a resting run again, on a person's word, and keeps it going. One that waits for its next attempt waits for what is
 * left, since a server may have asked for it; `now` cuts that short. Throws `run/finished` for one that is over,
 * `run/held` for one that a live process keeps going.
 */
export async function resumeRun(
  deps: SupervisorDeps,
  id: string,
  by: string,
  options: { readonly now?: boolean } = {},
): Promise<Supervision> {
  const stream = runStream(id);
  const before = foldRun(id, await deps.journal.read(stream));
  if (before === undefined) throw new OnwardError('run/unknown', `There is no run ${id}.`, { next: ['onward ls'] });
  if (before.phase.kind === 'ended') {
    throw new OnwardError('run/finished', `The run is over (${before.phase.outcome}) and cannot be resumed.`, {
      place: stream,
      next: [`onward show ${id}`],
    });
  }
  if (before.accepted.host !== deps.host.holder.host) throw otherHost(id);
  const claimed = await deps.journal.claim(stream, deps.host.holder, 15_000, (held) => deps.host.isDead(held));
  if (!claimed.ok) throw runHeld(id, claimed.held.holder.pid);
  const run = foldRun(id, await deps.journal.read(stream)) ?? before;
  if (run.phase.kind === 'paused' || (run.phase.kind === 'waiting' && options.now === true)) {
    const event = runEvent('run.resumed', { by, inbox: run.inbox });
    const appended = await deps.journal.append([
      { stream, expected: run.position, epoch: claimed.lease.epoch, events: [event], due: deps.clock.now() },
    ]);
    if (!appended.ok) throw runHeld(id, undefined);
  }
  return attachRun(deps, id, before.position);
}

function otherHost(id: string): OnwardError {
  return new OnwardError(
    'run/other-host',
    'This run belongs to another machine, user or home directory: only there can its conversation be continued.',
    {
      place: runStream(id),
      next: [`There: onward resume ${id}`],
    },
  );
}
