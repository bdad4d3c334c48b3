import type { Header, SessionEvent, SessionEventData } from '../agent/index.ts';
import { CallSpans } from './call-spans.ts';
import { endOfFailure, factsOf } from './failure-facts.ts';
import { answerAttributes, chatAttributes, chatName, settingAttributes, usageAttributes } from './gen-ai-attributes.ts';
import type { SpanAttributes, SpanChange, SpanLink } from './span-change.ts';

/** Where a request stands. */
export interface RequestPlace {
  /** The span of its turn. */
  readonly parent: string;
  /** What every span of the turn carries. */
  readonly base: SpanAttributes;
  /** What only this request carries: whose repeat it is. */
  readonly own: SpanAttributes;
  readonly links: readonly SpanLink[];
  readonly header: Header | undefined;
}

/**
 * The span of one request and those of the calls that it asked for. It ends with the answer, so that it lasts as long as the
 * provider took; the calls are its children and come after it.
 */
export class OpenRequest {
  readonly id: string;
  readonly #calls: CallSpans;
  #answered = false;

  constructor({ turn, step }: SessionEventData['step.opened'], base: SpanAttributes) {
    const at = `${turn}.${step}`;
    this.id = `request ${at}`;
    this.#calls = new CallSpans(this.id, at, base);
  }

  /** Its beginning. */
  open({ at, data }: Extract<SessionEvent, { readonly type: 'step.opened' }>, place: RequestPlace): SpanChange {
    const { base, own, header } = place;
    return {
      kind: 'start',
      id: this.id,
      parent: place.parent,
      name: chatName(data.model),
      role: 'client',
      at,
      attributes: {
        ...chatAttributes(data.model),
        ...settingAttributes(header),
        ...base,
        'onward.step': data.step,
        ...own,
      },
      links: place.links,
    };
  }

  /** The header of a session is written after the opening of the first request that it holds for. */
  header(header: Header): readonly SpanChange[] {
    const attributes = settingAttributes(header);
    if (this.#answered || Object.keys(attributes).length === 0) return [];
    return [{ kind: 'set', id: this.id, attributes }];
  }

  read(part: SessionEventData['block.closed']['part']): readonly SpanChange[] {
    if (part.type === 'call') this.#calls.read(part.id, part.tool);
    return [];
  }

  answered(data: SessionEventData['answer.completed'], at: number): readonly SpanChange[] {
    this.#answered = true;
    this.#calls.answered(at);
    return [{ kind: 'end', id: this.id, at, attributes: { 'onward.outcome': 'completed', ...answerAttributes(data) } }];
  }

  waits({ id, question }: SessionEventData['call.waiting']): readonly SpanChange[] {
    this.#calls.waits(id, question);
    return [];
  }

  started(id: string, at: number): readonly SpanChange[] {
    return this.#calls.started(id, at);
  }

  finished({ id, outcome }: SessionEventData['call.finished'], at: number): readonly SpanChange[] {
    return this.#calls.finished(id, outcome, at);
  }

  /** Ends the span of a request that got no answer. What comes after an answer is not the request's. */
  closed({ outcome, failure, usage }: SessionEventData['step.closed'], at: number): readonly SpanChange[] {
    if (this.#answered) return [];
    const failed = endOfFailure(failure === undefined ? undefined : factsOf(failure));
    const attributes = { 'onward.outcome': outcome, ...usageAttributes(usage), ...failed.attributes };
    return [{ ...failed, kind: 'end', id: this.id, at, attributes }];
  }

  /** Nothing more is heard of it. */
  unfinished(at: number, attributes: SpanAttributes): readonly SpanChange[] {
    const calls = this.#calls.unfinished(at, attributes);
    return this.#answered ? calls : [...calls, { kind: 'end', id: this.id, at, attributes }];
  }
}
