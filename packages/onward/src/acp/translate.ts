import type { ContentBlock, SessionUpdate } from '@agentclientprotocol/sdk';
import type { AgentEvent, LiveEvent, SessionEvent, UserContent } from '../agent/index.ts';
import { assertNever } from '../kernel/error.ts';
import type { Json } from '../kernel/json.ts';
import { type CallRef, describeCall, describeOutcome, diffOf, toolCallId } from './describe-call.ts';
import { noticeOf } from './notice.ts';
import { planEntries, planTool } from './plan-entries.ts';
import { contentBlocks } from './prompt-content.ts';

/** How a session is shown. */
export interface TranslatorOptions {
  readonly cwd: string;
  /** The client shows notices. */
  readonly notices: boolean;
}

/** A question that a call waits for. */
export interface OpenQuestion {
  readonly call: CallRef;
  readonly question: string;
}

type Of<Type extends SessionEvent['type']> = Extract<SessionEvent, { readonly type: Type }>;
type Part = Of<'block.closed'>['data']['part'];

/** What is known of a call. */
interface Call {
  readonly ref: CallRef;
  readonly tool: string;
  readonly input: Json;
  running: boolean;
}

/**
 * Turns the events of a session into updates of ACP, the same for what is live and for a replay: text when its answer is
 * complete and durable, thinking and calls as they come. A failed attempt leaves no text; its retry turn is a turn like any.
 */
export class Translator {
  readonly #options: TranslatorOptions;
  readonly #accepted = new Map<string, { readonly content: UserContent; readonly fromPerson: boolean }>();
  /** Prompts by the chain of turns that they opened. */
  readonly #prompts = new Map<number, string>();
  #turn: { readonly turn: number; readonly chain: number } | undefined;
  /** Closed blocks of the step under way. */
  #blocks: { readonly block: number; readonly part: Part }[] = [];
  /** Calls that the client has heard of and that have not ended. */
  readonly #calls = new Map<string, Call>();
  readonly #questions = new Map<string, OpenQuestion>();
  /** Prompts that the client itself has sent, and shows. */
  readonly #own = new Set<string>();

  constructor(options: TranslatorOptions) {
    this.#options = options;
  }

  /** The prompt whose turn is under way. */
  get prompt(): string | undefined {
    return this.#turn === undefined ? undefined : this.#prompts.get(this.#turn.chain);
  }

