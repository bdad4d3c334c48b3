import type { Tracer } from '@opentelemetry/api';
import { InMemorySpanExporter, type ReadableSpan, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import { type AgentEvent, createAgent, type CreateAgentOptions } from '../../../src/library/agent/index.ts';
import { traceSession } from '../../../src/telemetry/index.ts';
import {
  createFakeClock,
  createFixedIds,
  createFixedRandom,
  createScriptedModel,
  type FakeClock,
  type ModelScript,
  testHash,
} from '../../../src/testing/index.ts';

/** Spans that stay in memory. */
export interface Traces {
  readonly tracer: Tracer;
  /** In the order in which they began; those of one moment in the order in which they ended. */
  readonly spans: () => readonly ReadableSpan[];
}

/** A real tracer without a collector. */
export function createTraces(): Traces {
  const exporter = new InMemorySpanExporter();
  const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] });
  return {
    tracer: provider.getTracer('test'),
    spans: () => exporter.getFinishedSpans().toSorted((a, b) => msOf(a.startTime) - msOf(b.startTime)),
  };
}

/** ms since the epoch. */
export function msOf([seconds, nanos]: readonly [number, number]): number {
  return seconds * 1_000 + nanos / 1_000_000;
}

/** The one span that fits. */
export function only(spans: readonly ReadableSpan[], fits: (span: ReadableSpan) => boolean): ReadableSpan {
  const found = spans.filter(fits);
  const [span] = found;
  if (span === undefined || found.length > 1)
    throw new Error(`${found.length} spans fit, of: ${spans.map(({ name }) => name).join(', ')}`);
  return span;
}

/** The span of a request or a turn by its place. */
export function at(spans: readonly ReadableSpan[], turn: number, step?: number): ReadableSpan {
  return only(
    spans,
    ({ name, attributes }) =>
      attributes['onward.turn'] === turn &&
      (step === undefined ? name === 'turn' : name.startsWith('chat ') && attributes['onward.step'] === step),
  );
}

/** Runs one prompt of a real agent on a fake clock, traced from its beginning to the end of the agent. */
export async function traced(
  script: ModelScript,
  options: Omit<CreateAgentOptions, 'model' | 'ports'> & { readonly prompt?: string; readonly clock?: FakeClock } = {},
): Promise<{
  readonly spans: readonly ReadableSpan[];
  readonly events: readonly AgentEvent[];
  readonly start: number;
}> {
  const { prompt = 'Go.', clock = createFakeClock(), ...own } = options;
  const ports = { clock, random: createFixedRandom(), ids: createFixedIds(), hash: testHash };
  const model = createScriptedModel(script, { id: 'acme/large-1' });
  const agent = await createAgent({ id: 's', ...own, model, ports });
  const { tracer, spans } = createTraces();
  const events: AgentEvent[] = [];
  const tracing = traceSession(recorded(agent.events(), events), tracer);
  const start = clock.now();
  const { ended } = agent.followup(prompt);
  const state = { over: false };
  const over = ended.then(() => (state.over = true));
  while (!state.over) {
    // oxlint-disable-next-line no-await-in-loop -- time passes piece by piece
    await clock.advance(clock.pending()[0] ?? 0);
  }
  await over;
  await agent[Symbol.asyncDispose]();
  await tracing;
  return { spans: spans(), events, start };
}

async function* recorded(events: AsyncIterable<AgentEvent>, into: AgentEvent[]): AsyncGenerator<AgentEvent> {
  for await (const event of events) {
    into.push(event);
    yield event;
  }
}

/** Events of a list, one after the other. */
export async function* oneByOne(events: Iterable<AgentEvent>): AsyncGenerator<AgentEvent> {
  for (const event of events) {
    // oxlint-disable-next-line no-await-in-loop -- each in its own turn of the event loop
    await new Promise<void>((resolve) => setImmediate(resolve));
    yield event;
  }
}
