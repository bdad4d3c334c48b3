import type { HistoryItem } from './history.ts';
import { isInjected } from './history.ts';
import type { ShellStep, Step } from './script.ts';
import { isDelegated } from './script.ts';

/** How much of the command in front of the evidence tells a quoted command from its output. */
const LOOK_BACK = 8;
/** How much of a command a text must quote to be about that step: continuations may shorten it. */
const QUOTED = 60;
const UNKNOWN =
  /\b(unknown|uncertain|unclear|not known|may (?:or may not )?have|might have|inspect|aborted|interrupted)\b/i;
const BROKEN_OFF = /\b(aborted|interrupted|rejected|cancel+ed|timed out)\b/i;

/** Whether a tool result in the history holds the step's evidence. */
export function hasResult(history: readonly HistoryItem[], step: Step): boolean {
  return history.some((item) => item.kind === 'result' && shows(item.text, step));
}

/** Whether the step's evidence was shown in any text: a result, a continuation prompt, a summary. */
export function wasShown(history: readonly HistoryItem[], step: Step): boolean {
  return history.some((item) => item.kind !== 'call' && shows(item.text, step));
}

/**
 * Whether the text holds the evidence as *output*. The command itself often spells it (`echo EFFECT_OK_1`), and error
 * messages and ledgers quote commands; such a quotation proves nothing.
 */
export function shows(text: string, step: Step): boolean {
  const before = isDelegated(step) ? '' : quotedBefore(step.command, step.evidence);
  for (let at = text.indexOf(step.evidence); at >= 0; at = text.indexOf(step.evidence, at + 1)) {
    const lead = text.slice(Math.max(0, at - 2 * LOOK_BACK), at).replaceAll('\\', '');
    if (before === '' || !lead.endsWith(before)) return true;
  }
  return false;
}

/** Position of the last item that leaves the step's outcome open: a text that says so, or a result of a call that broke off. */
export function lastDoubt(history: readonly HistoryItem[], step: ShellStep, others: readonly Step[]): number {
  const prompt = history.findIndex((item) => item.kind === 'user' && !isInjected(item));
  return history.findLastIndex((item, index) => {
    if (item.kind === 'result') return isBrokenOff(history, item, step);
    if (item.kind !== 'user' && item.kind !== 'system') return false;
    if (!UNKNOWN.test(item.text)) return false;
    if (quotes(item.text, step)) return true;
    const general = item.kind === 'user' && !isInjected(item) && index !== prompt;
    return general && !others.some((other) => !isDelegated(other) && quotes(item.text, other));
  });
}

/** The results, after position `from`, of calls that ran exactly this command. */
export function resultsOf(history: readonly HistoryItem[], command: string, from: number): readonly string[] {
  const ids = new Set(
    history.flatMap((item, index) =>
      index > from && item.kind === 'call' && runs(item.input, command) ? [item.id] : [],
    ),
  );
  return history.flatMap((item) => (item.kind === 'result' && ids.has(item.id) ? [item.text] : []));
}

function isBrokenOff(history: readonly HistoryItem[], item: HistoryItem, step: ShellStep): boolean {
  if (item.kind !== 'result' || shows(item.text, step) || !BROKEN_OFF.test(item.text)) return false;
  return history.some((call) => call.kind === 'call' && call.id === item.id && runs(call.input, step.command));
}

/** A call's input is JSON text; the command inside it is escaped as JSON. */
function runs(input: string, command: string): boolean {
  return input.includes(JSON.stringify(command).slice(1, -1));
}

function quotes(text: string, step: ShellStep): boolean {
  return text.replaceAll('\\', '').includes(step.command.slice(0, QUOTED).replaceAll('\\', ''));
}

function quotedBefore(command: string, evidence: string): string {
  const at = command.indexOf(evidence);
  return at < 0 ? '' : command.slice(Math.max(0, at - LOOK_BACK), at).replaceAll('\\', '');
}
