import type { Failure, ProcessFact } from '../kernel/failure.ts';
import { assertNever } from '../kernel/error.ts';
import type { AgentAdapter, AttemptReader, Ending } from './adapter.ts';
import type { Swept } from './attempt-host.ts';
import { placeOf, type SupervisorDeps } from './deps.ts';
import type { AttemptState } from './run-state.ts';
import type { StopCause } from './stopper.ts';

/** How an attempt ended: what the agent said, what became of its processes, what Onward did to it. */
export interface AttemptResult {
  readonly ending: Ending;
  /** The conversation as known now. */
  readonly sessionId?: string;
  /** The agent's own session file, as far back as it is read; empty when there is none. */
  readonly session: string;
  /** The file is longer than what was read of it: what is not in there may stand further up. */
  readonly sessionCut?: boolean;
  readonly swept: Swept;
  readonly stopped?: StopCause;
  /** Something was started, so that something may have been accepted. */
  readonly begun: boolean;
}

/** What is known of the end besides what the reader read. */
export interface ProcessFacts {
  readonly exit?: { readonly code: number | null; readonly signal: string | null };
  readonly swept: Swept;
  readonly stderr: string;
  readonly stopped?: StopCause;
  /** Found without a stop: the host crashed. */
  readonly failure?: Failure;
  readonly begun: boolean;
}

/** How much of a session file is read to see what it holds, and how much of it an adapter gets; bytes and characters. */
const sessionTailBytes = 8 * 1024 * 1024;
const endingChars = 262_144;

/** Asks the adapter what the ending was, with everything there is to know. */
export async function concludeAttempt(
  deps: SupervisorDeps,
  about: { readonly adapter: AgentAdapter; readonly attempt: AttemptState; readonly cwd: string },
  reader: AttemptReader,
  facts: ProcessFacts,
): Promise<AttemptResult> {
  const { attempt, adapter } = about;
  const sessionId = reader.target() ?? attempt.sessionId;
  // The conversation that was asked for comes first: an agent that could not find it names another one.
  const asked = attempt.asked ?? sessionId;
  const path = asked === undefined ? undefined : await adapter.sessionFile(placeOf(deps, about.cwd), asked);
  const session = path === undefined ? '' : await deps.host.tail(path, sessionTailBytes);
  const failure = facts.swept.gone ? (facts.failure ?? failureOf(facts.stopped)) : notGone(facts.swept.pids);
  const read = reader.ending({
    ...(facts.exit === undefined ? {} : { exit: facts.exit }),
    ...(failure === undefined ? {} : { failure }),
    stderr: facts.stderr,
    session: session.slice(-endingChars),
    mode: attempt.mode === 'continue' ? 'resume' : 'create',
    ...(attempt.asked === undefined ? {} : { sessionId: attempt.asked }),
  });
  return {
    ending: failure?.process === 'not-gone' ? { ok: false, failure } : read,
    session,
    sessionCut: isCut(session),
    swept: facts.swept,
    begun: facts.begun,
    ...(sessionId === undefined ? {} : { sessionId }),
    ...(facts.stopped === undefined ? {} : { stopped: facts.stopped }),
  };
}

/** A text of that many bytes is the end of a longer file. */
function isCut(session: string): boolean {
  const mayBe = session.length * 3 >= sessionTailBytes;
  return mayBe && new TextEncoder().encode(session).length >= sessionTailBytes;
}

/** What a stop by Onward means as a failure of the attempt; a stop after the result is none. */
export function failureOf(cause: StopCause | undefined): Failure | undefined {
  if (cause === undefined) return undefined;
  switch (cause.kind) {
    case 'watchdog':
      return { process: cause.fact, message: watchdogSentence(cause.fact, cause.afterMs) };
    case 'held':
      return {
        type: 'active_writer',
        message: `Another live process${cause.pid === undefined ? '' : ` (pid ${cause.pid})`} has this conversation.`,
      };
    case 'cancelled':
    case 'interrupted':
      return { type: 'interrupted', message: `Stopped: ${cause.because}.` };
    case 'after-result':
    case 'broken':
      return undefined;
    default:
      return assertNever(cause, 'failureOf');
  }
}

function notGone(pids: readonly number[]): Failure {
  return {
    process: 'not-gone',
    message: `Processes of the attempt could not be ended: pid ${pids.join(', ')}. End them, then resume.`,
  };
}

function watchdogSentence(fact: ProcessFact, ms: number): string {
  const time = ms >= 1_000 ? `${Math.round(ms / 1_000)} s` : `${ms} ms`;
  switch (fact) {
    case 'startup-timeout':
      return `The agent gave no sign of life for ${time} after its start.`;
    case 'idle-timeout':
      return `The agent was silent for ${time} while no tool was running.`;
    case 'tool-timeout':
      return `A tool call ran for more than ${time}.`;
    case 'wall-timeout':
      return `The time limit of ${time} is used up.`;
    case 'spawn-failed':
    case 'ended-without-result':
    case 'host-crashed':
    case 'not-gone':
      return `The attempt ended: ${fact}.`;
    default:
      return assertNever(fact, 'watchdogSentence');
  }
}
