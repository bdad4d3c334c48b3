import { OnwardError } from '../kernel/error.ts';
import type { Holder, Journal, Lease } from '../kernel/journal.ts';
import type { Clock } from '../kernel/ports.ts';
import { closeOpen, closeStep, leftOver } from './close-turn.ts';
import type { SessionState } from './session-state.ts';
import { sessionEvent, sessionStream } from './session-events.ts';
import { readStored, type SessionLog, type Stored } from './session-log.ts';

/** Time a lease lasts without being renewed, and how often it is; ms. */
export const leaseMs = 15_000;
export const renewMs = 5_000;

/** Whether a session is expected to be there. */
export type Expect = 'new' | 'existing';

/**
 * Claims a session and reads it. Throws `session/exists`, `session/unknown` (place: its id), `session/held` for one that a live
 * process has open, and what the journal throws.
 */
export async function claimSession(
  journal: Journal,
  id: string,
  who: { readonly holder: Holder; readonly isDead: (holder: Holder) => boolean; readonly expect: Expect },
): Promise<{ readonly lease: Lease; readonly stored: Stored }> {
  const stream = sessionStream(id);
  if (who.expect === 'existing' && (await journal.read(stream)).length === 0) throw unknownSession(id);
  const claimed = await journal.claim(stream, who.holder, leaseMs, who.isDead);
  if (!claimed.ok)
    throw new OnwardError('session/held', `Session ${id} is open in process ${claimed.held.holder.pid}.`, {
      place: id,
      next: ['Close it there, or wait until that process has ended.'],
    });
  try {
    const stored = await readStored(journal, stream);
    if (who.expect === 'new' && stored.position > 0)
      throw new OnwardError('session/exists', `There is a session ${id} already.`, {
        place: id,
        next: [`Open it with openAgent('${id}'), or choose another id.`],
      });
    return { lease: claimed.lease, stored };
  } catch (error) {
    await journal.release(claimed.lease);
    throw error;
  }
}

function unknownSession(id: string): OnwardError {
  return new OnwardError('session/unknown', `There is no session ${id} in this journal.`, {
    place: id,
    next: ['Look at the list of sessions, or create it.'],
  });
}

/** Renews a lease until the signal aborts. Ends early, telling `lost`, when another has claimed the session. */
export async function keepLease(
  journal: Journal,
  lease: Lease,
  keeping: { readonly clock: Clock; readonly signal: AbortSignal; readonly lost: () => void },
): Promise<void> {
  for (;;) {
    // oxlint-disable-next-line no-await-in-loop -- a rhythm
    await keeping.clock.sleep(renewMs, keeping.signal);
    if (keeping.signal.aborted) return;
    // A medium that fails now fails the next append too, which says so; the next round tries again.
    // oxlint-disable-next-line no-await-in-loop
    const held = await journal.renew(lease, leaseMs).catch(() => true);
    if (!held) return keeping.lost();
  }
}

/** What opening found unfinished. */
export type Found =
  | { readonly kind: 'nothing' }
  /** A question stands between the turn and going on. */
  | { readonly kind: 'suspended' }
  /** A turn was cut by a crash. `offerable`: nothing of it is unknown, so its request may be made again if somebody owns that. */
  | {
      readonly kind: 'interrupted';
      readonly turn: number;
      readonly chain: number;
      readonly model: string;
      readonly offerable: boolean;
    };

/**
 * Makes a log that a crash cut short loadable by adding to it: results for open calls, the close of the step. The turn stays
 * open only while it is suspended, or (`keepOpen`) until an owner has decided about it.
 */
export function repair(log: SessionLog, keepOpen: boolean): Found {
  const { open } = log.state();
  if (open === undefined) return { kind: 'nothing' };
  if (isSuspended(log.state())) {
    settleStarted(log);
    return { kind: 'suspended' };
  }
  const { turn, chain } = open;
  const model = open.step?.model ?? log.state().header?.model ?? '';
  const failure = { message: 'The process died during this request.', process: 'host-crashed' as const };
  const answered = open.step?.answered === true;
  if (!keepOpen) {
    closeOpen(log, answered ? {} : { failure }, { reason: 'interrupted' });
    return { kind: 'interrupted', turn, chain, model, offerable: false };
  }
  const unknown = closeStep(log, answered ? {} : { failure });
  return { kind: 'interrupted', turn, chain, model, offerable: !unknown };
}

/** A call waits for a question, and the crash cut nothing but that wait. */
function isSuspended(state: SessionState): boolean {
  const calls = [...(state.open?.step?.calls.values() ?? [])];
  return calls.some(({ question, outcome }) => question !== undefined && outcome === undefined);
}

/** Calls that ran beside the one that waits are as unknown as after any crash. */
function settleStarted(log: SessionLog): void {
  const { open } = log.state();
  if (open?.step === undefined) return;
  for (const [id, { started, question, outcome }] of open.step.calls) {
    if (outcome !== undefined || !started || question !== undefined) continue;
    const at = { turn: open.turn, step: open.step.step };
    log.add(sessionEvent('call.finished', { ...at, id, outcome: leftOver(true) }));
  }
}
