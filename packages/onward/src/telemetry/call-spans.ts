import type { CallOutcome } from '../agent/index.ts';
import { toolAttributes } from './gen-ai-attributes.ts';
import { safeWord } from './safe-text.ts';
import type { SpanAttributes, SpanChange, SpanEnd } from './span-change.ts';

interface Call {
  readonly tool: string;
  /** When the model had asked for it. */
  askedAt?: number;
  question?: string;
  begun: boolean;
}

/** The spans of the calls of one request. Only what an answer asked for completely is a call. */
export class CallSpans {
  readonly #request: string;
  readonly #at: string;
  readonly #base: SpanAttributes;
  readonly #calls = new Map<string, Call>();

  constructor(request: string, at: string, base: SpanAttributes) {
    this.#request = request;
    this.#at = at;
    this.#base = base;
  }

  /** A call was read; it counts when the answer is complete. */
  read(id: string, tool: string): void {
    this.#calls.set(id, { tool, begun: false });
  }

  answered(at: number): void {
    for (const call of this.#calls.values()) call.askedAt = at;
  }

  waits(id: string, question: string): void {
    const call = this.#calls.get(id);
    if (call !== undefined) call.question = question;
  }

  /** The body begins: without this record (no effect, no question) it began when it was asked for. */
  started(id: string, at: number): readonly SpanChange[] {
    const call = this.#calls.get(id);
    return call === undefined || call.begun ? [] : [this.#begin(id, call, at)];
  }

  finished(id: string, outcome: CallOutcome, at: number): readonly SpanChange[] {
    const call = this.#calls.get(id);
    if (call === undefined) return [];
    const begin = call.begun ? [] : [this.#begin(id, call, call.askedAt ?? at)];
    this.#calls.delete(id);
    return [...begin, { kind: 'end', id: this.#span(id), at, ...endOf(outcome) }];
  }

  /** Calls that nothing more is heard of. */
  unfinished(at: number, attributes: SpanAttributes): readonly SpanChange[] {
    return [...this.#calls].flatMap(([id, call]) => {
      if (!call.begun && call.askedAt === undefined) return [];
      const begin = call.begun ? [] : [this.#begin(id, call, call.askedAt ?? at)];
      return [...begin, { kind: 'end', id: this.#span(id), at, attributes } as const];
    });
  }

  #span(id: string): string {
    return `call ${this.#at} ${id}`;
  }

  #begin(id: string, call: Call, at: number): SpanChange {
    call.begun = true;
    const { tool } = call;
    const question = safeWord(call.question);
    return {
      kind: 'start',
      id: this.#span(id),
      parent: this.#request,
      name: `execute_tool ${safeWord(tool) ?? 'unknown'}`,
      role: 'internal',
      at,
      attributes: {
        ...toolAttributes(tool, id),
        ...this.#base,
        ...(question === undefined ? {} : { 'onward.question': question }),
      },
      links: [],
    };
  }
}

function endOf(outcome: CallOutcome): SpanEnd {
  if (!outcome.ok)
    return { attributes: { 'onward.tool.outcome': outcome.code, 'error.type': outcome.code }, error: outcome.code };
  const repeated = outcome.repeated === true ? { 'onward.tool.repeated': true } : {};
  return { attributes: { 'onward.tool.outcome': 'ok', ...repeated } };
}
