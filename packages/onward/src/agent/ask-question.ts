import type { Append } from '../kernel/journal.ts';
import {
  type Answer,
  askAppend,
  expireAppend,
  foldQuestion,
  type Question,
  type QuestionState,
  questionStream,
} from '../kernel/question.ts';
import type { Signal } from '../kernel/signal.ts';
import type { AbortReason } from './close-turn.ts';
import type { Runtime, StepContext } from './runtime.ts';
import { sessionEvent } from './session-events.ts';

/** How a question ended for whoever waits for it. */
export type Asked =
  | { readonly kind: 'answered'; readonly question: Question; readonly answer: Answer }
  | { readonly kind: 'expired'; readonly because: string }
  | { readonly kind: 'aborted' };

/** Puts a question on record as what this call waits for. `open`: it is in the journal already. */
export async function openQuestion(
  rt: Runtime,
  at: StepContext,
  call: string,
  asked: { readonly question: Question; readonly open: boolean },
): Promise<void> {
  const { turn, step } = at;
  rt.log.add(sessionEvent('call.waiting', { turn, step, id: call, question: asked.question.id }));
  await rt.log.flush(asked.open ? [] : [askAppend(asked.question)]);
}

/** Thrown out of a wait that is left as it stands: the agent is disposed, and the question is for whoever opens it next. */
export class LeftWaiting extends Error {
  override readonly name = 'LeftWaiting';
}

/**
 * Waits for the answer, from whichever process it comes. A cancel expires the question, so that nobody answers in vain; a
 * disposal leaves it open (throws {@link LeftWaiting}).
 */
export async function awaitAnswer(rt: Runtime, id: string, signal: Signal): Promise<Asked> {
  // All that is there is read at once: an answer that came before anybody waited is no wait.
  const events = [...(await rt.journal.read(questionStream(id)))];
  const here = askedIn(foldQuestion(events));
  if (here !== undefined) return here;
  let told: Question | undefined;
  const tell = (): void => {
    const state = foldQuestion(events);
    // After an abort it is about to be given up: nobody is told to answer it.
    if (state?.state !== 'open' || told !== undefined || signal.aborted) return;
    told = state.question;
    rt.waiting(told, true);
  };
  try {
    tell();
    for await (const event of rt.journal.follow(questionStream(id), events.length, signal)) {
      events.push(event);
      const asked = askedIn(foldQuestion(events));
      if (asked !== undefined) return asked;
      tell();
    }
  } finally {
    if (told !== undefined) rt.waiting(told, false);
  }
  if ((signal.reason as AbortReason | undefined)?.kind === 'dispose') throw new LeftWaiting();
  await expire(rt, id, 'the work that asked was cancelled');
  return { kind: 'aborted' };
}

/** How a question ended; `undefined` while it is open, or not there yet. */
function askedIn(state: QuestionState | undefined): Asked | undefined {
  if (state === undefined || state.state === 'open') return undefined;
  if (state.state === 'expired') return { kind: 'expired', because: state.because };
  return { kind: 'answered', question: state.question, answer: state.answer };
}

/** Gives a question up. One that is answered or gone in the meantime stays as it is. */
export async function expire(rt: Runtime, id: string, because: string): Promise<void> {
  const at = (await rt.journal.read(questionStream(id))).length;
  if (at !== 1 && at !== 2) return;
  const batch: readonly Append[] = [expireAppend(id, at, because)];
  await rt.journal.append(batch);
}
