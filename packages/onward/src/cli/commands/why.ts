import { createDeps } from '../../library/index.ts';
import { type AttemptState, quote, type RunState, type SupervisorDeps } from '../../supervisor/index.ts';
import { costOf, showCost } from '../cost.ts';
import { becauseOf, counted, stateOf } from '../describe-run.ts';
import { showDuration } from '../duration.ts';
import { loadRun } from '../find-run.ts';
import { findWork } from '../find-work.ts';
import type { Io } from '../io.ts';
import { liveLease } from '../live-lease.ts';
import { withJournal } from '../open-journal.ts';
import { timeOf } from '../progress-lines.ts';
import { whySession } from '../sessions/session-pages.ts';

/** `onward why`: one page on what happened and why it was decided so. */
export async function why(
  io: Io,
  wanted: string | undefined,
  flags: { readonly journal?: string; readonly json?: boolean },
): Promise<number> {
  return withJournal(io, flags.journal, async (journal) => {
    const deps = createDeps({ env: io.env, journal });
    const work = await findWork(journal, wanted, io.cwd);
    if (work.kind === 'session') return whySession(io, journal, work.id, flags.json === true);
    const run = await loadRun(journal, work.id);
    const live = (await liveLease(journal, deps.host, run.id, deps.clock.now())) !== undefined;
    const page = pageOf(deps, run, live);
    if (flags.json === true) io.json(page);
    else showPage(io, page);
    return 0;
  });
}

interface Page {
  readonly run: string;
  readonly state: string;
  readonly because: string;
  readonly attempts: readonly AttemptPage[];
  readonly waitedMs: number;
  readonly cost: ReturnType<typeof costOf>;
  /** Requests that the agent repeated by itself, besides one chain of requests for each attempt. */
  readonly innerRetries: number;
  /** Calls whose repeat was refused, or that a continuation said not to run again. */
  readonly notRepeated: readonly string[];
  /** Calls that began and whose end nobody saw. */
  readonly unknown: readonly string[];
  readonly copies: readonly string[];
  readonly byHand: string | null;
}

interface AttemptPage {
  readonly n: number;
  readonly mode: string;
  readonly startedAt: number;
  readonly tookMs: number | null;
  readonly calls: number;
  readonly innerRetries: number;
  readonly outcome: string;
  readonly class: string | null;
  readonly rule: string | null;
  readonly evidence: string | null;
  readonly message: string | null;
  readonly requestId: string | null;
  readonly retryAfterMs: number | null;
  readonly decision: string | null;
  readonly because: string | null;
  /** Time until the next attempt began. */
  readonly waitedMs: number | null;
}

function pageOf(deps: SupervisorDeps, run: RunState, live: boolean): Page {
  const attempts = run.attempts.map((attempt) => attemptPage(run, attempt));
  const calls = run.attempts.flatMap((attempt) => attempt.calls);
  const sessionId = run.attempts.findLast((attempt) => attempt.sessionId !== undefined)?.sessionId;
  const adapter = deps.adapters.find((candidate) => candidate.name === run.accepted.agent);
  const byHand =
    sessionId === undefined || adapter === undefined
      ? null
      : `cd ${quote(run.accepted.cwd)} && ${adapter.byHand(quote(run.accepted.program), sessionId)}`;
  return {
    run: run.id,
    state: stateOf(run.phase, live),
    because: becauseOf(run.phase, live),
    attempts,
    waitedMs: attempts.reduce((total, attempt) => total + (attempt.waitedMs ?? 0), 0),
    cost: costOf(run),
    innerRetries: run.attempts.reduce((total, attempt) => total + attempt.innerRetries, 0),
    notRepeated: calls
      .filter((call) => call.state === 'refused' || call.lost)
      .map((call) => `attempt ${call.n}: ${call.tool} ${JSON.stringify(call.input).slice(0, 200)}`),
    unknown: calls
      .filter((call) => call.state === 'started')
      .map((call) => `attempt ${call.n}: ${call.tool} ${JSON.stringify(call.input).slice(0, 200)}`),
    copies: run.attempts.flatMap((attempt) => (attempt.copy === undefined ? [] : [attempt.copy])),
    byHand,
  };
}

function attemptPage(run: RunState, attempt: AttemptState): AttemptPage {
  const failed = attempt.end?.kind === 'failed' ? attempt.end : undefined;
  const next = run.attempts[attempt.n];
  return {
    n: attempt.n,
    mode: attempt.mode,
    startedAt: attempt.startedAt,
    tookMs: attempt.endedAt === undefined ? null : attempt.endedAt - attempt.startedAt,
    calls: attempt.calls.length,
    innerRetries: attempt.innerRetries,
    outcome:
      attempt.end === undefined ? 'not ended' : attempt.end.kind === 'committed' ? 'finished with evidence' : 'failed',
    class: failed?.classification.class ?? null,
    rule: failed?.classification.rule ?? null,
    evidence: failed?.classification.evidence ?? null,
    message: failed?.failure.message ?? null,
    requestId: failed?.failure.requestId ?? null,
    retryAfterMs: failed?.failure.retryAfterMs ?? null,
    decision: failed?.decision?.action ?? null,
    because: failed?.decision?.because ?? null,
    waitedMs: next === undefined || attempt.endedAt === undefined ? null : next.startedAt - attempt.endedAt,
  };
}

function showPage(io: Io, page: Page): void {
  io.out(`run ${page.run}: ${page.state}${page.because === '' ? '' : `, ${page.because}`}`);
  for (const attempt of page.attempts) showAttempt(io, attempt);
  io.out(
    `waited ${showDuration(page.waitedMs)} in all; the agent repeated ${counted(page.innerRetries, 'request')} by itself`,
  );
  io.out(`cost: useful ${showCost(page.cost.useful)}; lost ${showCost(page.cost.lost)}`);
  section(io, 'finished and not to be repeated:', page.notRepeated);
  section(io, 'outcome unknown, to be inspected:', page.unknown);
  section(io, 'copies of the conversation before it was continued:', page.copies);
  if (page.byHand !== null) io.out(`by hand: ${page.byHand}`);
}

function showAttempt(io: Io, attempt: AttemptPage): void {
  const took = attempt.tookMs === null ? '' : ` for ${showDuration(attempt.tookMs)}`;
  io.out(
    `attempt ${attempt.n} (${attempt.mode}) at ${timeOf(attempt.startedAt)}${took}, ${counted(attempt.calls, 'tool call')}: ${attempt.outcome}`,
  );
  if (attempt.class === null) return;
  io.out(`  class     ${attempt.class}, by ${attempt.rule} on ${attempt.evidence}`);
  io.out(`  said      ${attempt.message}`);
  if (attempt.requestId !== null) io.out(`  request   ${attempt.requestId}`);
  if (attempt.retryAfterMs !== null) io.out(`  hint      not before ${showDuration(attempt.retryAfterMs)}`);
  io.out(`  decision  ${attempt.decision ?? 'none'}: ${attempt.because ?? ''}`);
  if (attempt.waitedMs !== null) io.out(`  waited    ${showDuration(attempt.waitedMs)}`);
}

function section(io: Io, title: string, lines: readonly string[]): void {
  if (lines.length === 0) return;
  io.out(title);
  for (const line of lines) io.out(`  ${line}`);
}
