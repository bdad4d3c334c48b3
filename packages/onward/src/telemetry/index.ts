/** `onward/telemetry`: the events of a session as OpenTelemetry spans, each retry with its number, its cause and its budget. */
export type { SpanAttributes, SpanLink, SpanValue } from './span-change.ts';
export { type SpanDescription, spansOf } from './spans-of.ts';
export { traceSession } from './trace-session.ts';
