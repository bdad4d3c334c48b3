import type { AgentEvent, Header, SessionEvent, TurnEnd } from '../agent/index.ts';
import { assertNever } from '../kernel/error.ts';
import { endOfFailure, factsOf } from './failure-facts.ts';
import { chatAttributes, chatName, usageAttributes } from './gen-ai-attributes.ts';
import { OpenRequest } from './open-request.ts';
import { type FailedTurn, type PlannedRetry, plannedRetry, retryAttributes } from './retry-attributes.ts';
import { safeLabel, safeWord } from './safe-text.ts';
import type { SpanAttributes, SpanChange, SpanLink } from './span-change.ts';
import { endOfTurn } from './turn-end.ts';

type Of<Type extends SessionEvent['type']> = Extract<SessionEvent, { readonly type: Type }>;

/** A prompt with all its turns. */
interface Chain {
  readonly root: number;
  readonly span: string;
  /** Number of its newest turn, from 1. */
  attempt: number;
  /** How its newest turn ended, while a retry may follow; nothing while a turn runs, or when the span has ended. */
  closed?: { readonly at: number; readonly end: TurnEnd };
  ended: boolean;
  /** Turns that failed, by number. */
  readonly failed: Map<number, FailedTurn>;
}

interface Turn {
  readonly turn: number;
  readonly span: string;
  readonly base: SpanAttributes;
  /** The failed turn that it repeats. */
  readonly of: number | undefined;
  request?: OpenRequest;
  /** The newest request, open or not. */
  newest?: string;
  planned?: PlannedRetry;
}

/** On spans whose end was never seen. */
const unfinished: SpanAttributes = { 'onward.unfinished': true };

/**
 * Turns the events of one session into the spans that begin and end with them. Events of turns whose opening was not seen are
 * left out. Kept as a class for its private mutable parts; it has no clock and does nothing.
 */
export class SpanFold {
  #chain: Chain | undefined;
  #turn: Turn | undefined;
  #header: Header | undefined;
  #name = '';
  /** The time of the newest event; a clock that was set back must not end a span before it began. */
  #now = 0;

  /** What becomes known by an event. */
  add(event: AgentEvent): readonly SpanChange[] {
    if (event.type === 'live.delta' || event.type === 'live.call') return [];
    if (event.type === 'live.status') {
      const resting = event.status === 'idle' || event.status === 'parked' || event.status === 'disposed';
      return resting && this.#turn === undefined ? this.#settle() : [];
    }
    this.#now = Math.max(this.#now, event.at);
    return this.#apply({ ...event, at: this.#now });
  }

