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
  const { n } = recorder;
  switch (observation.kind) {
    case 'session': {
      const { id, model, permissions } = observation;
      return [
        runEvent('attempt.session', {
          n,
          id,
          offset,
          ...(model === undefined ? {} : { model }),
          ...(permissions === undefined ? {} : { permissions }),
        }),
      ];
    }
    case 'message':
      return [
        runEvent('message.committed', {
          n,
          id: observation.id,
          body: await recorder.body(observation.text.toWellFormed()),
          offset,
        }),
      ];
    case 'call-intended':
    case 'call-started': {
      if (recorder.seen(observation.callId) !== 'no') return [];
      const { callId, tool } = observation;
      return [
        runEvent('call.started', {
          n,
          callId,
          tool,
          input: shortInput(observation.input, recorder.hash),
          gated: observation.kind === 'call-intended',
          offset,
        }),
      ];
    }
    case 'call-finished': {
      if (recorder.seen(observation.callId) === 'finished') return [];
      const { callId, ok, output } = observation;
      recorder.note(callId, 'finished');
      return [runEvent('call.finished', { n, callId, ok, output: shorten(output.toWellFormed(), maxOutput), offset })];
    }
    case 'inner-retry': {
      const { kind: _, ...facts } = observation;
      return [runEvent('request.retried', { n, ...facts, offset })];
    }
    case 'usage': {
      const { kind: _, ...facts } = observation;
      return [runEvent('usage.reported', { n, ...facts, offset })];
    }
    case 'malformed':
      return [runEvent('line.rejected', { n, reason: observation.reason, offset })];
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
