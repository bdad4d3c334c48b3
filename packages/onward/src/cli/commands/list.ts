import { createDeps } from '../../library/index.ts';
import { counted, dateOf, summarise, table } from '../describe-run.ts';
import { listRuns } from '../find-run.ts';
import type { Io } from '../io.ts';
import { liveLease } from '../live-lease.ts';
import { withJournal } from '../open-journal.ts';

/** `onward ls`: all runs, newest first; `--here` only those of this directory. */
export async function list(
  io: Io,
  flags: { readonly here?: boolean; readonly journal?: string; readonly json?: boolean },
): Promise<number> {
  return withJournal(io, flags.journal, async (journal) => {
    const { host, clock } = createDeps({ env: io.env, journal });
    const rows: (readonly string[])[] = [];
    for await (const listed of listRuns(journal)) {
      if (!listed.ok) {
        io.err(`onward: the run ${listed.id} is left out: ${listed.error.message}`);
        continue;
      }
      const { run } = listed;
      if (flags.here === true && run.accepted.cwd !== io.cwd) continue;
      const summary = summarise(run, (await liveLease(journal, host, run.id, clock.now())) !== undefined);
      if (flags.json === true) io.json(summary);
      else rows.push(rowOf(summary));
    }
    if (flags.json === true) return 0;
    if (rows.length === 0)
      io.err(`No runs ${flags.here === true ? 'of this directory' : 'yet'}. Start one: onward run -- claude -p "..."`);
    for (const line of table(rows)) io.out(line);
    return 0;
  });
}

function rowOf({
  run,
  agent,
  state,
  attempts,
  acceptedAt,
  name,
  cwd,
}: ReturnType<typeof summarise>): readonly string[] {
  return [run, agent, state, counted(attempts, 'attempt'), dateOf(acceptedAt), name ?? '-', cwd];
}
