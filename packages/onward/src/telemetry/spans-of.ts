import type { AgentEvent } from '../agent/index.ts';
import { assertNever } from '../kernel/error.ts';
import type { SpanAttributes, SpanLink } from './span-change.ts';
import { SpanFold } from './span-fold.ts';

/** A span as a value: what a tracer would be told of it. */
export interface SpanDescription {
  /** Unique in its session, and the same each time its events are read, e.g. `turn 2`. */
  readonly id: string;
  /** Id of the span around it; absent at the top. */
  readonly parent?: string;
  readonly name: string;
  /** `client`: a request to a provider. */
  readonly role: 'internal' | 'client';
  /** ms since the epoch. */
  readonly startedAt: number;
  readonly endedAt: number;
  /** Text of its error status; absent where the status is unset. */
  readonly error?: string;
  readonly attributes: SpanAttributes;
  readonly links: readonly SpanLink[];
}

/**
 * The spans of a session, or of a part of it, in the order in which they begin. Pure. Nothing stays open: what has no end in
 * these events ends with the last one and has `onward.unfinished`.
 */
export function spansOf(events: Iterable<AgentEvent>): readonly SpanDescription[] {
  const fold = new SpanFold();
  const spans = new Map<string, SpanDescription>();
  for (const event of events) for (const change of fold.add(event)) apply(spans, change);
  for (const change of fold.end()) apply(spans, change);
  return [...spans.values()];
}

function apply(spans: Map<string, SpanDescription>, change: ReturnType<SpanFold['add']>[number]): void {
  if (change.kind === 'start') {
    const { kind: _, at, ...start } = change;
    spans.set(change.id, { ...start, startedAt: at, endedAt: at });
    return;
  }
  const span = spans.get(change.id);
  if (span === undefined) return;
  const attributes = { ...span.attributes, ...change.attributes };
  switch (change.kind) {
    case 'set':
      spans.set(change.id, { ...span, attributes });
      return;
    case 'end': {
      const error = change.error === undefined ? {} : { error: change.error };
      spans.set(change.id, { ...span, attributes, endedAt: change.at, ...error });
      return;
    }
    default:
      assertNever(change, 'the change of a span');
  }
}
