import type { NewEvent } from '../kernel/envelope.ts';
import { assertNever, OnwardError } from '../kernel/error.ts';
import type { Append } from '../kernel/journal.ts';
import type { Clock } from '../kernel/ports.ts';
import { expireAppend } from '../kernel/question.ts';
import type { CallEnd } from './call-end.ts';
import { effectEvent } from './effect-events.ts';
import { type EffectLog, type EffectView } from './effect-log.ts';
import type { EffectState } from './effect-state.ts';
import { keepReceipt } from './receipt.ts';

/** Waits between the tries to store what came of a call, ms. */
const RETRY_MS = [100, 300, 1000, 3000] as const;

const MOST_MOVES = 100;

/** The n-th call of an effect and how it ended. */
export interface Ended {
  readonly n: number;
  readonly end: CallEnd;
}

/** `recorded`: it is on record; `passed`: the record had moved on without it; `stale`: another has taken over. */
export type Recorded = 'recorded' | 'passed' | 'stale';

/**
 * Records how a call ended. A store that fails is tried again for a few seconds: the write, never the call (R100). Throws
 * `effects/end-not-stored` when it goes on failing.
 */
export async function recordEnd(log: EffectLog, clock: Clock, ended: Ended): Promise<Recorded> {
  for (let failures = 0; ; failures++) {
    try {
      return await tryToRecord(log, clock, ended);
    } catch (cause) {
      const wait = RETRY_MS[failures];
      if (wait === undefined)
        throw new OnwardError(
          'effects/end-not-stored',
          `The call of effect ${log.key} ended (${ended.end.kind}), and that could not be stored.`,
          {
            place: log.stream,
            next: ['Repair the journal, then run the effect again: it is not called blindly.'],
            cause,
          },
        );
      await clock.sleep(wait);
    }
  }
}

async function tryToRecord(log: EffectLog, clock: Clock, ended: Ended): Promise<Recorded> {
  for (let moves = 0; moves < MOST_MOVES; moves++) {
    const view = await log.read();
    const { effect } = view;
    if (effect === undefined) return 'passed';
    const recorded = await recordIn(log, clock, { view, effect }, ended);
    if (recorded !== 'moved') return recorded;
  }
  throw new OnwardError('effects/contended', `${log.stream} does not come to rest.`, { place: log.stream });
}

interface Seen {
  readonly view: EffectView;
  readonly effect: EffectState;
}

async function recordIn(log: EffectLog, clock: Clock, seen: Seen, ended: Ended): Promise<Recorded | 'moved'> {
  const { n, end } = ended;
  switch (end.kind) {
    case 'receipt':
      return recordReceipt(log, seen, n, end.value);
    case 'rejected': {
      if (!isOpenCall(seen.effect, n)) return 'passed';
      const event = effectEvent('effect.rejected', { key: log.key, n, failure: end.failure });
      return write(log, seen.view, [event], expirePending(seen.view, 'the service did not do it'));
    }
    case 'failed':
    case 'abandoned': {
      const isEnded = end.kind === 'failed';
      if (!isOpenCall(seen.effect, n) || (seen.effect.stage.kind === 'unsure' && !isEnded)) return 'passed';
      const event = effectEvent('effect.unknown', {
        key: log.key,
        n,
        because: isEnded ? 'failed' : 'aborted',
        ended: isEnded,
        at: clock.now(),
        ...(isEnded ? { failure: end.failure } : {}),
      });
      return write(log, seen.view, [event]);
    }
    default:
      return assertNever(end, 'recordEnd');
  }
}

/** A receipt under a valid fence is what happened, whatever else was thought; under a stale one it is evidence. */
async function recordReceipt(
  log: EffectLog,
  { view, effect }: Seen,
  n: number,
  value: unknown,
): Promise<Recorded | 'moved'> {
  const { stage } = effect;
  // The store may have failed after it had stored.
  if (stage.kind === 'accepted' && stage.by === 'call' && stage.n === n) return 'recorded';
  const receipt = await keepReceipt(log.journal, log.stream, value);
  const late = effectEvent('effect.receipt-late', { key: log.key, n, receipt });
  const isKnown = effect.late.some((one) => one.n === n);
  const isOver = stage.kind === 'accepted' || stage.kind === 'given-up';
  const accepted = effectEvent('effect.accepted', { key: log.key, n, receipt, by: 'call' });
  const events = isOver ? (isKnown ? [] : [late]) : [accepted];
  const written = await write(log, view, events, isOver ? [] : expirePending(view, 'its receipt came'));
  if (written !== 'stale') return written === 'recorded' && isOver ? 'passed' : written;
  if (isKnown) return 'stale';
  return (await log.append(view.position, [late], { fenced: false })) === 'ok' ? 'stale' : 'moved';
}

async function write(
  log: EffectLog,
  view: EffectView,
  events: readonly NewEvent[],
  more: readonly Append[] = [],
): Promise<Recorded | 'moved'> {
  const written = await log.append(view.position, events, { more });
  switch (written) {
    case 'ok':
      return 'recorded';
    case 'moved':
      return 'moved';
    case 'held':
    case 'stale':
      return 'stale';
    default:
      return assertNever(written, 'recordEnd');
  }
}

/** True while nothing is known of that call, so that its own word counts. */
function isOpenCall({ stage, calls }: EffectState, n: number): boolean {
  return calls === n && (stage.kind === 'calling' || (stage.kind === 'unsure' && stage.endedAt === undefined));
}

/** Gives a pending question up: what it asked is known now. */
export function expirePending({ question }: EffectView, because: string): readonly Append[] {
  if (question?.state !== 'open' && question?.state !== 'answered') return [];
  return [expireAppend(question.question.id, question.state === 'open' ? 1 : 2, because)];
}
