import type { Json } from '../kernel/json.ts';
import type { RunStreamEvent } from '../library/index.ts';
import { showDuration } from './duration.ts';
import type { Io } from './io.ts';
import { oneLine } from './plain-text.ts';

/** Most characters of what an agent said on one line. */
const longest = { message: 300, call: 160, text: 400 } as const;

/** The line for an event; `undefined` where nothing is said. A failure has `failureLine`. */
export function lineFor(io: Io, event: RunStreamEvent, verbosity: 'normal' | 'verbose'): string | undefined {
  const data = fields(event.data);
  const attempt = `attempt ${event.attempt}`;
  switch (event.type) {
    case 'attempt.started':
      return `${attempt} started${modeText(text(data['mode']))}`;
    case 'attempt.committed':
      return `${attempt} ${io.color('green', 'finished with evidence')}`;
    case 'request.retried':
      return `${attempt} the agent repeats a request itself (${retryText(data)})`;
    case 'call.refused':
      return `${attempt} not repeated: ${text(data['tool'])}, it had already run`;
    case 'line.rejected':
      return `${attempt} a line of the agent was set aside: ${oneLine(text(data['reason']), longest.message)}`;
    case 'notice':
      return `${attempt} notice: ${oneLine(text(data['text']), longest.message)}`;
    default:
      return verbosity === 'verbose' ? verboseLine(attempt, event.type, data) : undefined;
  }
}

function verboseLine(attempt: string, type: string, data: Fields): string | undefined {
  switch (type) {
    case 'call.started':
      return `${attempt} tool ${text(data['tool'])} ${oneLine(JSON.stringify(data['input'] ?? {}), longest.call)}`;
    case 'call.finished':
      return `${attempt} tool finished${data['ok'] === false ? ' with an error' : ''}`;
    case 'message.committed':
      return `${attempt} says: ${oneLine(text(fields(data['body'])['text']), longest.text)}`;
    default:
      return undefined;
  }
}

/** Class, evidence, what happens, when: the one line that a failure gets at once. */
export function failureLine(io: Io, failed: RunStreamEvent, decided: RunStreamEvent | undefined): string {
  const data = fields(failed.data);
  const kind = fields(data['classification']);
  const evidence = oneLine(text(kind['evidence']), longest.call);
  const message = oneLine(text(fields(data['failure'])['message']), longest.message);
  const what = `${io.color('yellow', text(kind['class']))} (${evidence}): ${message}`;
  return `attempt ${failed.attempt} failed, ${what} -> ${nextText(failed, fields(fields(decided?.data)['decision']))}`;
}

function nextText(failed: RunStreamEvent, decision: Fields): string {
  const because = oneLine(text(decision['because']), longest.message);
  const why = because === '' ? '' : ` (${because})`;
  if (failed.nextAt !== null) return `${stepText(text(decision['action']))} ${whenText(failed)}${why}`;
  switch (text(decision['action'])) {
    case 'park':
      return typeof decision['until'] === 'number'
        ? `parked until ${new Date(decision['until']).toISOString()}${why}`
        : `parked${why}`;
    case 'ask':
      return `a human is needed${why}`;
    case 'cancelled':
      return `ended${why}`;
    case 'budget':
      return `stopped by a limit${why}`;
    default:
      return `no further attempt${why}`;
  }
}

function stepText(action: string): string {
  switch (action) {
    case 'restart':
      return 'the same prompt again';
    case 'rebuild':
      return 'a new conversation with a summary';
    default:
      return 'next attempt';
  }
}

function whenText({ at, nextAt }: RunStreamEvent): string {
  const wait = (nextAt ?? at) - at;
  return wait <= 0 ? 'now' : `in ${showDuration(wait)}, at ${timeOf(at + wait)}`;
}

function modeText(mode: string): string {
  switch (mode) {
    case 'continue':
      return ', continuing the same conversation';
    case 'restart':
      return ', the original prompt again: it was never taken';
    case 'rebuild':
      return ', a new conversation with a summary of the lost one';
    default:
      return '';
  }
}

function retryText(data: Fields): string {
  const cause = data['status'] ?? data['category'];
  const wait = typeof data['delayMs'] === 'number' ? `, after ${showDuration(data['delayMs'])}` : '';
  return `${typeof cause === 'number' || typeof cause === 'string' ? cause : 'cause unknown'}${wait}`;
}

/** The time of day in this machine's zone, `hh:mm:ss`. */
export function timeOf(ms: number): string {
  return new Date(ms).toTimeString().slice(0, 8);
}

type Fields = { readonly [key: string]: Json };

function fields(value: Json | undefined): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

function text(value: Json | undefined): string {
  return typeof value === 'string' ? value : '';
}
