import type { NewEvent } from '../kernel/envelope.ts';
import { assertNever } from '../kernel/error.ts';
import { canonicalJson, type Json } from '../kernel/json.ts';
import type { Hash } from '../kernel/ports.ts';
import type { Observation } from './adapter.ts';
import { type Body, runEvent } from './run-events.ts';
import type { AttemptState } from './run-state.ts';
import type { RunWriter } from './run-writer.ts';

/** Most characters of a tool's output and of its input that the journal keeps; the spool has all of it. */
const maxOutput = 16_384;
const maxInput = 16_384;

/** What turning observations into events needs from outside. */
export interface Recorder {
  readonly n: number;
  readonly hash: Hash;
  body(text: string): Promise<Body>;
  /** Whether the journal has this call already, begun or finished: hooks and stream both tell of one call. */
  seen(callId: string): 'no' | 'started' | 'finished';
  note(callId: string, state: 'started' | 'finished'): void;
}

/** The events that one observation is worth; none for what only shows life or is only shown live. */
export async function recordObservation(
  recorder: Recorder,
  observation: Observation,
  offset: number,
): Promise<readonly NewEvent[]> {
  const at = { n: recorder.n, offset };
  switch (observation.kind) {
    case 'session': {
      const { kind: _, version: _version, ...facts } = observation;
      return [runEvent('attempt.session', { ...at, ...facts })];
    }
    case 'message':
      return [
        runEvent('message.committed', {
          ...at,
          id: observation.id,
          body: await recorder.body(observation.text.toWellFormed()),
        }),
      ];
    case 'call-intended':
    case 'call-started':
      return recordStart(recorder, observation, offset);
    case 'call-finished':
      return recordFinish(recorder, observation, offset);
    case 'inner-retry': {
      const { kind: _, ...facts } = observation;
      return [runEvent('request.retried', { ...at, ...facts })];
    }
    case 'usage': {
      const { kind: _, ...facts } = observation;
      return [runEvent('usage.reported', { ...at, ...facts })];
    }
    case 'malformed':
      return [runEvent('line.rejected', { ...at, reason: observation.reason })];
    case 'delta':
    case 'alive':
    case 'notice':
    case 'reply':
    case 'result':
      return [];
    default:
      return assertNever(observation, 'recordObservation');
  }
}

/** Hooks and stream both tell of one call: the first to tell is recorded. */
function recordStart(
  recorder: Recorder,
  observation: Extract<Observation, { kind: 'call-intended' | 'call-started' }>,
  offset: number,
): readonly NewEvent[] {
  const { callId, tool, kind } = observation;
  if (recorder.seen(callId) !== 'no') return [];
  recorder.note(callId, 'started');
  const input = shortInput(observation.input, recorder.hash);
  return [runEvent('call.started', { n: recorder.n, callId, tool, input, gated: kind === 'call-intended', offset })];
}

function recordFinish(
  recorder: Recorder,
  observation: Extract<Observation, { kind: 'call-finished' }>,
  offset: number,
): readonly NewEvent[] {
  const { callId, ok } = observation;
  if (recorder.seen(callId) === 'finished') return [];
  recorder.note(callId, 'finished');
  return [
    runEvent('call.finished', {
      n: recorder.n,
      callId,
      ok,
      output: shorten(observation.output.toWellFormed(), maxOutput),
      offset,
    }),
  ];
}

/** An input the journal can keep: itself, or its head and its hash, so that two equal inputs stay equal. */
export function shortInput(input: Json, hash: Hash): Json {
  const text = canonicalJson(input);
  return text.length <= maxInput ? input : { shortened: shorten(text, maxInput), sha256: hash.sha256(text) };
}

function shorten(text: string, most: number): string {
  if (text.length <= most) return text;
  const half = Math.floor(most / 2);
  return `${text.slice(0, half).toWellFormed()}\n[${text.length - 2 * half} characters left out]\n${text.slice(-half).toWellFormed()}`;
}

/** A recorder for one attempt: knows what is on record and what has been seen since. */
export function recorderFor(hash: Hash, writer: Pick<RunWriter, 'body'>, attempt: AttemptState): Recorder {
  const calls = new Map<string, 'started' | 'finished'>(
    attempt.calls.map((call) => [call.callId, call.state === 'started' ? 'started' : 'finished']),
  );
  return {
    n: attempt.n,
    hash,
    body: (text) => writer.body(text),
    seen: (callId) => calls.get(callId) ?? 'no',
    note: (callId, state) => void calls.set(callId, state),
  };
}
