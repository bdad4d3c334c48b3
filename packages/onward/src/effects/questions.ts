import { OnwardError, isOnwardError } from '../kernel/error.ts';
import { answerMessage, messageTo } from '../kernel/inbox.ts';
import type { Journal } from '../kernel/journal.ts';
import type { Json } from '../kernel/json.ts';
import type { Clock } from '../kernel/ports.ts';
import {
  type Answer,
  answerAppend,
  foldQuestion,
  questionPrefix,
  questionStream,
  type QuestionState,
} from '../kernel/question.ts';
import { isRunStream } from './key.ts';

/** Which questions to list; absent = all. */
export interface QuestionFilter {
  readonly state?: QuestionState['state'];
  /** The stream of the work that waits, e.g. `session:...`. */
  readonly owner?: string;
}

/** What somebody says to a question. */
export interface AnswerInput {
  readonly choice: string;
  readonly by: string;
  readonly note?: string;
  readonly value?: Json;
}

/** What became of an answer. */
export type AnswerResult =
  | { readonly kind: 'taken' }
  /** Somebody was first; theirs counts. */
  | { readonly kind: 'already'; readonly answer: Answer }
  | { readonly kind: 'expired'; readonly because: string }
  | { readonly kind: 'unknown-question' }
  | { readonly kind: 'not-allowed'; readonly mayAnswer: readonly string[] }
  | { readonly kind: 'bad-choice'; readonly choices: readonly string[] };

const MOST_TRIES = 10;

/** The questions of a journal, oldest first. One that a newer program wrote is left to that program. */
export async function listQuestions(journal: Journal, filter: QuestionFilter = {}): Promise<readonly QuestionState[]> {
  const found: QuestionState[] = [];
  for (const stream of await journal.streams(questionPrefix)) {
    const state = await readStream(journal, stream);
    if (state === undefined) continue;
    if (filter.state !== undefined && state.state !== filter.state) continue;
    if (filter.owner === undefined || state.question.owner === filter.owner) found.push(state);
  }
  return found;
}

async function readStream(journal: Journal, stream: string): Promise<QuestionState | undefined> {
  try {
    return foldQuestion(await journal.read(stream));
  } catch (error) {
    if (isOnwardError(error, 'journal/newer-version')) return undefined;
    throw error;
  }
}

/** One question; `undefined` when there is none of that id. */
export async function readQuestion(journal: Journal, id: string): Promise<QuestionState | undefined> {
  return foldQuestion(await journal.read(questionStream(id)));
}

/**
 * Answers a question, from any process: the first answer counts, and later ones hear of it. The work that waits is woken in
 * the same append. Throws `journal/...`.
 */
export async function answerQuestion(
  journal: Journal,
  id: string,
  input: AnswerInput,
  clock: Pick<Clock, 'now'>,
): Promise<AnswerResult> {
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const state = await readQuestion(journal, id);
    const refused = refusalOf(state, input);
    if (state === undefined || refused !== undefined) return refused ?? { kind: 'unknown-question' };
    const { owner } = state.question;
    const wake = isRunStream(owner) ? [] : [messageTo(owner, answerMessage(id), clock.now())];
    const appended = await journal.append([answerAppend(id, answerOf(input)), ...wake]);
    if (appended.ok) return { kind: 'taken' };
  }
  throw new OnwardError('effects/answer-refused', `The answer to question ${id} could not be stored.`, { place: id });
}

function refusalOf(state: QuestionState | undefined, input: AnswerInput): AnswerResult | undefined {
  if (state === undefined) return { kind: 'unknown-question' };
  const { mayAnswer, choices } = state.question;
  if (state.state === 'answered' || state.state === 'used') return { kind: 'already', answer: state.answer };
  if (state.state === 'expired') return { kind: 'expired', because: state.because };
  if (mayAnswer.length > 0 && !mayAnswer.includes(input.by)) return { kind: 'not-allowed', mayAnswer };
  return choices.includes(input.choice) ? undefined : { kind: 'bad-choice', choices };
}

/** Only the fields of an answer, whatever else the caller's object holds. */
function answerOf({ choice, by, note, value }: AnswerInput): Answer {
  return { choice, by, ...(note === undefined ? {} : { note }), ...(value === undefined ? {} : { value }) };
}