  /** Nothing more is to come: what is open ends where the events do, as neither good nor bad. */
  end(): readonly SpanChange[] {
    const turn = this.#abandonTurn();
    const chain = this.#chain;
    if (chain === undefined || chain.ended || chain.closed !== undefined) return [...turn, ...this.#settle()];
    chain.ended = true;
    return [...turn, { kind: 'end', id: chain.span, at: this.#now, attributes: unfinished }];
  }

  #apply(event: SessionEvent): readonly SpanChange[] {
    switch (event.type) {
      case 'session.created':
        this.#name = safeLabel(event.data.name);
        return [];
      case 'header.set':
        this.#header = event.data;
        return this.#turn?.request?.header(event.data) ?? [];
      case 'turn.opened':
        return this.#openTurn(event);
      case 'step.opened':
        return this.#openRequest(event);
      case 'block.closed':
      case 'answer.completed':
      case 'call.waiting':
      case 'call.started':
      case 'call.finished':
      case 'step.closed':
        return this.#inStep(event);
      case 'plugin.recorded': {
        const planned = plannedRetry(event.data);
        if (planned !== undefined && this.#turn?.turn === event.data.turn) this.#turn.planned = planned;
        return [];
      }
      case 'turn.closed':
        return this.#closeTurn(event);
      case 'aside.finished':
        return this.#aside(event);
      case 'message.accepted':
      case 'message.dropped':
      case 'input.committed':
      case 'answer.interrupted':
      case 'history.replaced':
      case 'cancel.requested':
        return [];
      default:
        return assertNever(event, 'the spans of a session');
    }
  }

  #openTurn(event: Of<'turn.opened'>): readonly SpanChange[] {
    const { at, data } = event;
    const before = [...this.#abandonTurn(), ...(this.#chain?.root === data.chain ? [] : this.#openChain(event))];
    const chain = this.#chain;
    if (chain === undefined) return before;
    chain.attempt += 1;
    delete chain.closed;
    const of = data.trigger.kind === 'retry' ? data.trigger.of : undefined;
    const base = { 'onward.turn': data.turn, 'onward.attempt': chain.attempt };
    const span = turnSpan(data.turn);
    this.#turn = { turn: data.turn, span, base, of };
    const failed = of === undefined ? undefined : chain.failed.get(of);
    const start: SpanChange = {
      kind: 'start',
      id: span,
      parent: chain.span,
      name: 'turn',
      role: 'internal',
      at,
      attributes: { ...base, ...(of === undefined ? {} : retryAttributes(of, failed)) },
      links: of === undefined || failed === undefined ? [] : [linkTo(turnSpan(of))],
    };
    return [...before, start];
  }

  #openChain({ at, stream, data }: Of<'turn.opened'>): readonly SpanChange[] {
    const before = this.end();
    const span = `prompt ${data.chain}`;
    // Whoever begins to read in the middle still numbers right: the turns of a prompt follow each other.
    const attempt = data.turn - data.chain;
    this.#chain = { root: data.chain, span, attempt, ended: false, failed: new Map() };
    const named = this.#name === '' ? {} : { 'gen_ai.agent.name': this.#name };
    const start: SpanChange = {
      kind: 'start',
      id: span,
      name: this.#name === '' ? 'invoke_agent' : `invoke_agent ${this.#name}`,
      role: 'internal',
      at,
      attributes: {
        'gen_ai.operation.name': 'invoke_agent',
        'gen_ai.conversation.id': stream.slice(stream.indexOf(':') + 1),
        ...named,
        'onward.chain': data.chain,
      },
      links: [],
    };
    return [...before, start];
  }

  #openRequest(event: Of<'step.opened'>): readonly SpanChange[] {
    const turn = this.#turn;
    if (turn?.turn !== event.data.turn) return [];
    const lost = turn.request?.unfinished(event.at, unfinished) ?? [];
    // Only the first request of a retry turn repeats one; those after it go on from its answer.
    const of = turn.newest === undefined ? turn.of : undefined;
    const failed = of === undefined ? undefined : this.#chain?.failed.get(of);
    const { span: parent, base } = turn;
    const request = new OpenRequest(event.data, base);
    const own = of === undefined ? {} : retryAttributes(of, failed);
    const links = failed?.request === undefined ? [] : [linkTo(failed.request)];
    turn.request = request;
    turn.newest = request.id;
    return [...lost, request.open(event, { parent, base, own, links, header: this.#header })];
  }

  #inStep(
    event: Of<'block.closed' | 'answer.completed' | 'call.waiting' | 'call.started' | 'call.finished' | 'step.closed'>,
  ): readonly SpanChange[] {
    const turn = this.#turn;
    const request = turn?.request;
    if (turn?.turn !== event.data.turn || request === undefined) return [];
    switch (event.type) {
      case 'block.closed':
        return request.read(event.data.part);
      case 'answer.completed':
        return request.answered(event.data, event.at);
      case 'call.waiting':
        return request.waits(event.data);
      case 'call.started':
        return request.started(event.data.id, event.at);
      case 'call.finished':
        return request.finished(event.data, event.at);
      case 'step.closed':
        delete turn.request;
        return request.closed(event.data, event.at);
      default:
        return assertNever(event, 'the spans of a step');
    }
  }

  #closeTurn({ at, data: { turn: number, end } }: Of<'turn.closed'>): readonly SpanChange[] {
    const [chain, turn] = [this.#chain, this.#turn];
    if (chain === undefined || turn?.turn !== number) return [];
    this.#turn = undefined;
    const lost = turn.request?.unfinished(at, unfinished) ?? [];
    chain.closed = { at, end };
    const scheduled = turn.planned === undefined ? {} : { 'onward.retry.scheduled': true };
    const { attributes, ...more } = endOfTurn(end);
    const closing: SpanChange = {
      kind: 'end',
      id: turn.span,
      at,
      attributes: { ...attributes, ...scheduled },
      ...more,
    };
    if (end.reason !== 'failed') return [...lost, closing, ...this.#settle()];
    // A retry turn may follow, and nothing but its opening says so for certain: the span of the prompt stays open.
    chain.failed.set(number, { facts: factsOf(end.failure, end), planned: turn.planned, request: turn.newest });
    return [...lost, closing];
  }

  /** Ends the span of a prompt whose newest turn is closed, at the time of that. */
  #settle(): readonly SpanChange[] {
    const chain = this.#chain;
    if (chain?.closed === undefined || chain.ended) return [];
    const { at, end } = chain.closed;
    delete chain.closed;
    chain.ended = true;
    const { attributes, ...more } = endOfTurn(end);
    return [
      { kind: 'end', id: chain.span, at, attributes: { ...attributes, 'onward.attempts': chain.attempt }, ...more },
    ];
  }

  #abandonTurn(): readonly SpanChange[] {
    const turn = this.#turn;
    if (turn === undefined) return [];
    this.#turn = undefined;
    const request = turn.request?.unfinished(this.#now, unfinished) ?? [];
    return [...request, { kind: 'end', id: turn.span, at: this.#now, attributes: unfinished }];
  }

  /** Only its end is on record: a span without a length, for what it cost. */
  #aside({ at, position, data }: Of<'aside.finished'>): readonly SpanChange[] {
    const parent = this.#turn?.span ?? this.#chain?.span;
    const id = `aside ${position}`;
    const attributes = {
      ...chatAttributes(data.model),
      'onward.aside.plugin': safeWord(data.plugin) ?? 'unknown',
      'onward.aside.purpose': safeWord(data.purpose) ?? 'unknown',
      ...usageAttributes(data.usage),
    };
    const start: SpanChange = {
      kind: 'start',
      id,
      name: chatName(data.model),
      role: 'client',
      at,
      attributes,
      links: [],
    };
    const failed = endOfFailure(data.failure === undefined ? undefined : factsOf(data.failure));
    return [parent === undefined ? start : { ...start, parent }, { kind: 'end', id, at, ...failed }];
  }
}

function turnSpan(turn: number): string {
  return `turn ${turn}`;
}

function linkTo(to: string): SpanLink {
  return { to, attributes: { 'onward.link': 'retry_of' } };
}
