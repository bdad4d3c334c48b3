import type { NewEvent, StoredEvent } from './envelope.ts';
import { type EventTable, fold } from './fold.ts';
import type { Append } from './journal.ts';
import type { Json } from './json.ts';

/** Something only a person (or a named program) can decide, as data: any process may list it and answer it. */
export interface Question {
  /** Unique in the journal; also the name of its stream, `question:<id>`. */
  readonly id: string;
  /** The stream of the work that waits, e.g. `session:...`; its inbox is woken by the answer. */
  readonly owner: string;
  readonly subject: 'approval' | 'effect' | 'plan' | 'conflict';
  /** One sentence to show. */
  readonly text: string;
  /** What can be answered; the first answer wins. */
  readonly choices: readonly string[];
  /** Exactly what is asked about: tool and arguments, or action, key and resource. */
  readonly details: Json;
  /** Version of the rule that asks. An answer given under another version is not used: it is asked again. */
  readonly policyVersion: string;
  /** Who may answer; empty = anyone. */
  readonly mayAnswer: readonly string[];
}

/** What was answered. `note` and `value` are data for the asker, e.g. a receipt. */
export interface Answer {
  readonly choice: string;
  /** Who answered. */
  readonly by: string;
  readonly note?: string;
  readonly value?: Json;
}

/** `open` → `answered` → `used`; or `expired`, e.g. since the work was cancelled or the rule changed. */
export type QuestionState =
  | { readonly state: 'open'; readonly question: Question }
  | { readonly state: 'answered'; readonly question: Question; readonly answer: Answer }
  | { readonly state: 'used'; readonly question: Question; readonly answer: Answer }
  | { readonly state: 'expired'; readonly question: Question; readonly because: string };

/** Types of the events of a question's stream. */
export const questionEvents: EventTable = {
  'question.opened': { v: 1 },
  'question.answered': { v: 1 },
  'question.used': { v: 1 },
  'question.expired': { v: 1 },
};

const PREFIX = 'question:';

/** The streams of all questions begin so. */
export const questionPrefix: string = PREFIX;

/** The stream of a question. Unleased: whoever appends must have seen its last position, so the first answer wins. */
export function questionStream(id: string): string {
  return `${PREFIX}${id}`;
}

/** The append that asks; joined with what the asker records. */
export function askAppend(question: Question): Append {
  return { stream: questionStream(question.id), expected: 0, events: [opened(question)] };
}

/**
 * The append that uses an answer up: part of the same batch as the progress it allows, so that a crash in between
 * leaves it answered and usable.
 */
export function useAppend(id: string): Append {
  return { stream: questionStream(id), expected: 2, events: [{ type: 'question.used', v: 1, data: {} }] };
}

/** The append that gives a question up; `at` is the last position seen (1 = open, 2 = answered). */
export function expireAppend(id: string, at: 1 | 2, because: string): Append {
  return { stream: questionStream(id), expected: at, events: [{ type: 'question.expired', v: 1, data: { because } }] };
}

/** The append that answers; refused when it is not the first. */
export function answerAppend(id: string, answer: Answer): Append {
  return {
    stream: questionStream(id),
    expected: 1,
    events: [{ type: 'question.answered', v: 1, data: { ...answer } }],
  };
}

function opened(question: Question): NewEvent {
  return { type: 'question.opened', v: 1, data: { ...question, details: question.details } };
}

/** Where a question stands; `undefined` for an empty stream. */
export function foldQuestion(events: Iterable<StoredEvent>): QuestionState | undefined {
  return fold<QuestionState | undefined, NewEvent>(events, questionEvents, undefined, (state, event) => {
    const data = event.data as never;
    switch (event.type) {
      case 'question.opened':
        return state ?? { state: 'open', question: data };
      case 'question.answered':
        return state?.state === 'open' ? { state: 'answered', question: state.question, answer: data } : state;
      case 'question.used':
        return state?.state === 'answered' ? { ...state, state: 'used' } : state;
      case 'question.expired':
        return state === undefined || state.state === 'used'
          ? state
          : { state: 'expired', question: state.question, because: (data as { because: string }).because };
      default:
        return state;
    }
  });
}
