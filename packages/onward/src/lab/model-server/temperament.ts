import { hasResult, lastDoubt, resultsOf, wasShown } from './evidence.ts';
import type { HistoryItem } from './history.ts';
import { firstPrompt, isInjected } from './history.ts';
import type { ShellStep, Step, Task, Temperament } from './script.ts';
import { isDelegated } from './script.ts';

/** What the scripted model does next. */
export type Move =
  | { readonly kind: 'run'; readonly step: ShellStep }
  | { readonly kind: 'inspect'; readonly step: ShellStep; readonly command: string }
  | { readonly kind: 'delegate'; readonly stepId: string; readonly prompt: string }
  | { readonly kind: 'finish'; readonly text: string }
  | { readonly kind: 'give-up'; readonly stepId: string; readonly text: string };

/** Whose request it is: the agent's own, or that of the subagent which carries out a delegated step. */
export interface Role {
  readonly agent: 'main' | 'subagent';
  readonly task: Task;
}

/** A subagent's prompt starts with these words and the step's id: that is how its requests are recognised. */
const SUBAGENT = 'Lab subagent for step';

/** Tells a subagent's request from the main agent's by its first prompt. Pure. */
export function roleOf(history: readonly HistoryItem[], task: Task): Role {
  const prompt = firstPrompt(history).trimStart();
  for (const step of task.steps) {
    if (isDelegated(step) && prompt.startsWith(`${SUBAGENT} ${step.id}.`)) {
      return { agent: 'subagent', task: { steps: step.delegate.steps, finalText: `Report: ${step.evidence}` } };
    }
  }
  return { agent: 'main', task };
}

/** Decides the next move from the request's history alone: the same history, the same move. Pure. */
export function nextMove(history: readonly HistoryItem[], task: Task, temperament: Temperament): Move {
  for (const step of task.steps) {
    const move = moveFor(step, history, task, temperament);
    if (move !== undefined) return move;
  }
  const ids = task.steps.map((step) => step.id).join(', ');
  return { kind: 'finish', text: task.finalText ?? `All steps are done: ${ids}.` };
}

function moveFor(step: Step, history: readonly HistoryItem[], task: Task, temperament: Temperament): Move | undefined {
  if (isDone(step, history, temperament)) return undefined;
  if (isDelegated(step)) return delegation(step.id, history);
  if (temperament === 'checker' && step.inspect !== undefined) {
    const found = inspection(step, step.inspect, history, task.steps);
    if (found !== 'go') return found === 'done' ? undefined : found;
  }
  const failure = resultsOf(history, step.command, lastPrompt(history)).at(-1);
  if (failure === undefined) return { kind: 'run', step };
  return { kind: 'give-up', stepId: step.id, text: `Step ${step.id} did not work, so I stop here.` };
}

function isDone(step: Step, history: readonly HistoryItem[], temperament: Temperament): boolean {
  switch (temperament) {
    case 'naive':
      return hasResult(history, step);
    case 'reader':
    case 'checker':
      return wasShown(history, step);
    default:
      return unreachable(temperament);
  }
}

/** Looks first where the outcome is in doubt, once per doubt; what it saw then decides. */
function inspection(
  step: ShellStep,
  inspect: NonNullable<ShellStep['inspect']>,
  history: readonly HistoryItem[],
  others: readonly Step[],
): Move | 'done' | 'go' {
  const doubt = lastDoubt(history, step, others);
  if (doubt < 0) return 'go';
  const seen = resultsOf(history, inspect.command, doubt).at(-1);
  if (seen === undefined) return { kind: 'inspect', step, command: inspect.command };
  return seen.includes(inspect.shows) ? 'done' : 'go';
}

function delegation(stepId: string, history: readonly HistoryItem[]): Move {
  const prompt = `${SUBAGENT} ${stepId}. Do your part of the task and report.`;
  const tried = resultsOf(history, prompt, lastPrompt(history)).length > 0;
  return tried
    ? { kind: 'give-up', stepId, text: `The subagent for step ${stepId} did not report success, so I stop here.` }
    : { kind: 'delegate', stepId, prompt };
}

/** A step that failed is tried once more after each new prompt, never twice on the same one: a denied call would loop. */
function lastPrompt(history: readonly HistoryItem[]): number {
  return history.findLastIndex((item) => item.kind === 'user' && !isInjected(item));
}

function unreachable(value: never): never {
  throw new TypeError(`no such temperament: ${JSON.stringify(value)}`);
}
