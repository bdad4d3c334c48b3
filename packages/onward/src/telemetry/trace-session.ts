import {
  type Attributes,
  type Context,
  context,
  type HrTime,
  type Link,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  trace,
  type Tracer,
} from '@opentelemetry/api';
import type { AgentEvent } from '../agent/index.ts';
import { assertNever } from '../kernel/error.ts';
import type { SpanAttributes, SpanChange, SpanStart } from './span-change.ts';
import { SpanFold } from './span-fold.ts';

/**
 * Makes the spans of a session while its events come, with the times of the events; resolves when they end. The span of a
 * prompt is a child of the span that is active at the call, if there is one. What the events leave open ends with them, with
 * `onward.unfinished`. Rejects with what reading the events throws, after that.
 */
export async function traceSession(events: AsyncIterable<AgentEvent>, tracer: Tracer): Promise<void> {
  const fold = new SpanFold();
  const spans = new Spans(tracer, context.active());
  try {
    for await (const event of events) for (const change of fold.add(event)) spans.apply(change);
  } finally {
    for (const change of fold.end()) spans.apply(change);
  }
}

/** The real spans by the ids that the fold gives them. */
class Spans {
  readonly #tracer: Tracer;
  readonly #around: Context;
  readonly #open = new Map<string, Span>();
  /** Of the prompt under way: whose children or repeats may still come. */
  readonly #known = new Map<string, SpanContext>();

  constructor(tracer: Tracer, around: Context) {
    this.#tracer = tracer;
    this.#around = around;
  }

  apply(change: SpanChange): void {
    switch (change.kind) {
      case 'start':
        return this.#start(change);
      case 'set':
        this.#open.get(change.id)?.setAttributes(toAttributes(change.attributes));
        return;
      case 'end': {
        const span = this.#open.get(change.id);
        this.#open.delete(change.id);
        span?.setAttributes(toAttributes(change.attributes));
        if (change.error !== undefined) span?.setStatus({ code: SpanStatusCode.ERROR, message: change.error });
        span?.end(toTime(change.at));
        return;
      }
      default:
        assertNever(change, 'the change of a span');
    }
  }

  #start({ id, parent, name, role, at, attributes, links }: SpanStart): void {
    // Another prompt begins, and nothing speaks of the last one any more.
    if (parent === undefined) this.#known.clear();
    const outer = parent === undefined ? undefined : this.#known.get(parent);
    const span = this.#tracer.startSpan(
      name,
      {
        kind: role === 'client' ? SpanKind.CLIENT : SpanKind.INTERNAL,
        startTime: toTime(at),
        attributes: toAttributes(attributes),
        links: links.flatMap(({ to, attributes: more }): Link[] => {
          const target = this.#known.get(to);
          return target === undefined ? [] : [{ context: target, attributes: toAttributes(more) }];
        }),
      },
      outer === undefined ? this.#around : trace.setSpanContext(this.#around, outer),
    );
    this.#open.set(id, span);
    this.#known.set(id, span.spanContext());
  }
}

function toAttributes(attributes: SpanAttributes): Attributes {
  const entries = Object.entries(attributes);
  return Object.fromEntries(entries.map(([name, value]) => [name, typeof value === 'object' ? [...value] : value]));
}

/** As a pair: a plain number is taken for the time since the start of the process where it is small enough. */
function toTime(ms: number): HrTime {
  const seconds = Math.floor(ms / 1_000);
  return [seconds, Math.round((ms - seconds * 1_000) * 1_000_000)];
}