  /** Questions that calls of the turn under way wait for. */
  get questions(): readonly OpenQuestion[] {
    return [...this.#questions.values()];
  }

  /** The client has sent this prompt: it is not told to it again when its turn begins. */
  sent(prompt: string): void {
    this.#own.add(prompt);
  }

  /** What the client is told of an event that happens now. */
  live(event: AgentEvent): readonly SessionUpdate[] {
    if (!('position' in event)) return this.#live(event);
    return this.#durable(event, false);
  }

  /** What the client is told of an event of the past: thinking, too, but no notices. */
  replay(event: SessionEvent): readonly SessionUpdate[] {
    return this.#durable(event, true);
  }

  /** Ends of the calls that are under way, for a prompt that the client no longer waits for. */
  abandon(): readonly SessionUpdate[] {
    const updates = [...this.#calls.values()].map(({ ref }) => ({
      sessionUpdate: 'tool_call_update' as const,
      ...describeOutcome(ref, { ok: false, code: 'aborted', message: 'The prompt was cancelled.' }),
    }));
    this.#calls.clear();
    return updates;
  }

  #live(event: LiveEvent): readonly SessionUpdate[] {
    if (event.type === 'live.delta' && event.kind === 'thinking')
      return [thought(event.text, `${event.turn}.${event.step}.thinking`)];
    if (event.type === 'live.call' && event.state === 'started') {
      return [...this.#announce(event, event), ...this.#progress(event)];
    }
    return [];
  }

  #durable(event: SessionEvent, past: boolean): readonly SessionUpdate[] {
    switch (event.type) {
      case 'message.accepted': {
        const { id, kind, content, from } = event.data;
        this.#accepted.set(id, { content, fromPerson: from === undefined && kind !== 'context' });
        return [];
      }
      case 'message.dropped':
        for (const id of event.data.ids) this.#accepted.delete(id);
        return [];
      case 'input.committed':
        return event.data.items.flatMap((committed) => this.#commit(committed));
      case 'turn.opened': {
        const { turn, chain, trigger } = event.data;
        if (trigger.kind === 'prompt') this.#prompts.set(chain, trigger.id);
        this.#turn = { turn, chain };
        return [];
      }
      case 'block.closed':
        this.#blocks.push(event.data);
        return [];
      case 'answer.completed':
        return this.#answer(event, past);
      case 'answer.interrupted':
        return event.data.parts.flatMap((part) => this.#part(event.data, part, past));
      case 'call.waiting': {
        const { turn, step, id, question } = event.data;
        this.#questions.set(toolCallId(event.data), { call: { turn, step, id }, question });
        return [];
      }
      case 'call.started':
        return this.#progress(event.data);
      case 'call.finished':
        return this.#finish(event);
      case 'step.closed':
        this.#blocks = [];
        this.#questions.clear();
        return this.#notice(event, past);
      case 'turn.closed':
        this.#turn = undefined;
        return [];
      case 'history.replaced':
      case 'plugin.recorded':
        return this.#notice(event, past);
      case 'session.created':
      case 'step.opened':
      case 'header.set':
      case 'cancel.requested':
      case 'aside.finished':
        return [];
      default:
        return assertNever(event, 'an event of a session');
    }
  }

  #commit(committed: Of<'input.committed'>['data']['items'][number]): readonly SessionUpdate[] {
    const { id, content } = committed;
    const message = this.#accepted.get(id);
    this.#accepted.delete(id);
    if (message?.fromPerson !== true || this.#own.has(id)) return [];
    return contentBlocks(content ?? message.content).map((block) => ({
      sessionUpdate: 'user_message_chunk',
      messageId: id,
      content: block,
    }));
  }

  #answer(event: Of<'answer.completed'>, past: boolean): readonly SessionUpdate[] {
    const blocks = this.#blocks.toSorted((a, b) => a.block - b.block);
    this.#blocks = [];
    return blocks.flatMap(({ part }) => this.#part(event.data, part, past));
  }

  #part(at: Omit<CallRef, 'id'>, part: Part, past: boolean): readonly SessionUpdate[] {
    const messageId = `${at.turn}.${at.step}`;
    if (part.type === 'text') {
      return [{ sessionUpdate: 'agent_message_chunk', messageId, content: { type: 'text', text: part.text } }];
    }
    // Live, its deltas were sent.
    if (part.type === 'thinking') return past && part.text !== '' ? [thought(part.text, `${messageId}.thinking`)] : [];
    const { turn, step } = at;
    return this.#announce({ turn, step, id: part.id }, part);
  }

  #announce(at: CallRef, call: { readonly tool: string; readonly input: Json }): readonly SessionUpdate[] {
    const ref = { turn: at.turn, step: at.step, id: at.id };
    const id = toolCallId(ref);
    if (this.#calls.has(id)) return [];
    const { tool, input } = call;
    this.#calls.set(id, { ref, tool, input, running: false });
    const announced: SessionUpdate = { sessionUpdate: 'tool_call', ...describeCall(ref, call, this.#options.cwd) };
    return tool === planTool ? [announced, plan(input, 'pending')] : [announced];
  }

  #progress(ref: CallRef): readonly SessionUpdate[] {
    const id = toolCallId(ref);
    this.#questions.delete(id);
    const call = this.#calls.get(id);
    if (call === undefined || call.running) return [];
    call.running = true;
    return [{ sessionUpdate: 'tool_call_update', toolCallId: id, status: 'in_progress' }];
  }

  #finish({ data }: Of<'call.finished'>): readonly SessionUpdate[] {
    const id = toolCallId(data);
    const call = this.#calls.get(id);
    this.#calls.delete(id);
    this.#questions.delete(id);
    // One that was abandoned: the client knows it as ended.
    if (call === undefined) return [];
    const keep = diffOf(call, this.#options.cwd) !== undefined;
    const ended: SessionUpdate = {
      sessionUpdate: 'tool_call_update',
      ...describeOutcome(call.ref, data.outcome, keep),
    };
    if (call.tool !== planTool) return [ended];
    return [ended, data.outcome.ok ? plan(call.input, 'in_progress') : { sessionUpdate: 'plan', entries: [] }];
  }

  #notice(event: SessionEvent, past: boolean): readonly SessionUpdate[] {
    const notice = past || !this.#options.notices ? undefined : noticeOf(event);
    return notice === undefined ? [] : [{ sessionUpdate: 'notice', ...notice }];
  }
}

function thought(text: string, messageId: string): SessionUpdate {
  const content: ContentBlock = { type: 'text', text };
  return { sessionUpdate: 'agent_thought_chunk', messageId, content };
}

function plan(input: Json, status: 'pending' | 'in_progress'): SessionUpdate {
  return { sessionUpdate: 'plan', entries: planEntries(input, status) };
}
