import { cancelMessage, messageTo } from '../../engines/inbox.ts';
import type { Journal } from '../../kernel/journal.ts';
import { attachRun, createDeps } from '../../library/index.ts';
import { type RunState, runStream, type SupervisorDeps } from '../../supervisor/index.ts';
import { becauseOf, stateOf } from '../describe-run.ts';
import { exitCodes } from '../exit-codes.ts';
import { loadRun } from '../find-run.ts';
import { findWork } from '../find-work.ts';
import type { Io } from '../io.ts';
import { liveLease } from '../live-lease.ts';
import { withJournal } from '../open-journal.ts';
import { cancelSession } from '../sessions/session-verbs.ts';

/** How long the live process may take to end its agent. */
const patienceMs = 60_000;

/** `onward cancel`: ends a run for good, wherever it is: asked of its live process, or done here when it has none. */
export async function cancel(
  io: Io,
  wanted: string | undefined,
  flags: { readonly journal?: string; readonly json?: boolean },
): Promise<number> {
  return withJournal(io, flags.journal, async (journal) => {
    const deps = createDeps({ env: io.env, journal });
    const { kind, id } = await findWork(journal, wanted, io.cwd);
    if (kind === 'session') return cancelSession(io, journal, id, flags.json === true);
    const before = await loadRun(journal, id);
    const isOver = before.phase.kind === 'ended';
    if (!isOver) await cancelRun(deps, before);
    const { phase } = isOver ? before : await loadRun(journal, id);
    const live = (await liveLease(journal, deps.host, id, deps.clock.now())) !== undefined;
    const said = {
      run: id,
      state: stateOf(phase, live),
      because: isOver ? 'it was over already' : becauseOf(phase, live),
    };
    if (flags.json === true) io.json(said);
    else io.err(`onward: ${said.run} ${said.state}${said.because === '' ? '' : `, ${said.because}`}`);
    if (phase.kind === 'ended') return exitCodes.done.code;
    if (flags.json !== true) io.err(`  It has been told, and has not ended yet. Look: ${io.hint(`tail ${id}`)}`);
    return exitCodes.failed.code;
  });
}

async function cancelRun(deps: SupervisorDeps, { id, position }: RunState): Promise<void> {
  const { journal, clock } = deps;
  const message = cancelMessage({ id: deps.ids.uuid(), cause: 'cancelled by a person' });
  await journal.append([messageTo(runStream(id), message, clock.now())]);
  if ((await liveLease(journal, deps.host, id, clock.now())) !== undefined) await untilRest(journal, id, position);
  // The live process may have come to rest without having read the message.
  if ((await loadRun(journal, id)).phase.kind === 'ended') return;
  if ((await liveLease(journal, deps.host, id, clock.now())) === undefined) await attachRun(deps, id).result;
}

async function untilRest(journal: Journal, id: string, after: number): Promise<void> {
  for await (const event of journal.follow(runStream(id), after, AbortSignal.timeout(patienceMs))) {
    if (event.type === 'run.ended' || event.type === 'run.paused') return;
  }
}
