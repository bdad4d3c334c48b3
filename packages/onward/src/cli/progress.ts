import type { Clock } from '../kernel/ports.ts';
import type { Json } from '../kernel/json.ts';
import type { RunStreamEvent } from '../library/index.ts';
import { showDuration } from './duration.ts';
import type { Io } from './io.ts';

/** How much is said on standard error. */
export type Verbosity = 'quiet' | 'normal' | 'verbose';

/** Says on standard error what happens to a run: one line for each thing, at once; on a terminal a wait counts down. */
export interface Progress {
  show(event: RunStreamEvent): void;
  /** Ends a countdown, so that what follows starts on a line of its own. */
  stop(): void;
}

/** Progress for one run. */
export function createProgress(io: Io, clock: Clock, verbosity: Verbosity, redraw: (text: string) => void): Progress {
  let counting: AbortController | undefined;
  const stop = (): void => {
    if (counting === undefined) return;
    counting.abort();
    counting = undefined;
    redraw('');
  };
  const count = async (until: number, signal: AbortSignal): Promise<void> => {
    while (!signal.aborted && clock.now() < until) {
      redraw(`  next attempt in ${showDuration(until - clock.now())}`);
      // oxlint-disable-next-line no-await-in-loop -- a clock that is looked at
      await clock.sleep(1_000, signal);
    }
  };
  return {
    stop,
    show: (event) => {
      stop();
      const line = verbosity === 'quiet' ? undefined : lineFor(io, event, verbosity);
      if (line !== undefined) io.err(`${io.color('dim', timeOf(event.at))} ${line}`);
      if (verbosity !== 'quiet' && io.isTerminal && event.type === 'attempt.failed' && event.nextAt !== null) {
        counting = new AbortController();
        void count(event.nextAt, counting.signal);
      }
    },
  };
}

function lineFor(io: Io, event: RunStreamEvent, verbosity: Verbosity): string | undefined {
  const data = fields(event.data);
  const attempt = `attempt ${event.attempt}`;
  switch (event.type) {
    case 'attempt.started':
      return `${attempt} started${modeText(text(data['mode']))}`;
    case 'attempt.failed':
      return failedLine(io, event, data);
    case 'recovery.decided': {
      const decision = fields(data['decision']);
      return `${attempt} decision: ${io.color('cyan', text(decision['action']))}, ${text(decision['because'])}`;
    }
    case 'attempt.committed':
      return `${attempt} ${io.color('green', 'finished with evidence')}`;
    case 'request.retried':
      return `${attempt} the agent repeats a request itself (${retryText(data)})`;
    case 'call.refused':
      return `${attempt} not repeated: ${text(data['tool'])}, it had already run`;
    case 'line.rejected':
      return `${attempt} a line of the agent was set aside: ${text(data['reason'])}`;
    case 'call.started':
      return verbosity === 'verbose'
        ? `${attempt} tool ${text(data['tool'])} ${JSON.stringify(data['input']).slice(0, 160)}`
        : undefined;
    case 'call.finished':
      return verbosity === 'verbose'
        ? `${attempt} tool finished${data['ok'] === false ? ' with an error' : ''}`
        : undefined;
    case 'message.committed':
      return verbosity === 'verbose'
        ? `${attempt} says: ${text(fields(data['body'])['text']).slice(0, 400)}`
        : undefined;
    case 'notice':
      return verbosity === 'verbose' ? `${attempt} notice: ${text(data['text'])}` : undefined;
    default:
      return undefined;
  }
}

/** Class, evidence, what happens, when: the one line that a failure gets at once. */
function failedLine(io: Io, event: RunStreamEvent, data: Fields): string {
  const kind = fields(data['classification']);
  const what = `${io.color('yellow', text(kind['class']))} (${text(kind['evidence'])}): ${text(fields(data['failure'])['message'])}`;
  const next =
    event.nextAt === null
      ? 'no further attempt'
      : `next attempt in ${showDuration(Math.max(0, event.nextAt - event.at))}, at ${timeOf(event.nextAt)}`;
  return `attempt ${event.attempt} failed, ${what} -> ${next}`;
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
