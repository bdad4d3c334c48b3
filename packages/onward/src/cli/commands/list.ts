import { createDeps } from '../../library/index.ts';
import { summarise, table } from '../describe-run.ts';
import { loadRun, runIds } from '../find-run.ts';
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
    const runs = [];
    for (const id of await runIds(journal)) {
      // oxlint-disable-next-line no-await-in-loop -- one run in memory at a time
      const run = await loadRun(journal, id);
      if (flags.here === true && run.accepted.cwd !== io.cwd) continue;
      // oxlint-disable-next-line no-await-in-loop -- as above
      runs.push(summarise(run, (await liveLease(journal, host, id, clock.now())) !== undefined));
    }
    if (flags.json === true) {
      for (const run of runs) io.out(JSON.stringify(run));
      return 0;
    }
    if (runs.length === 0) io.err('No runs yet. Start one: onward run -- claude -p "..."');
    const rows = runs.map((run) => [
      run.run,
      run.agent,
      run.state,
      `${run.attempts} attempt${run.attempts === 1 ? '' : 's'}`,
      new Date(run.acceptedAt).toISOString().slice(0, 16).replace('T', ' '),
      run.name ?? '',
      run.cwd,
    ]);
    for (const line of table(rows)) io.out(line);
    return 0;
  });
}
