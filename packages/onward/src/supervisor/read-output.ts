import type { NewEvent } from '../kernel/envelope.ts';
import type { AttemptReader, Observation } from './adapter.ts';
import type { SpoolLine } from './attempt-host.ts';
import type { EventQueue } from './event-queue.ts';
import { type Recorder, recordObservation } from './record.ts';
import { runEvent } from './run-events.ts';

/** What is done with an attempt's output besides recording it. */
export interface OutputSink {
  readonly reader: AttemptReader;
  readonly recorder: Recorder;
  readonly queue: EventQueue;
  /** Lines before this byte are recorded already: they only bring the reader up to date. */
  readonly from: number;
  /** Told of each new observation before it is recorded. */
  readonly saw: (observation: Observation) => void;
  /** Why an intended call must not happen; `undefined` lets it. */
  readonly refusal: (observation: Extract<Observation, { kind: 'call-intended' }>) => string | undefined;
  /** Writes to the agent. Absent when it lives no more. */
  readonly reply?: (line: string) => Promise<void>;
}

/** Reads an attempt's output to its end: each line is observed, recorded, and answered once its record is durable. */
export async function readOutput(lines: AsyncIterable<SpoolLine>, sink: OutputSink): Promise<void> {
  for await (const line of lines) {
    const observations: readonly Observation[] =
      'rejected' in line ? [{ kind: 'malformed', reason: line.rejected }] : sink.reader.line(line.text);
    if (line.end > sink.from) await takeLine(observations, line.end, sink);
  }
  await sink.queue.flush();
}

async function takeLine(observations: readonly Observation[], offset: number, sink: OutputSink): Promise<void> {
  const replies: string[] = [];
  const events: NewEvent[] = [];
  for (const observation of observations) {
    sink.saw(observation);
    // oxlint-disable-next-line no-await-in-loop -- one observation may decide how the next is recorded
    events.push(...(await recordObservation(sink.recorder, observation, offset)));
    const answer = answerTo(observation, offset, sink);
    if (answer?.event !== undefined) events.push(answer.event);
    if (answer !== undefined) replies.push(answer.line);
  }
  await sink.queue.push(events);
  if (replies.length === 0 || sink.reply === undefined) return;
  await sink.queue.flush();
  // oxlint-disable-next-line no-await-in-loop -- in order
  for (const line of replies) await sink.reply(line);
}

function answerTo(
  observation: Observation,
  offset: number,
  sink: OutputSink,
): { readonly line: string; readonly event?: NewEvent } | undefined {
  if (observation.kind === 'reply') return { line: observation.line };
  if (observation.kind === 'call-finished')
    return observation.reply === undefined ? undefined : { line: observation.reply };
  if (observation.kind !== 'call-intended') return undefined;
  const because = sink.refusal(observation);
  if (because === undefined || sink.reader.refuse === undefined) return { line: observation.reply };
  const { callId, tool } = observation;
  return {
    line: sink.reader.refuse(callId, because),
    event: runEvent('call.refused', { n: sink.recorder.n, callId, tool, because, offset }),
  };
}
