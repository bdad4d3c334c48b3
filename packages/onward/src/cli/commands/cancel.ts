import { attachRun, createDeps } from '../../library/index.ts';
import { runInbox, runStream } from '../../supervisor/index.ts';
import { exitCodes } from '../exit-codes.ts';
import { findRun, loadRun } from '../find-run.ts';
import type { Io } from '../io.ts';
import { liveLease } from '../live-lease.ts';
import { withJournal } from '../open-journal.ts';

/** `onward cancel`: ends a run for good, wherever it is: asked of its live process, or done here when it has none. */
export async function cancel(
  io: Io,
  wanted: string | undefined,
  flags: { readonly journal?: string; readonly json?: boolean },
): Promise<number> {
  return withJournal(io, flags.journal, async (journal) => {
    const deps = createDeps({ env: io.env, journal });
    const id = await findRun(journal, wanted, io.cwd);
    const before = await loadRun(journal, id);
    if (before.phase.kind === 'ended')
      return say(io, flags, { run: id, state: before.phase.outcome, because: 'it was over already' });
    const message = { type: 'cancel.requested', v: 1, id: deps.ids.uuid(), data: { cause: 'cancelled by a person' } };
    await journal.append([{ stream: runInbox(id), expected: 'any', events: [message], due: deps.clock.now() }]);
    if ((await liveLease(journal, deps.host, id, deps.clock.now())) === undefined) await attachRun(deps, id).result;
    else await untilRest(journal, id, before.position);
    const { phase } = await loadRun(journal, id);
    const state = phase.kind === 'ended' ? phase.outcome : phase.kind;
    return say(io, flags, { run: id, state, because: 'because' in phase ? phase.because : '' });
  });
}

async function untilRest(journal: Parameters<typeof loadRun>[0], id: string, after: number): Promise<void> {
  for await (const event of journal.follow(runStream(id), after, AbortSignal.timeout(60_000))) {
    if (event.type === 'run.ended' || event.type === 'run.paused') return;
  }
}

interface Said {
  readonly run: string;
  readonly state: string;
  readonly because: string;
}

function say(io: Io, flags: { readonly json?: boolean }, said: Said): number {
  if (flags.json === true) io.out(JSON.stringify(said));
  else io.err(`onward: ${said.run} ${said.state}${said.because === '' ? '' : `, ${said.because}`}`);
  return said.state === 'running' || said.state === 'waiting' ? exitCodes.failed.code : exitCodes.done.code;
}
