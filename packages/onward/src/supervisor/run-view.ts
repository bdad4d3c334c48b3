import type { Json } from '../kernel/json.ts';
import type { RunStreamEvent } from './run-stream.ts';

/** One attempt as a host may show it. Texts of a superseded attempt were withdrawn: what replaces them comes in a later one. */
export interface AttemptView {
  readonly n: number;
  readonly mode: string;
  readonly state: 'running' | 'failed' | 'superseded' | 'committed';
  /** Blocks of text whose message ended, in order. */
  readonly texts: readonly string[];
  /** Text that is still coming; not recorded, and gone when the attempt fails. */
  readonly live: string;
  readonly calls: readonly {
    readonly callId: string;
    readonly tool: string;
    readonly state: 'started' | 'finished' | 'refused';
  }[];
  /** Requests that the agent repeated by itself. */
  readonly innerRetries: number;
  readonly failure?: {
    readonly class: string;
    readonly rule: string;
    readonly evidence: string;
    readonly message: string;
  };
  readonly willRetry: boolean;
  /** ms since the epoch. */
  readonly nextAt: number | null;
}

/** A run as a host may show it: true at every moment, whichever events have come so far. */
export interface RunView {
  readonly run: string;
  readonly state: 'running' | 'waiting' | 'paused' | 'done' | 'failed' | 'cancelled';
  /** Why it waits, rests or ended; empty while it runs. */
  readonly because: string;
  readonly attempts: readonly AttemptView[];
  /** The final answer, once there is one. */
  readonly answer?: string;
  /** Number of the last recorded event. */
  readonly seq: number;
}

/** Folds the event stream of one run into what a host shows. Pure; unknown types are passed over. */
export function runView(events: Iterable<RunStreamEvent>): RunView {
  let view: RunView = { run: '', state: 'running', because: '', attempts: [], seq: 0 };
  for (const event of events) view = addToView(view, event);
  return view;
}

/** One more event, for hosts that fold as events come. */
export function addToView(before: RunView, event: RunStreamEvent): RunView {
  if (event.seq !== null && event.seq <= before.seq) return before;
  const view = { ...before, run: event.run, seq: event.seq ?? before.seq };
  const data = record(event.data);
  switch (event.type) {
    case 'attempt.started':
      return {
        ...view,
        state: 'running',
        because: '',
        attempts: [...view.attempts, newAttempt(event.attempt ?? 0, text(data['mode']))],
      };
    case 'attempt.failed':
      return { ...change(view, event, failed(event, data)), state: 'waiting' };
    case 'recovery.decided':
      return { ...view, because: text(record(data['decision'])['because']) };
    case 'attempt.superseded':
      return change(view, event, { state: 'superseded' });
    case 'attempt.committed':
      return { ...change(view, event, { state: 'committed', live: '' }), answer: text(record(data['text'])['text']) };
    case 'run.paused':
      return { ...view, state: 'paused', because: text(data['because']) };
    case 'run.resumed':
      return { ...view, state: 'running', because: '' };
    case 'run.ended':
      return { ...view, state: outcome(text(data['outcome'])), because: text(data['because']) };
    default:
      return event.attempt === null ? view : inAttempt(view, event, data);
  }
}

function inAttempt(view: RunView, event: RunStreamEvent, data: Fields): RunView {
  const attempt = view.attempts.find(({ n }) => n === event.attempt);
  if (attempt === undefined) return view;
  const callId = text(data['callId']);
  const setCall = (state: 'finished' | 'refused'): RunView =>
    change(view, event, {
      calls: attempt.calls.map((call) =>
        call.callId === callId && call.state !== 'refused' ? { ...call, state } : call,
      ),
    });
  switch (event.type) {
    case 'delta':
      return change(view, event, { live: attempt.live + text(data['text']) });
    case 'message.committed':
      return change(view, event, { texts: [...attempt.texts, text(record(data['body'])['text'])], live: '' });
    case 'call.started':
      return change(view, event, { calls: [...attempt.calls, { callId, tool: text(data['tool']), state: 'started' }] });
    case 'call.finished':
      return setCall('finished');
    case 'call.refused':
      return setCall('refused');
    case 'request.retried':
      return change(view, event, { innerRetries: attempt.innerRetries + 1 });
    default:
      return view;
  }
}

function newAttempt(n: number, mode: string): AttemptView {
  return { n, mode, state: 'running', texts: [], live: '', calls: [], innerRetries: 0, willRetry: false, nextAt: null };
}

function failed(event: RunStreamEvent, data: Fields): Partial<AttemptView> {
  const kind = record(data['classification']);
  const failure = {
    class: text(kind['class']),
    rule: text(kind['rule']),
    evidence: text(kind['evidence']),
    message: text(record(data['failure'])['message']),
  };
  return { state: 'failed', live: '', failure, willRetry: event.willRetry ?? false, nextAt: event.nextAt };
}

function change(view: RunView, event: RunStreamEvent, to: Partial<AttemptView>): RunView {
  return {
    ...view,
    attempts: view.attempts.map((attempt) => (attempt.n === event.attempt ? { ...attempt, ...to } : attempt)),
  };
}

function outcome(value: string): RunView['state'] {
  return value === 'done' || value === 'cancelled' ? value : 'failed';
}

type Fields = { readonly [key: string]: Json };

function record(value: Json | undefined): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

function text(value: Json | undefined): string {
  return typeof value === 'string' ? value : '';
}
