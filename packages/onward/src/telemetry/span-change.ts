/** A value of an attribute, as OpenTelemetry takes it. */
export type SpanValue = string | number | boolean | readonly string[];

/** Attributes by their name. */
export type SpanAttributes = Readonly<Record<string, SpanValue>>;

/** From the span of a repeat to the one that it repeats. */
export interface SpanLink {
  readonly to: string;
  readonly attributes: SpanAttributes;
}

/** What a span is when it begins. Ids are unique in a session and say what the span is of, e.g. `request 2.1`. */
export interface SpanStart {
  readonly id: string;
  readonly parent?: string;
  readonly name: string;
  /** `client`: a request to a provider. */
  readonly role: 'internal' | 'client';
  /** ms since the epoch, as all times here. */
  readonly at: number;
  readonly attributes: SpanAttributes;
  readonly links: readonly SpanLink[];
}

/** How a span ends. `error` is the text of an error status; without it the status stays unset. */
export interface SpanEnd {
  readonly attributes: SpanAttributes;
  readonly error?: string;
}

/** One thing that becomes known of a span. */
export type SpanChange =
  | ({ readonly kind: 'start' } & SpanStart)
  | { readonly kind: 'set'; readonly id: string; readonly attributes: SpanAttributes }
  | ({ readonly kind: 'end'; readonly id: string; readonly at: number } & SpanEnd);
