import fc from 'fast-check';
import {
  type CallOutcome,
  type SessionEvent,
  sessionEvent,
  type SessionEventData,
  type SessionEventType,
  sessionStream,
  type TurnEnd,
} from '../../../src/agent/session-events.ts';
import { assertNever } from '../../../src/kernel/error.ts';

/** How the last request of a turn ends. Only `failed` can be followed by a retry turn. */
export type Play = 'answer' | 'calls' | 'failed' | 'aborted' | 'crash' | 'max-tokens';

/** One prompt: the plays of its turns in order, all but the last of them failed and retried. */
export interface PromptPlan {
  readonly plays: readonly Play[];
  /** Another prompt is queued while this one runs, and dropped. */
  readonly drops: boolean;
  readonly compacts: boolean;
}

/** Writes the log of a session as the loop would. */
export class LogWriter {
  readonly events: SessionEvent[] = [];
  #turn = 0;
  #message = 0;

  add<Type extends SessionEventType>(type: Type, data: SessionEventData[Type]): void {
    const position = this.events.length + 1;
    const event = { ...sessionEvent(type, data), stream: sessionStream('s'), position, at: position, epoch: 1 };
    this.events.push(event);
  }

  accept(text: string): string {
    this.#message += 1;
    const id = `m${this.#message}`;
    this.add('message.accepted', { id, kind: 'prompt', content: [{ type: 'text', text }] });
    return id;
  }

  /** Returns the number of the chain. */
  prompt(plan: PromptPlan): number {
    const id = this.accept('do it');
    const chain = this.#turn + 1;
    for (const [index, play] of plan.plays.entries()) {
      const turn = (this.#turn += 1);
      const trigger = index === 0 ? ({ kind: 'prompt', id } as const) : ({ kind: 'retry', of: turn - 1 } as const);
      this.add('turn.opened', { turn, chain, trigger });
      if (index === 0) this.add('input.committed', { items: [{ id }] });
      const later = plan.drops ? this.accept('never mind') : undefined;
      if (play === 'calls') this.calls(turn, 1);
      this.attempt(turn, play === 'calls' ? 2 : 1, play);
      if (plan.compacts)
        this.add('history.replaced', {
          generation: turn,
          from: 0,
          to: 1,
          messages: [],
          by: 'compaction',
          because: 'pressure',
        });
      if (later !== undefined) this.add('message.dropped', { ids: [later], because: 'cancelled: user' });
      const retried = index < plan.plays.length - 1;
      if (retried)
        this.add('plugin.recorded', {
          turn,
          step: 1,
          plugin: 'llm-retry',
          kind: 'retry.scheduled',
          data: { n: index },
        });
      this.add('turn.closed', { turn, chain, end: endOf(play, turn) });
    }
    return chain;
  }

  attempt(turn: number, step: number, play: Play): void {
    const at = { turn, step };
    this.add('step.opened', { ...at, model: 'm', messages: 1, generation: 0 });
    this.add('block.closed', { ...at, block: 0, part: { type: 'text', text: `text ${turn}.${step}` } });
    if (play === 'answer' || play === 'calls' || play === 'max-tokens')
      this.add('answer.completed', { ...at, blocks: 1, finish: play === 'max-tokens' ? 'length' : 'stop' });
    if (play === 'aborted')
      this.add('answer.interrupted', { ...at, parts: [{ type: 'text', text: `text ${turn}.${step} and a b` }] });
    const failure = { message: `failure ${turn}` };
    this.add('step.closed', {
      ...at,
      outcome: outcomes[play] ?? 'completed',
      ...(play === 'failed' ? { failure } : {}),
    });
  }

  calls(turn: number, step: number, outcome: CallOutcome = { ok: true, output: 'x' }): void {
    const at = { turn, step };
    this.add('step.opened', { ...at, model: 'm', messages: 1, generation: 0 });
    this.add('block.closed', { ...at, block: 0, part: { type: 'call', id: 'c1', tool: 'write', input: { a: 1 } } });
    this.add('answer.completed', { ...at, blocks: 1, finish: 'calls' });
    this.add('call.waiting', { ...at, id: 'c1', question: 'q1' });
    this.add('call.started', { ...at, id: 'c1' });
    this.add('call.finished', { ...at, id: 'c1', outcome });
    this.add('step.closed', { ...at, outcome: 'completed' });
  }
}

const outcomes: { readonly [play in Play]?: 'failed' | 'aborted' | 'interrupted' } = {
  failed: 'failed',
  aborted: 'aborted',
  crash: 'interrupted',
};

function endOf(play: Play, turn: number): TurnEnd {
  switch (play) {
    case 'answer':
    case 'calls':
      return { reason: 'completed' };
    case 'max-tokens':
      return { reason: 'max-tokens' };
    case 'aborted':
      return { reason: 'aborted', cause: 'user' };
    case 'crash':
      return { reason: 'interrupted' };
    case 'failed':
      return { reason: 'failed', failure: { message: `failure ${turn}` }, class: 'transient', rule: 'test/1:rule' };
    default:
      return assertNever(play, 'a play');
  }
}

const last = fc.constantFrom<Play>('answer', 'calls', 'failed', 'aborted', 'crash', 'max-tokens');

/** Any prompt. */
export const anyPrompt: fc.Arbitrary<PromptPlan> = fc
  .record({ retries: fc.nat(3), last, drops: fc.boolean(), compacts: fc.boolean() })
  .map(({ retries, last: end, drops, compacts }) => ({
    plays: [...Array.from({ length: retries }, () => 'failed' as const), end],
    drops,
    compacts,
  }));

/** The log of any few prompts. */
export const anyLog: fc.Arbitrary<readonly SessionEvent[]> = fc
  .array(anyPrompt, { minLength: 1, maxLength: 4 })
  .map((plans) => {
    const writer = new LogWriter();
    writer.add('session.created', { name: '' });
    for (const plan of plans) writer.prompt(plan);
    return writer.events;
  });
