import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { OnwardError } from '../../kernel/error.ts';
import type { Journal } from '../../kernel/journal.ts';
import { createDeps, stateFolder } from '../../library/index.ts';
import { runHeld, runInbox, type RunState, runStream, type SupervisorDeps } from '../../supervisor/index.ts';
import { counted } from '../describe-run.ts';
import { parseDuration } from '../duration.ts';
import { listRuns, loadRun } from '../find-run.ts';
import { findWork } from '../find-work.ts';
import type { Io } from '../io.ts';
import { liveLease } from '../live-lease.ts';
import { withJournal } from '../open-journal.ts';
import { eraseSession } from '../sessions/session-verbs.ts';

/** `onward rm ID`: erases a run, its messages and its spool. A run that could still go on must be cancelled first. */
export async function remove(
  io: Io,
  wanted: string,
  flags: { readonly journal?: string; readonly json?: boolean },
): Promise<number> {
  return withJournal(io, flags.journal, async (journal) => {
    const deps = createDeps({ env: io.env, journal });
    const work = await findWork(journal, wanted, io.cwd);
    if (work.kind === 'session') {
      await eraseSession(io, journal, work.id);
      if (flags.json === true) io.json({ erased: [work.id], kept: 0 });
      else io.err('onward: erased 1 session');
      return 0;
    }
    const run = await loadRun(journal, work.id);
    if (run.phase.kind !== 'ended') {
      const lease = await liveLease(journal, deps.host, run.id, deps.clock.now());
      if (lease !== undefined) throw runHeld(run.id, lease.holder.pid);
      throw new OnwardError('run/not-over', 'The run is not over: it could still be resumed.', {
        place: runStream(run.id),
        next: [`onward cancel ${run.id}`],
      });
    }
    await erase(io, deps, journal, run);
    report(io, flags, [run.id], 0);
    return 0;
  });
}

/** `onward prune --older-than 30d`: erases runs that were over by then. Those that could still go on stay. */
export async function prune(
  io: Io,
  flags: { readonly olderThan: string; readonly journal?: string; readonly json?: boolean },
): Promise<number> {
  const age = parseDuration(flags.olderThan, '--older-than');
  return withJournal(io, flags.journal, async (journal) => {
    const deps = createDeps({ env: io.env, journal });
    const erased: string[] = [];
    let kept = 0;
    for await (const listed of listRuns(journal)) {
      // What cannot be read now may be readable by a newer version.
      if (!listed.ok) {
        kept += 1;
        continue;
      }
      const { run } = listed;
      if ((run.attempts.at(-1)?.endedAt ?? run.acceptedAt) > deps.clock.now() - age) continue;
      if (run.phase.kind !== 'ended') kept += 1;
      else {
        await erase(io, deps, journal, run);
        erased.push(run.id);
      }
    }
    report(io, flags, erased, kept);
    return 0;
  });
}

async function erase(io: Io, deps: SupervisorDeps, journal: Journal, run: RunState): Promise<void> {
  const stream = runStream(run.id);
  const claimed = await journal.claim(stream, deps.host.holder, 15_000, (held) => deps.host.isDead(held));
  if (!claimed.ok) throw runHeld(run.id, claimed.held.holder.pid);
  await journal.erase(stream, claimed.lease.epoch);
  await journal.erase(runInbox(run.id));
  await rm(join(stateFolder(io.env), 'attempts', run.id), { recursive: true, force: true });
}

function report(io: Io, flags: { readonly json?: boolean }, erased: readonly string[], kept: number): void {
  if (flags.json === true) return io.json({ erased, kept });
  io.err(
    `onward: erased ${counted(erased.length, 'run')}${kept === 0 ? '' : `; kept ${kept} that could still go on (${io.hint('ls')})`}`,
  );
}
