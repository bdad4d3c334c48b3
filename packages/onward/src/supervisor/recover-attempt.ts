import type { AgentAdapter } from './adapter.ts';
import { type AttemptResult, concludeAttempt } from './attempt-result.ts';
import { createConversationLocks } from './conversation-locks.ts';
import type { SupervisorDeps } from './deps.ts';
import { createEventQueue } from './event-queue.ts';
import { readOutput } from './read-output.ts';
import { recorderFor } from './record.ts';
import type { AttemptState } from './run-state.ts';
import type { RunWriter } from './run-writer.ts';
import { createStopper } from './stopper.ts';

/** Recovery has nothing to say while another live process has the conversation. */
export type Recovered =
  | { readonly kind: 'result'; readonly result: AttemptResult }
  | { readonly kind: 'held'; readonly pid: number | undefined };

/**
 * Finds out what became of an attempt whose host process died: takes the conversation's lock, ends what still lives, reads
 * the rest of the output, and only then asks what the ending was. A success that was printed is a success.
 */
export async function recoverAttempt(
  deps: SupervisorDeps,
  writer: RunWriter,
  adapter: AgentAdapter,
  attempt: AttemptState,
): Promise<Recovered> {
  const locks = createConversationLocks(deps.host, adapter.name);
  const stopper = createStopper();
  try {
    if (attempt.sessionId !== undefined) await locks.take(attempt.sessionId, stopper);
    const held = stopper.cause();
    if (held?.kind === 'held') return { kind: 'held', pid: held.pid };
    if (held?.kind === 'broken') throw held.error;
    return { kind: 'result', result: await readLeft(deps, writer, adapter, attempt) };
  } finally {
    locks.release();
  }
}

async function readLeft(
  deps: SupervisorDeps,
  writer: RunWriter,
  adapter: AgentAdapter,
  attempt: AttemptState,
): Promise<AttemptResult> {
  const { cwd, policy } = writer.state().accepted;
  const left = await deps.host.leftBy(attempt.marker, attempt.spawned, policy.policy.timeouts.goneMs);
  let broken: { readonly error: unknown } | undefined;
  const queue = createEventQueue(writer, (error) => {
    broken ??= { error };
  });
  const reader = adapter.reader();
  const sink = {
    reader,
    recorder: recorderFor(deps.hash, writer, attempt),
    queue,
    from: attempt.offset,
    saw: () => undefined,
    refusal: () => undefined,
  };
  await readOutput(left.lines, sink);
  if (broken !== undefined) throw broken.error;
  return concludeAttempt(deps, { adapter, attempt, cwd }, reader, {
    swept: left.swept,
    stderr: left.stderr,
    failure: { process: 'host-crashed', message: 'The onward process that ran this attempt died.' },
    // A spool that somebody removed proves nothing: the journal knows that the process was there.
    begun: left.begun || attempt.spawned !== undefined,
  });
}
