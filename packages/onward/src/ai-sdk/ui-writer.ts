import type { AgentEvent, CallOutcome, SessionEvent, SessionEventData, TurnEnd } from '../agent/index.ts';
import { assertNever } from '../kernel/error.ts';
import type { UIChunk, UIEnd, UIPlace, UIRetry } from './ui-chunk.ts';
import { UIStep } from './ui-step.ts';

/** How a message is written. */
export interface UIWriterOptions {
  /** Default `turn-<n>`, after the turn that the prompt opened: the same each time the message is streamed. */
  readonly messageId?: string;
  /** Goes on where a message that the reader already has stops; see `resumeOf()`. Default: from its beginning. */
  readonly resume?: UIPlace;
  /** Ends the stream at a question, so that the reader can answer it. Default true. */
  readonly endAtQuestion?: boolean;
  /** The sentence of an `error` chunk. Default: class and message of the failure. */
  readonly errorText?: (end: Extract<UIEnd, { readonly reason: 'failed' }>) => string;
}

/** Turns the events of one prompt into the chunks of one message. Pure but for its own state. */
export class UIWriter {
  readonly #options: UIWriterOptions;
  /** True once nothing more is to be read. */
  over = false;
  #started: boolean;
  #place: UIPlace;
  #chain = 0;
  #failures = 0;
  #lastFailure = '';
  #step: UIStep | undefined;
  #turnOpen = false;
  #end: TurnEnd | undefined;
  readonly #ids = new Map<string, string>();
  readonly #usedIds = new Set<string>();
  readonly #asked = new Set<string>();

  constructor(options: UIWriterOptions) {
    this.#options = options;
    this.#started = options.resume !== undefined;
    this.#place = options.resume ?? { after: 0, open: false };
  }

  /** What comes before any event. */
  begin(): readonly UIChunk[] {
    return this.#options.resume?.open === true ? [{ type: 'reset-step' }] : [];
  }

  /** The chunks for one event. */
  push(event: AgentEvent): readonly UIChunk[] {
    return this.#isKnown(event) ? [] : this.#write(event);
  }

