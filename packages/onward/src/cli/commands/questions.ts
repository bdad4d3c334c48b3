import { answerQuestion, listQuestions } from '../../effects/index.ts';
import { assertNever, OnwardError } from '../../kernel/error.ts';
import { questionPrefix } from '../../kernel/question.ts';
import { systemClock } from '../../processes/index.ts';
import { table } from '../describe-run.ts';
import { exitCodes } from '../exit-codes.ts';
import type { Io } from '../io.ts';
import { withJournal } from '../open-journal.ts';
import type { Journal } from '../../kernel/journal.ts';

/** `onward questions`: what waits for a person's word, oldest first. */
export async function questions(
  io: Io,
  flags: { readonly all?: boolean; readonly journal?: string; readonly json?: boolean },
): Promise<number> {
  return withJournal(io, flags.journal, async (journal) => {
    const found = await listQuestions(journal, flags.all === true ? {} : { state: 'open' });
    if (flags.json === true) for (const state of found) io.json({ ...state, ...state.question });
    else {
      if (found.length === 0) io.err('onward: no question is open');
      const rows = found.map(({ state, question }) => [
        question.id,
        ...(flags.all === true ? [state] : []),
        question.owner,
        question.choices.join('|'),
        question.text,
      ]);
      for (const line of table(rows)) io.out(line);
    }
    return exitCodes.done.code;
  });
}

/** `onward answer QUESTION CHOICE`: the first answer counts; whoever comes later hears which it was, with status 1. */
export async function answer(
  io: Io,
  wanted: { readonly question: string; readonly choice: string },
  flags: { readonly note?: string; readonly by?: string; readonly journal?: string; readonly json?: boolean },
): Promise<number> {
  return withJournal(io, flags.journal, async (journal) => {
    const id = await wholeId(journal, wanted.question);
    const note = flags.note === undefined ? {} : { note: flags.note };
    const said = { choice: wanted.choice, by: flags.by ?? 'terminal', ...note };
    const result = await answerQuestion(journal, id, said, systemClock);
    if (flags.json === true) io.json({ question: id, ...result });
    const say = (text: string): void => {
      if (flags.json !== true) io.err(`onward: ${text}`);
    };
    switch (result.kind) {
      case 'taken':
        say(`answered: ${wanted.choice}`);
        return exitCodes.done.code;
      case 'already':
        say(`it was answered before, by ${result.answer.by}: ${result.answer.choice}; that counts`);
        return exitCodes.failed.code;
      case 'expired':
        say(`it is no longer asked: ${result.because}`);
        return exitCodes.failed.code;
      case 'not-allowed':
        say(`only ${result.mayAnswer.join(', ')} may answer it`);
        return exitCodes.failed.code;
      case 'unknown-question':
        throw unknown(wanted.question);
      case 'bad-choice':
        throw new OnwardError('cli/bad-choice', `${JSON.stringify(wanted.choice)} is none of its choices.`, {
          place: id,
          next: result.choices.map((choice) => io.hint(`answer ${id} ${choice}`)),
        });
      default:
        return assertNever(result, 'the result of an answer');
    }
  });
}

/** The only question that begins so; ids of questions of one moment begin alike, so an end does as well. */
async function wholeId(journal: Journal, wanted: string): Promise<string> {
  const ids = (await journal.streams(questionPrefix)).map((stream) => stream.slice(questionPrefix.length));
  if (ids.includes(wanted)) return wanted;
  const found = wanted.length < 4 ? [] : ids.filter((id) => id.startsWith(wanted) || id.endsWith(wanted));
  if (found.length === 1 && found[0] !== undefined) return found[0];
  throw found.length === 0 ? unknown(wanted) : ambiguous(wanted, found.length);
}

function unknown(wanted: string): OnwardError {
  return new OnwardError('cli/unknown-question', `There is no question ${JSON.stringify(wanted)}.`, {
    place: wanted,
    next: ['onward questions', 'At least four characters of its id, from the beginning or the end.'],
  });
}

function ambiguous(wanted: string, count: number): OnwardError {
  return new OnwardError('cli/unknown-question', `${JSON.stringify(wanted)} fits ${count} questions.`, {
    place: wanted,
    next: ['onward questions', 'More of its id; the end tells questions of one moment apart.'],
  });
}
