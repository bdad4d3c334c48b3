/** The kernel and `runView`: pure, loads no Node module, runs anywhere. */
export {
  addBranch,
  type Amounts,
  type Budget,
  budgetUnits,
  type BudgetUnit,
  createBudget,
  exhausted,
  reserve,
  type Reserved,
  settle,
  usedOf,
} from './kernel/budget.ts';
export { classify, classifyVersion } from './kernel/classify.ts';
export { type Continuable, decide, type Decision, type Situation, type StopReason } from './kernel/decide.ts';
export type { NewEvent, StoredEvent } from './kernel/envelope.ts';
export { type ErrorDetails, isOnwardError, OnwardError } from './kernel/error.ts';
export {
  type Classification,
  type DeniedCall,
  type Failure,
  failureChain,
  failureClasses,
  type FailureClass,
  type ProcessFact,
  resetsAtOf,
  retryAfterOf,
} from './kernel/failure.ts';
export { type EventReader, type EventTable, fold, upcast } from './kernel/fold.ts';
export type {
  Append,
  Appended,
  BlobRef,
  Claimed,
  DueStream,
  Holder,
  Journal,
  Lease,
  Refusal,
} from './kernel/journal.ts';
export { canonicalJson, findNonJson, type Json } from './kernel/json.ts';
export {
  defaultPolicy,
  longestMs,
  type Policy,
  type PolicyLayer,
  type PolicySnapshot,
  type PolicySource,
  resolvePolicy,
} from './kernel/policy.ts';
export type { Clock, Hash, Ids, Random } from './kernel/ports.ts';
export { createRedactor, redacted, type Redactor } from './kernel/redact.ts';
export type { Signal } from './kernel/signal.ts';
export { addToView, type AttemptView, runView, type RunView } from './supervisor/run-view.ts';
export type { RunStreamEvent } from './supervisor/run-stream.ts';
