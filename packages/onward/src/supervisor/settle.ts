import { classify } from '../kernel/classify.ts';
import { type Continuable, decide, type Decision } from '../kernel/decide.ts';
import type { NewEvent } from '../kernel/envelope.ts';
import { assertNever } from '../kernel/error.ts';
import type { Classification, Failure, FailureClass } from '../kernel/failure.ts';
import type { AgentAdapter, Ending } from './adapter.ts';
import type { AttemptResult } from './attempt-result.ts';
import { placeOf, type SupervisorDeps } from './deps.ts';
import { type PauseReason, runEvent } from './run-events.ts';
import type { AttemptState, RunState } from './run-state.ts';
import type { RunWriter } from './run-writer.ts';
import { isSilent, situationOf } from './situation.ts';

/** Most lost calls that one event names: the last ones, of which a continuation quotes a few. */
const maxLost = 1_000;

/** What one append records about the end of an attempt: the facts, the decision, and where that leaves the run. */
export interface Settled {
  readonly events: readonly NewEvent[];
  /** When the run is to be looked at next, ms since the epoch; null when it rests or is over. */
  readonly due: number | null;
  /** A message of the inbox was dealt with. */
  readonly inboxRead: boolean;
}

/** Turns the end of an attempt into the events of one append. Success is committed; a failure is classified and decided. */
export async function settleAttempt(
  deps: SupervisorDeps,
  writer: RunWriter,
  adapter: AgentAdapter,
  result: AttemptResult,
): Promise<Settled> {
  const run = writer.state();
  const attempt = run.attempts.at(-1) as AttemptState;
  const ending = withEarlierDenials(run, attempt, result.ending);
  const answer = acceptedAnswer(run, ending);
  if (answer !== undefined) return commit(writer, attempt, result, answer);
  if (ending.ok) return commit(writer, attempt, result, ending.text);
  return fail(deps, { adapter, run, attempt, result: { ...result, ending }, failure: ending.failure });
}

/**
 * A conversation in which calls were denied goes on knowing that, and says "done" without asking again: what was denied in
 * an attempt that failed for another reason still counts at its end. A fresh conversation asks anew, and a person who
 * resumes may have allowed it.
 */
function withEarlierDenials(run: RunState, attempt: AttemptState, ending: Ending): Ending {
  if (!ending.ok) return ending;
  const begun = run.attempts.findLast((other) => other.mode !== 'continue')?.n ?? 1;
  const denied = run.attempts
    .filter((other) => other.n >= begun && other.n > run.earlier && other.n < attempt.n)
    .flatMap((other) => (other.end?.kind === 'failed' ? (other.end.denied ?? []) : []));
  if (denied.length === 0) return ending;
  const tools = [...new Set(denied.map((call) => call.tool))].join(', ');
  const message = `An earlier attempt in this conversation was not allowed to use ${tools}.`;
  return { ok: false, failure: { message, denied }, text: ending.text };
}

/** The answer after denied calls, where the user said that these do not matter. */
function acceptedAnswer(run: RunState, ending: Ending): string | undefined {
  if (ending.ok || ending.text === undefined || ending.failure.denied === undefined) return undefined;
  return run.accepted.policy.policy.onDenied === 'ignore' ? ending.text : undefined;
}

async function commit(writer: RunWriter, attempt: AttemptState, result: AttemptResult, text: string): Promise<Settled> {
  const session = result.sessionId === undefined ? {} : { sessionId: result.sessionId };
  const swept = result.swept.gone ? result.swept.killed : 0;
  const committed = runEvent('attempt.committed', {
    n: attempt.n,
    ...session,
    text: await writer.body(text.toWellFormed()),
    swept,
  });
  const ended = runEvent('run.ended', { outcome: 'done', because: 'the agent finished with evidence' });
  return { events: [committed, ended], due: null, inboxRead: false };
}

interface Failing {
  readonly adapter: AgentAdapter;
  readonly run: RunState;
  readonly attempt: AttemptState;
  readonly result: AttemptResult;
  readonly failure: Failure;
}