  /** Whoever reads from the beginning is given the rest all the same, and how the part before it ended. */
  #isKnown(event: AgentEvent): boolean {
    const { resume } = this.#options;
    if (resume === undefined || !('position' in event) || event.position > resume.after) return false;
    if (event.type === 'turn.closed') this.#end = event.data.end;
    return true;
  }

  #write(event: AgentEvent): readonly UIChunk[] {
    switch (event.type) {
      case 'live.delta':
        return this.#step?.delta(event) ?? [];
      case 'live.status':
        return [];
      case 'turn.opened':
        return this.#turnOpened(event.data);
      case 'step.opened':
        return this.#stepOpened(event.data);
      case 'block.closed':
        return this.#step?.close(event.data.block, event.data.part) ?? [];
      case 'answer.completed':
        return this.#answered();
      case 'answer.interrupted':
        return this.#step?.interrupt(event.data.parts) ?? [];
      case 'call.waiting':
        return this.#waits(event.data);
      case 'call.finished':
        return this.#called(event.data.id, event.data.outcome);
      case 'step.closed':
        return this.#stepClosed(event);
      case 'turn.closed':
        this.#turnOpen = false;
        this.#end = event.data.end;
        return [this.#placed(event.position, false)];
      case 'session.created':
      case 'message.accepted':
      case 'message.dropped':
      case 'input.committed':
      case 'header.set':
      case 'call.started':
      case 'history.replaced':
      case 'cancel.requested':
      case 'aside.finished':
      case 'live.call':
        return [];
      case 'plugin.recorded':
        return this.#recorded(event);
      default:
        return assertNever(event, 'the UI message stream');
    }
  }

  /** What comes after the last event. */
  end(): readonly UIChunk[] {
    if (this.over) return [];
    this.over = true;
    const end: TurnEnd | undefined = this.#turnOpen ? { reason: 'interrupted' } : this.#end;
    // There was nothing more to tell, not even how it ended.
    const none: UIChunk = { type: 'finish', messageMetadata: { onward: this.#place } };
    return [...this.#start(), ...(end === undefined ? [none] : this.#ended(end))];
  }

  #start(): readonly UIChunk[] {
    if (this.#started) return [];
    this.#started = true;
    const messageId = this.#options.messageId ?? `turn-${this.#chain}`;
    return [{ type: 'start', messageId, messageMetadata: { onward: this.#place } }];
  }

  #turnOpened({ chain, trigger }: SessionEventData['turn.opened']): readonly UIChunk[] {
    this.#turnOpen = true;
    this.#chain = chain;
    return trigger.kind === 'retry' && this.#failures > 0 ? [...this.#start(), this.#retry('retrying')] : this.#start();
  }

  #stepOpened({ turn, step }: SessionEventData['step.opened']): readonly UIChunk[] {
    this.#turnOpen = true;
    this.#step = new UIStep(turn, step);
    return [...this.#start(), { type: 'start-step' }, this.#placed(this.#place.after, true)];
  }

  #answered(): readonly UIChunk[] {
    const step = this.#step;
    if (step === undefined) return [];
    step.settled = true;
    return step.calls.map(({ id, tool, input }) => {
      // Ids are unique in their answer only; a message has many answers.
      const toolCallId = this.#usedIds.has(id) ? `${id}-${step.turn}.${step.step}` : id;
      this.#usedIds.add(id);
      this.#ids.set(id, toolCallId);
      return { type: 'tool-input-available', toolCallId, toolName: tool, input };
    });
  }

  #waits({ id, question }: SessionEventData['call.waiting']): readonly UIChunk[] {
    if (question === this.#options.resume?.question) return [];
    this.#asked.add(id);
    const toolCallId = this.#ids.get(id) ?? id;
    const ask: UIChunk = { type: 'tool-approval-request', toolCallId, approvalId: question };
    if (this.#options.endAtQuestion === false) return [ask];
    this.over = true;
    this.#place = { ...this.#place, question };
    return [ask, { type: 'finish', finishReason: 'tool-calls', messageMetadata: { onward: this.#place } }];
  }

  #called(id: string, outcome: CallOutcome): readonly UIChunk[] {
    const toolCallId = this.#ids.get(id) ?? id;
    if (outcome.ok) return [{ type: 'tool-output-available', toolCallId, output: outcome.output }];
    if (outcome.code === 'denied' && this.#asked.has(id)) return [{ type: 'tool-output-denied', toolCallId }];
    return [{ type: 'tool-output-error', toolCallId, errorText: `${outcome.code}: ${outcome.message}` }];
  }

  /** An attempt that did not become part of the history is taken back, as if it had never been shown. */
  #stepClosed({ data, position }: Extract<SessionEvent, { readonly type: 'step.closed' }>): readonly UIChunk[] {
    const kept = this.#step?.settled === true;
    this.#step = undefined;
    const chunks: UIChunk[] = kept ? [] : [{ type: 'reset-step' }];
    if (data.outcome === 'failed') {
      this.#failures += 1;
      this.#lastFailure = data.failure?.message ?? 'The request failed.';
      chunks.push(this.#retry('failed'));
    }
    return [...chunks, { type: 'finish-step' }, this.#placed(position, false)];
  }

  /** The wait before a retry, as the plugin that retries puts it on record. */
  #recorded({
    data: { plugin, kind, data },
    at,
  }: Extract<SessionEvent, { readonly type: 'plugin.recorded' }>): readonly UIChunk[] {
    if (plugin !== 'llm-retry' || kind !== 'retry.scheduled' || this.#failures === 0) return [];
    const {
      delayMs,
      retry,
      max: of,
    } = data as { readonly delayMs: number; readonly retry: number; readonly max: number };
    return [this.#retry('waiting', { at: at + delayMs, retry, of })];
  }

  #retry(state: UIRetry['state'], wait: Pick<UIRetry, 'at' | 'retry' | 'of'> = {}): UIChunk {
    const data = { failures: this.#failures, state, message: this.#lastFailure, ...wait };
    return { type: 'data-onward-retry', id: `retry-${this.#chain}`, data };
  }

  #placed(after: number, open: boolean): UIChunk {
    this.#place = { after, open };
    return { type: 'message-metadata', messageMetadata: { onward: this.#place } };
  }

  #ended(end: TurnEnd): readonly UIChunk[] {
    const messageMetadata = { onward: this.#place };
    const told = (data: UIEnd): UIChunk => ({ type: 'data-onward-end', id: `end-${this.#chain}`, data });
    switch (end.reason) {
      case 'completed':
        return [{ type: 'finish', finishReason: 'stop', messageMetadata }];
      case 'max-tokens':
        return [{ type: 'finish', finishReason: 'length', messageMetadata }];
      case 'aborted':
      case 'disposed':
        return [{ type: 'abort', reason: end.cause }];
      case 'interrupted':
        return [told({ reason: 'interrupted' }), { type: 'finish', finishReason: 'interrupted', messageMetadata }];
      case 'limit': {
        const { unit, limit } = end;
        return [told({ reason: 'limit', unit, limit }), { type: 'finish', finishReason: 'other', messageMetadata }];
      }
      case 'failed': {
        const { failure, class: kind, retryAt } = end;
        const data = {
          reason: 'failed',
          class: kind,
          message: failure.message,
          ...(retryAt === undefined ? {} : { retryAt }),
        } as const;
        const errorText = this.#options.errorText?.(data) ?? `The request failed (${kind}): ${failure.message}`;
        return [told(data), { type: 'error', errorText }, { type: 'finish', finishReason: 'error', messageMetadata }];
      }
      default:
        return assertNever(end, 'the UI message stream');
    }
  }
}
