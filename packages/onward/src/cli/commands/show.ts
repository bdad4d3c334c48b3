import type { Json } from '../../kernel/json.ts';
import { createDeps } from '../../library/index.ts';
import { readBody, type RunState } from '../../supervisor/index.ts';
import { becauseOf, counted, dateOf, stateOf, summarise, table } from '../describe-run.ts';
import { showDuration } from '../duration.ts';
import { loadRun } from '../find-run.ts';
import { findWork } from '../find-work.ts';
import type { Io } from '../io.ts';
import { liveLease } from '../live-lease.ts';
import { withJournal } from '../open-journal.ts';
import { showSession } from '../sessions/session-pages.ts';

/** `onward show`: where a run stands, its attempts, and the answer when there is one. */
export async function show(
  io: Io,
  wanted: string | undefined,
  flags: { readonly journal?: string; readonly json?: boolean },
): Promise<number> {
  return withJournal(io, flags.journal, async (journal) => {
    const { host, clock } = createDeps({ env: io.env, journal });
    const work = await findWork(journal, wanted, io.cwd);
    if (work.kind === 'session') return showSession(io, journal, work.id, flags.json === true);
    const run = await loadRun(journal, work.id);
    const live = (await liveLease(journal, host, run.id, clock.now())) !== undefined;
    const end = run.attempts.at(-1)?.end;
    const answer = end?.kind === 'committed' ? await readBody(journal, end.text) : undefined;
    if (flags.json === true) {
      const state = {
        ...summarise(run, live),
        prompt: await readBody(journal, run.accepted.prompt),
        answer: answer ?? null,
        policy: run.accepted.policy,
        attempts: run.attempts.map(attemptJson),
      };
      io.json(state);
      return 0;
    }
    showText(io, run, live, await readBody(journal, run.accepted.prompt));
    if (answer !== undefined) io.out(`\n${answer}`);
    return 0;
  });
}

function showText(io: Io, run: RunState, live: boolean, prompt: string): void {
  const { accepted, phase } = run;
  const because = becauseOf(phase, live);
  const rows: readonly (readonly string[])[] = [
    ['run', `${run.id}${accepted.name === undefined ? '' : ` (${accepted.name})`}`],
    ['state', `${stateOf(phase, live)}${live ? ', a live process keeps it going' : ''}`],
    ...(because === '' ? [] : [['because', because]]),
    ['agent', `${accepted.agent} ${accepted.version}, permissions: ${accepted.command.permissions}`],
    ['in', accepted.cwd],
    ['accepted', dateOf(run.acceptedAt)],
    ['prompt', prompt.length > 200 ? `${prompt.slice(0, 200)}... (${prompt.length} characters)` : prompt],
  ];
  for (const line of table(rows)) io.out(line);
  for (const attempt of run.attempts) {
    const took = attempt.endedAt === undefined ? '' : `, ${showDuration(attempt.endedAt - attempt.startedAt)}`;
    const { end } = attempt;
    const what =
      end === undefined
        ? 'not ended'
        : end.kind === 'committed'
          ? 'finished with evidence'
          : `${end.classification.class}: ${end.failure.message}`;
    io.out(`attempt ${attempt.n} (${attempt.mode})${took}: ${what}; ${counted(attempt.calls.length, 'tool call')}`);
  }
}

function attemptJson(attempt: RunState['attempts'][number]): Json {
  const { n, mode, startedAt, endedAt, sessionId, calls, innerRetries, usage, progressed, end, copy } = attempt;
  const value = {
    n,
    mode,
    startedAt,
    endedAt: endedAt ?? null,
    sessionId: sessionId ?? null,
    copy: copy ?? null,
    innerRetries,
    progressed,
    usage: usage ?? null,
    calls,
    end: end ?? null,
  };
  return value as unknown as Json;
}