async function fail(deps: SupervisorDeps, failing: Failing): Promise<Settled> {
  const { adapter, run, attempt, result, failure } = failing;
  const classification = classify(failure);
  const continuable = continuableAfter(run, attempt, result, classification);
  const fingerprint = await deps.host.fingerprint(run.accepted.cwd).catch(() => undefined);
  const { account, credential } = await adapter.identify(placeOf(deps, run.accepted.cwd));
  const cause =
    result.stopped?.kind === 'cancelled' || result.stopped?.kind === 'interrupted' ? result.stopped : undefined;
  const now = deps.clock.now();
  const decision = decide(
    situationOf(run, attempt, {
      failure,
      classification,
      continuable,
      ...(fingerprint === undefined ? {} : { fingerprint }),
      credentialChanged: (credential ?? account) !== attempt.credential,
      ...(cause === undefined ? {} : { cancelled: cause.because }),
      now,
      sample: deps.random.next(),
    }),
  );
  const nextAt = nextAttemptAt(decision);
  const failed = runEvent('attempt.failed', {
    n: attempt.n,
    failure,
    classification,
    lost: lostOf(adapter, attempt, result, classification).slice(-maxLost),
    ...(result.ending.ok || result.ending.denied === undefined ? {} : { denied: result.ending.denied }),
    ...(fingerprint === undefined ? {} : { fingerprint }),
    ...(result.sessionId === undefined ? {} : { sessionId: result.sessionId }),
    continuable,
    silent: isSilent(attempt),
    swept: result.swept.gone ? result.swept.killed : 0,
    willRetry: nextAt !== null,
    nextAt,
  });
  const help = failure.denied === undefined ? undefined : adapter.wouldAllow?.(failure.denied);
  const rest = restAfter(decision, { kind: classification.class, failure, help }, cause?.kind);
  const read = cause?.kind === 'cancelled' ? [runEvent('inbox.read', { position: cause.inbox })] : [];
  return {
    events: [
      failed,
      runEvent('recovery.decided', { n: attempt.n, decision }),
      ...read,
      ...(rest === undefined ? [] : [rest]),
    ],
    due: nextAt,
    inboxRead: cause?.kind === 'cancelled',
  };
}

/** When a decision opens another attempt by itself; null when it does not. */
function nextAttemptAt(decision: Decision): number | null {
  switch (decision.action) {
    case 'continue':
    case 'restart':
    case 'rebuild':
    case 'hold':
      return decision.at;
    case 'repair':
    case 'park':
    case 'ask':
    case 'stop':
    case 'cancelled':
    case 'budget':
      return null;
    default:
      return assertNever(decision, 'nextAttemptAt');
  }
}

interface Rested {
  readonly kind: FailureClass;
  readonly failure: Failure;
  /** What a person can do about it, where the adapter knows. */
  readonly help: string | undefined;
}

/** The event that ends or rests the run in the same append; `undefined` when another attempt follows. */
function restAfter(
  decision: Decision,
  { kind, failure, help }: Rested,
  cause: 'cancelled' | 'interrupted' | undefined,
): NewEvent | undefined {
  const pause = (reason: PauseReason, until?: number): NewEvent =>
    runEvent('run.paused', {
      reason,
      because: [sentence(failure.message, decision.because), help].filter((part) => part !== undefined).join(' '),
      ...(until === undefined ? {} : { until }),
    });
  switch (decision.action) {
    case 'continue':
    case 'restart':
    case 'rebuild':
    case 'hold':
      return undefined;
    case 'park':
      return pause('parked', decision.until);
    case 'ask':
      return pause(kind === 'conflict' ? 'held' : 'needs-human');
    case 'budget':
      return pause('limit');
    case 'cancelled':
      if (cause === 'interrupted') return runEvent('run.paused', { reason: 'interrupted', because: decision.because });
      return runEvent('run.ended', { outcome: 'cancelled', because: decision.because });
    case 'repair':
    case 'stop':
      if (kind === 'transient' || kind === 'throttled' || kind === 'quota') return pause('provider', failure.resetsAt);
      return runEvent('run.ended', { outcome: 'failed', because: sentence(failure.message, decision.because) });
    default:
      return assertNever(decision, 'restAfter');
  }
}

function sentence(what: string, why: string): string {
  return `${what.replace(/[.\s]+$/, '')}: ${why}.`;
}

/** What may be continued after this attempt, from what is known now. */
export function continuableAfter(
  run: RunState,
  attempt: AttemptState,
  result: AttemptResult,
  { class: kind }: Classification,
): Continuable {
  const accepted = run.attempts.some((other) => !isSilent(other));
  const untouched = attempt.mode === 'rebuild' ? 'lost' : 'nothing-accepted';
  // A session file means that the prompt was taken, even if the agent cannot read its own file any more.
  if (kind === 'context-lost') return accepted || result.session !== '' ? 'lost' : 'nothing-accepted';
  if (attempt.mode === 'continue') return 'same';
  if (!result.begun) return untouched;
  if (result.sessionId !== undefined) return 'same';
  // No conversation is known. A provider that refused the first request has not worked on it; else nobody can say.
  const refused = kind === 'quota' || kind === 'billing' || kind === 'auth' || kind === 'throttled' || kind === 'input';
  return refused && isSilent(attempt) ? untouched : 'unknown';
}

/** Finished calls of the attempt that its conversation lost: by the agent's own file where that tells, else after a kill all. */
function lostOf(
  adapter: AgentAdapter,
  attempt: AttemptState,
  result: AttemptResult,
  { class: kind }: Classification,
): readonly string[] {
  const finished = attempt.calls.filter((call) => call.state === 'finished').map((call) => call.callId);
  if (adapter.keeps !== undefined) {
    if (result.session === '') return finished;
    const isKept = (callId: string): boolean => adapter.keeps?.(result.session, callId) === true;
    // A conversation loses its end only: of a file that was read in part, what came before a kept call was kept as well.
    const from = result.sessionCut === true ? Math.max(0, finished.findIndex(isKept)) : 0;
    return finished.slice(from).filter((callId) => !isKept(callId));
  }
  const killed = kind === 'crash' || result.stopped !== undefined;
  return killed ? finished : [];
}
