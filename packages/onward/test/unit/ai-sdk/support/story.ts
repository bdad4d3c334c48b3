import type { AgentEvent } from '../../../../src/agent/agent-api.ts';
import {
  type CallOutcome,
  sessionEvent,
  type SessionEventData,
  type TurnEnd,
} from '../../../../src/agent/session-events.ts';
import type { Failure } from '../../../../src/kernel/failure.ts';
import type { Json } from '../../../../src/kernel/json.ts';

export const overloaded: Failure = { message: 'Overloaded', type: 'overloaded_error', status: 529 };
export const completed: TurnEnd = { reason: 'completed' };
export const failed: TurnEnd = {
  reason: 'failed',
  failure: overloaded,
  class: 'transient',
  rule: 'kernel/1:overloaded',
};

/** Writes the events of a session by hand, in the order in which a reader gets them. */
export class Story {
  readonly events: AgentEvent[] = [];
  #position = 0;
  #turn = 0;
  #chain = 0;
  #step = 0;
  #block = 0;
  #n = 0;

  #add<Type extends keyof SessionEventData>(type: Type, data: SessionEventData[Type]): this {
    this.#position += 1;
    this.events.push({ ...sessionEvent(type, data), position: this.#position, at: 1_000 } as unknown as AgentEvent);
    return this;
  }

  prompt(): this {
    this.#turn += 1;
    this.#chain = this.#turn;
    this.#step = 0;
    return this.#add('turn.opened', { turn: this.#turn, chain: this.#chain, trigger: { kind: 'prompt', id: 'p' } });
  }

  retry(): this {
    const of = this.#turn;
    this.#turn += 1;
    this.#step = 0;
    return this.#add('turn.opened', { turn: this.#turn, chain: this.#chain, trigger: { kind: 'retry', of } });
  }

  step(): this {
    this.#step += 1;
    this.#block = 0;
    this.#n = 0;
    return this.#add('step.opened', { ...this.#at(), model: 'lab/lab', messages: 1, generation: 0 });
  }

  /** Live pieces of the block that comes next. */
  live(text: string, kind: 'text' | 'thinking' = 'text', first?: number): this {
    this.#n += 1;
    this.events.push({
      type: 'live.delta',
      ...this.#at(),
      block: this.#block,
      kind,
      n: this.#n,
      text,
      ...(first === undefined ? {} : { first }),
    });
    return this;
  }

  /** Deltas that this reader was too late for. */
  missed(count: number): this {
    this.#n += count;
    return this;
  }

  block(text: string, type: 'text' | 'thinking' = 'text'): this {
    this.#add('block.closed', { ...this.#at(), block: this.#block, part: { type, text } });
    this.#block += 1;
    return this;
  }

  call(id: string, input: Json = { command: 'x' }): this {
    this.#add('block.closed', { ...this.#at(), block: this.#block, part: { type: 'call', id, tool: 'bash', input } });
    this.#block += 1;
    return this;
  }

  answered(): this {
    return this.#add('answer.completed', { ...this.#at(), blocks: this.#block, finish: 'stop' });
  }

  interrupted(...texts: readonly string[]): this {
    return this.#add('answer.interrupted', { ...this.#at(), parts: texts.map((text) => ({ type: 'text', text })) });
  }

  waiting(id: string, question: string): this {
    return this.#add('call.waiting', { ...this.#at(), id, question });
  }

  result(id: string, outcome: CallOutcome = { ok: true, output: 'done' }): this {
    return this.#add('call.finished', { ...this.#at(), id, outcome });
  }

  scheduled(delayMs: number): this {
    const data = { delayMs, retry: 1, max: 5 };
    return this.#add('plugin.recorded', { ...this.#at(), plugin: 'llm-retry', kind: 'retry.scheduled', data });
  }

  closeStep(outcome: SessionEventData['step.closed']['outcome'] = 'completed'): this {
    return this.#add('step.closed', {
      ...this.#at(),
      outcome,
      ...(outcome === 'failed' ? { failure: overloaded } : {}),
    });
  }

  closeTurn(end: TurnEnd): this {
    return this.#add('turn.closed', { turn: this.#turn, chain: this.#chain, end });
  }

  #at(): { turn: number; step: number } {
    return { turn: this.#turn, step: this.#step };
  }
}

/** The events as a session gives them to whoever asks from a position on: what is live is gone for those who come later. */
export async function* eventsAfter(events: readonly AgentEvent[], after: number): AsyncGenerator<AgentEvent> {
  for (const event of events) {
    if ('position' in event && event.position > after) yield event;
    else if (!('position' in event) && after === 0) yield event;
  }
}
