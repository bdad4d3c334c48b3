import type { NewEvent } from '../kernel/envelope.ts';
import { OnwardError } from '../kernel/error.ts';
import type { Classification } from '../kernel/failure.ts';
import type { AgentAdapter } from './adapter.ts';
import { continuationPrompt, newDelimiter, rebuildPrompt } from './continuation.ts';
import { placeOf, type SupervisorDeps } from './deps.ts';
import { type AttemptMode, runEvent } from './run-events.ts';
import type { AttemptState, CallState, RunState } from './run-state.ts';
import type { RunWriter } from './run-writer.ts';
import { isSilent } from './situation.ts';

/** What an attempt is told, and the events that announce it. */
export interface PlannedAttempt {
  readonly prompt: string;
  readonly events: readonly NewEvent[];
}

/** Prepares attempt `n + 1`: its conversation, its prompt, a copy of the session file before that is continued. */
export async function planAttempt(
  deps: SupervisorDeps,
  writer: RunWriter,
  adapter: AgentAdapter,
  mode: AttemptMode,
): Promise<PlannedAttempt> {
  const run = writer.state();
  const n = run.attempts.length + 1;
  const place = placeOf(deps, run.accepted.cwd);
  const marker = `${run.id}.${n}`;
  const sessionId = sessionFor(deps, run, adapter, mode);
  const file = mode === 'continue' && sessionId !== undefined ? await adapter.sessionFile(place, sessionId) : undefined;
  const copy = file === undefined ? undefined : await copyBefore(deps, file, marker);
  const prompt = await promptFor(deps, writer, mode);
  const { account, credential } = await adapter.identify(place);
  const started = runEvent('attempt.started', {
    n,
    mode,
    ...(sessionId === undefined ? {} : { sessionId }),
    marker,
    prompt: await writer.body(prompt),
    credential: credential ?? account,
    ...(copy === undefined ? {} : { copy }),
  });
  const superseded =
    run.attempts.at(-1)?.end?.kind === 'failed' ? [runEvent('attempt.superseded', { n: n - 1, by: n })] : [];
  return { prompt, events: [...superseded, started] };
}

/** Without a copy a conversation is not continued: what the agent does to its file could not be undone. */
async function copyBefore(deps: SupervisorDeps, file: string, marker: string): Promise<string> {
  try {
    return await deps.host.copySession(file, marker);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new OnwardError('run/no-copy', `The conversation could not be copied before it is continued: ${why}`, {
      place: file,
      next: ['Make room for the copy, or see to the permissions, then resume the run.'],
      cause,
    });
  }
}

/** The conversation an attempt uses: the one there is, a new one under an id of ours, or one that the agent will name. */
function sessionFor(deps: SupervisorDeps, run: RunState, adapter: AgentAdapter, mode: AttemptMode): string | undefined {
  const known = run.attempts.findLast((attempt) => attempt.sessionId !== undefined)?.sessionId;
  if (mode === 'continue') return known;
  if (!adapter.preassignsId) return undefined;
  // Typed "not found": the id was never used, so it is still ours. After anything else it may be taken.
  const last = run.attempts.at(-1);
  const unused = mode === 'restart' && last?.end?.kind === 'failed' && last.end.classification.class === 'context-lost';
  return unused && known !== undefined ? known : deps.ids.uuid();
}

async function promptFor(deps: SupervisorDeps, writer: RunWriter, mode: AttemptMode): Promise<string> {
  const run = writer.state();
  const original = await writer.read(run.accepted.prompt);
  if (mode === 'first' || mode === 'restart') return original;
  const recent = mode === 'rebuild' ? run.attempts : untold(run.attempts);
  const calls = recent.flatMap((attempt) => attempt.calls);
  const input = {
    ...(run.accepted.continuation === undefined ? {} : { text: run.accepted.continuation }),
    classification: lastClassification(run),
    finished: calls.filter((call) => isFinished(call, mode)),
    unknown: calls.filter((call) => call.state === 'started'),
    delimiter: newDelimiter(deps.ids),
  };
  if (mode === 'continue') return continuationPrompt(input);
  const texts = await Promise.all(
    recent.flatMap((attempt) => attempt.messages.map((message) => writer.read(message.body))),
  );
  return rebuildPrompt({ ...input, original, texts });
}

function isFinished(call: CallState, mode: AttemptMode): boolean {
  return call.state === 'finished' && (mode === 'rebuild' || call.lost);
}

/** Attempts whose calls the agent may not have been told of: back to the last one that did anything, that one included. */
function untold(attempts: readonly AttemptState[]): readonly AttemptState[] {
  const from = attempts.findLastIndex((attempt) => !isSilent(attempt));
  return from < 0 ? [] : attempts.slice(from);
}

function lastClassification(run: RunState): Classification {
  const end = run.attempts.findLast((attempt) => attempt.end?.kind === 'failed')?.end;
  if (end?.kind === 'failed') return end.classification;
  return { class: 'incomplete', rule: 'supervisor/1:resumed', evidence: 'resumed by a person' };
}
