import { isOnwardError } from '../../kernel/error.ts';
import type { Journal } from '../../kernel/journal.ts';
import { createDeps } from '../../library/index.ts';
import { counted, dateOf, type RunSummary, summarise, table } from '../describe-run.ts';
import { listRuns } from '../find-run.ts';
import { sessionIds } from '../find-work.ts';
import type { Io } from '../io.ts';
import { liveLease } from '../live-lease.ts';
import { withJournal } from '../open-journal.ts';
import { loadSession, type SessionSummary, summariseSession } from '../sessions/session-info.ts';
import { isLive } from '../sessions/session-verbs.ts';

type Summary = RunSummary | SessionSummary;

/** `onward ls`: all runs and sessions, newest first; `--here` only those of this directory. */
export async function list(
  io: Io,
  flags: { readonly here?: boolean; readonly journal?: string; readonly json?: boolean },
): Promise<number> {
  return withJournal(io, flags.journal, async (journal) => {
    const found: Summary[] = [];
    for await (const summary of runs(io, journal)) found.push(summary);
    for await (const summary of sessions(io, journal)) found.push(summary);
    const shown = found
      .filter(({ cwd }) => flags.here !== true || cwd === io.cwd)
      .toSorted((a, b) => b.acceptedAt - a.acceptedAt);
    if (flags.json === true) {
      for (const summary of shown) io.json(summary);
      return 0;
    }
    if (shown.length === 0)
      io.err(`No runs ${flags.here === true ? 'of this directory' : 'yet'}. Start one: onward run -- claude -p "..."`);
    for (const line of table(shown.map(rowOf))) io.out(line);
    return 0;
  });
}

async function* runs(io: Io, journal: Journal): AsyncGenerator<Summary> {
  const { host, clock } = createDeps({ env: io.env, journal });
  for await (const listed of listRuns(journal)) {
    if (!listed.ok) io.err(`onward: the run ${listed.id} is left out: ${listed.error.message}`);
    else yield summarise(listed.run, (await liveLease(journal, host, listed.run.id, clock.now())) !== undefined);
  }
}

async function* sessions(io: Io, journal: Journal): AsyncGenerator<Summary> {
  for (const id of await sessionIds(journal)) {
    try {
      // oxlint-disable-next-line no-await-in-loop -- one session in memory at a time
      yield summariseSession(await loadSession(journal, id), await isLive(io, journal, id));
    } catch (error) {
      if (!isOnwardError(error) || error.code === 'journal/vanished') throw error;
      // One that was erased meanwhile is not missed.
      if (error.code !== 'session/unknown') io.err(`onward: the session ${id} is left out: ${error.message}`);
    }
  }
}

function rowOf(summary: Summary): readonly string[] {
  const { id, kind, agent, state, acceptedAt, name, cwd } = summary;
  const count = 'attempts' in summary ? counted(summary.attempts, 'attempt') : counted(summary.prompts, 'prompt');
  return [id, kind, agent, state, count, dateOf(acceptedAt), name ?? '-', cwd ?? '-'];
}
