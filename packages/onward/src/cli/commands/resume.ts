import { OnwardError } from '../../kernel/error.ts';
import type { Journal } from '../../kernel/journal.ts';
import { createDeps, resumeRun } from '../../library/index.ts';
import { lacksCredential, placeOf, type RunState, runStream, type SupervisorDeps } from '../../supervisor/index.ts';
import { exitCodes } from '../exit-codes.ts';
import { findRun, loadRun, runIds } from '../find-run.ts';
import type { Io } from '../io.ts';
import { withJournal } from '../open-journal.ts';
import { watchRun } from '../watch-run.ts';

/** The flags of `resume`. */
export interface ResumeFlags {
  readonly now?: boolean;
  readonly due?: boolean;
  readonly journal?: string;
  readonly json?: boolean;
  readonly quiet?: boolean;
  readonly verbose?: boolean;
}

/** `onward resume`: goes on with a run that rests or whose process died; `--due` with every parked one whose time has come. */
export async function resume(io: Io, wanted: string | undefined, flags: ResumeFlags): Promise<number> {
  return withJournal(io, flags.journal, async (journal) => {
    const deps = createDeps({ env: io.env, journal });
    if (flags.due === true) return resumeDue(io, deps, journal, flags);
    const id = await findRun(journal, wanted, io.cwd);
    return resumeOne(io, deps, await loadRun(journal, id), flags);
  });
}

async function resumeOne(io: Io, deps: SupervisorDeps, run: RunState, flags: ResumeFlags): Promise<number> {
  const until = run.phase.kind === 'paused' ? run.phase.until : undefined;
  if (until !== undefined && until > deps.clock.now() && flags.now !== true) {
    io.err(
      `onward: parked until ${new Date(until).toISOString()}. Then: onward resume ${run.id}   (or now: onward resume ${run.id} --now)`,
    );
    return exitCodes.parked.code;
  }
  if (run.phase.kind !== 'ended') await checkUnchanged(io, deps, run, flags.now === true);
  const supervision = await resumeRun(deps, run.id, 'a person');
  const verbosity = flags.quiet === true ? 'quiet' : flags.verbose === true ? 'verbose' : 'normal';
  return watchRun(io, supervision, { json: flags.json === true, verbosity });
}

/** What a run depends on must still be what it was; a difference asks a person, who says `--now`. */
async function checkUnchanged(io: Io, deps: SupervisorDeps, run: RunState, accept: boolean): Promise<void> {
  const { accepted } = run;
  const place = runStream(run.id);
  if (lacksCredential(accepted)) {
    throw new OnwardError(
      'run/credential-missing',
      'The command of this run had a credential among its arguments, which is not on record.',
      {
        place,
        next: ['Give credentials in the environment, and start a new run.'],
      },
    );
  }
  const found = await deps.host.inspect(accepted.program, accepted.cwd);
  if (!found.ok) throw new OnwardError('run/cannot-start', found.sentence, { place, next: found.next });
  if (found.version !== accepted.version)
    io.err(`onward: the agent was ${accepted.version} and is ${found.version} now`);
  const adapter = deps.adapters.find((candidate) => candidate.name === accepted.agent);
  const identity = await adapter?.identify(placeOf(deps, accepted.cwd));
  if (accept || identity === undefined || identity.baseUrl === accepted.identity.baseUrl) return;
  throw new OnwardError(
    'run/changed',
    `Requests would go to ${identity.baseUrl} now; the run was accepted for ${accepted.identity.baseUrl}.`,
    {
      place,
      next: ['Set the environment as it was, or go on as things are:', `onward resume ${run.id} --now`],
    },
  );
}

async function resumeDue(io: Io, deps: SupervisorDeps, journal: Journal, flags: ResumeFlags): Promise<number> {
  let worst = 0;
  for (const id of await runIds(journal)) {
    // oxlint-disable-next-line no-await-in-loop -- one run after the other
    const run = await loadRun(journal, id);
    const due = run.phase.kind === 'paused' && run.phase.until !== undefined && run.phase.until <= deps.clock.now();
    if (!due || run.accepted.host !== deps.host.holder.host) continue;
    // oxlint-disable-next-line no-await-in-loop -- as above
    worst = Math.max(worst, await resumeOne(io, deps, run, flags));
  }
  return worst;
}
