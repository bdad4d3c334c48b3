/** Effects: done once, or known to be unknown; and the questions that only a person can answer. */
export { effectChoices } from './effect-question.ts';
export { EffectRejected } from './effect-rejected.ts';
export { createLedger, type LedgerOptions } from './ledger.ts';
export { createOnce, type Once, type OnceName, type OnceOptions } from './once.ts';
export {
  answerQuestion,
  type AnswerInput,
  type AnswerResult,
  listQuestions,
  type QuestionFilter,
  readQuestion,
} from './questions.ts';
