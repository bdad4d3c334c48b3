import { existsSync } from 'node:fs';
import { isOnwardError, OnwardError } from '../../kernel/error.ts';
import { createDeps, resumeRun } from '../../library/index.ts';
import {
  type AgentIdentity,
  lacksCredential,
  placeOf,
  type RunState,
  runStream,
  type SupervisorDeps,
} from '../../supervisor/index.ts';
import { exitCodes } from '../exit-codes.ts';
import { listRuns, loadRun } from '../find-run.ts';
import { findWork } from '../find-work.ts';
import { firstLine } from '../first-line.ts';
import type { Io } from '../io.ts';
import { withJournal } from '../open-journal.ts';
import { reportError } from '../report-error.ts';
import { type WatchFlags, watchOptions, watchRun } from '../watch-run.ts';

/** The flags of `resume`. */
export interface ResumeFlags extends WatchFlags {
  readonly now?: boolean;
  readonly due?: boolean;
  readonly journal?: string;
}

/** `onward resume`: goes on with a run that rests or whose process died; `--due` with every one whose time has come. */
export async function resume(io: Io, wanted: string | undefined, flags: ResumeFlags): Promise<number> {
  if (flags.due === true && wanted !== undefined) {
    throw new OnwardError('cli/usage', '--due is for all runs whose time has come, so it takes no run.', {
      place: '--due',
      next: [`onward resume ${wanted}`, 'onward resume --due'],
    });
  }
  return withJournal(io, flags.journal, async (journal) => {
    const deps = createDeps({ env: io.env, journal });
    if (flags.due === true) return resumeDue(io, deps, flags);
    const { kind, id } = await findWork(journal, wanted, io.cwd);
    if (kind === 'session') {
      const { resumeSession } = await import('./chat.ts');
      return resumeSession(io, journal, id, flags);
    }
    return resumeOne(io, deps, await loadRun(journal, id), flags);
  });
}

async function resumeOne(io: Io, deps: SupervisorDeps, run: RunState, flags: ResumeFlags): Promise<number> {
  const until = run.phase.kind === 'paused' ? run.phase.until : undefined;
  if (until !== undefined && until > deps.clock.now() && flags.now !== true) {
    io.err(`onward: its time has not come: not before ${new Date(until).toISOString()}`);
    io.err(`  then:  ${io.hint(`resume ${run.id}`)}`);
    io.err(`  now:   ${io.hint(`resume ${run.id} --now`)}`);
    return exitCodes.parked.code;
  }
  const isOurs = run.accepted.host === deps.host.holder.host;
  if (run.phase.kind !== 'ended' && isOurs) await checkUnchanged(io, deps, run, flags.now === true);
  const supervision = await resumeRun(deps, run.id, 'a person', { now: flags.now === true });
  const options = watchOptions(flags);
  const title = deps.adapters.find((adapter) => adapter.name === run.accepted.agent)?.title ?? run.accepted.agent;
  if (options.verbosity !== 'quiet') {
    io.err(firstLine(io, title, run));
    const isWaiting = run.phase.kind === 'waiting' && run.phase.at > deps.clock.now();
    if (isWaiting && flags.now !== true)
      io.err(`  without the wait: Ctrl-C, then ${io.hint(`resume ${run.id} --now`)}`);
  }
  return watchRun(io, supervision, options);
}

/** What a run depends on must still be what it was; a difference asks a person, who says `--now`. */
async function checkUnchanged(io: Io, deps: SupervisorDeps, run: RunState, accept: boolean): Promise<void> {
  const { accepted } = run;
  const place = runStream(run.id);
  if (lacksCredential(accepted)) {
    throw new OnwardError(
      'run/credential-missing',
      'The command of this run had a credential among its arguments, which is not on record.',
      { place, next: ['Give credentials in the environment, and start a new run.', `onward cancel ${run.id}`] },
    );
  }
  if (!existsSync(accepted.cwd)) {
    throw new OnwardError('run/cannot-start', `The directory of this run is gone: ${accepted.cwd}`, {
      place,
      next: ['Bring it back, or give the run up:', `onward cancel ${run.id}`],
    });
  }
  const found = await deps.host.inspect(accepted.program, accepted.cwd);
  if (!found.ok) throw new OnwardError('run/cannot-start', found.sentence, { place, next: found.next });
  if (found.version !== accepted.version)
    io.err(`onward: the agent was ${accepted.version} and is ${found.version} now`);
  const adapter = deps.adapters.find((candidate) => candidate.name === accepted.agent);
  const identity = await adapter?.identify(placeOf(deps, accepted.cwd));
  const change = identity === undefined ? undefined : changeOf(run, identity);
  if (accept || change === undefined) return;
  throw new OnwardError('run/changed', change, {
    place,
    next: ['Set the environment as it was, or go on as things are:', `onward resume ${run.id} --now`],
  });
}

/** What would be sent elsewhere, or paid by somebody else, than when the run was accepted. */
function changeOf(run: RunState, identity: AgentIdentity): string | undefined {
  const { identity: before } = run.accepted;
  if (identity.baseUrl !== before.baseUrl)
    return `Requests would go to ${identity.baseUrl} now; the run was accepted for ${before.baseUrl}.`;
  if (identity.account === before.account) return undefined;
  // Another login is what a person was asked for then.
  const end = run.attempts.at(-1)?.end;
  const kind = end?.kind === 'failed' ? end.classification.class : undefined;
  if (kind === 'auth' || kind === 'billing' || kind === 'quota') return undefined;
  return `Another account would be used now (${identity.billing}) than when the run was accepted (${before.billing}).`;
}

/** One run that cannot go on must not keep the others waiting; a person's Ctrl-C ends them all. Gives the highest status. */
async function resumeDue(io: Io, deps: SupervisorDeps, flags: ResumeFlags): Promise<number> {
  let worst = 0;
  let count = 0;
  for await (const listed of listRuns(deps.journal)) {
    if (!listed.ok || !isDue(listed.run, deps)) continue;
    count += 1;
    const status = await resumeOne(io, deps, listed.run, flags).catch((error: unknown) => {
      // Another waker was faster: that run is taken care of.
      if (isOnwardError(error, 'run/held')) return exitCodes.parked.code;
      return reportError(io, error, flags.json === true);
    });
    worst = Math.max(worst, status);
    if (status === exitCodes.interrupted.code || status === exitCodes.terminated.code) break;
  }
  if (count === 0 && flags.quiet !== true) io.err('onward: no run is due');
  return worst;
}

function isDue({ phase, accepted }: RunState, { host, clock }: SupervisorDeps): boolean {
  if (phase.kind !== 'paused' || phase.until === undefined) return false;
  return phase.until <= clock.now() && accepted.host === host.holder.host;
}
