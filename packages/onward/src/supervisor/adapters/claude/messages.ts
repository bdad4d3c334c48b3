import type { Observation } from '../../adapter.ts';
import { numberAt, shapeAt, shapesAt, type Shape, textAt } from './shape.ts';

/** The model's latest message of the main conversation, as far as it is known. */
interface LastMessage {
  readonly id: string;
  /** True when its beginning was seen as a stream event: then its end must be seen too. */
  readonly streamed: boolean;
  ended: boolean;
  stop: string | undefined;
  /** The CLI has said since its beginning that it repeats a request. */
  repeating: boolean;
}

/** What is remembered of the main conversation's messages. */
export interface Messages {
  last: LastMessage | undefined;
  /** Blocks whose message has not ended yet. */
  held: { readonly messageId: string; readonly id: string; readonly text: string }[];
  readonly blocks: Map<string, number>;
}

/** Nothing seen yet. */
export function noMessages(): Messages {
  return { last: undefined, held: [], blocks: new Map() };
}

/** A raw event of the model's stream: the only direct evidence that a message began and ended. */
export function streamEvent(messages: Messages, event: Shape): readonly Observation[] {
  switch (textAt(event, 'type') ?? '') {
    case 'message_start': {
      const id = textAt(shapeAt(event, 'message'), 'id');
      if (id === undefined) return alive;
      const kept = [...release(messages), ...repeatedUnsaid(messages, 'streamed')];
      messages.last = { id, streamed: true, ended: false, stop: undefined, repeating: false };
      return [...kept, ...alive];
    }
    case 'content_block_delta': {
      const text = textAt(shapeAt(event, 'delta'), 'text');
      return text === undefined ? alive : [{ kind: 'delta', text }];
    }
    case 'message_delta': {
      const stop = textAt(shapeAt(event, 'delta'), 'stop_reason');
      if (messages.last !== undefined && stop !== undefined) messages.last.stop = stop;
      return alive;
    }
    case 'message_stop':
      if (messages.last !== undefined) messages.last.ended = true;
      return [...release(messages), ...alive];
    default:
      return alive;
  }
}

/**
 * The text blocks of an assistant line of the main conversation. The CLI prints a block when the block is complete,
 * before its message is: a block of a streamed message waits for the message's end, or for proof that the CLI kept it.
 */
export function assistantText(messages: Messages, message: Shape): readonly Observation[] {
  const messageId = textAt(message, 'id') ?? '';
  const observations: Observation[] = [];
  if (messages.last?.id !== messageId) {
    observations.push(...release(messages), ...repeatedUnsaid(messages, 'whole'));
    const stop = textAt(message, 'stop_reason');
    messages.last = { id: messageId, streamed: false, ended: true, stop, repeating: false };
  }
  for (const block of shapesAt(message, 'content')) {
    const index = messages.blocks.get(messageId) ?? 0;
    messages.blocks.set(messageId, index + 1);
    const text = textAt(block, 'type') === 'text' ? textAt(block, 'text') : undefined;
    if (text === undefined || text.trim() === '') continue;
    messages.held.push({ messageId, id: `${messageId}/${index}`, text });
  }
  if (messages.last.ended) observations.push(...release(messages));
  return observations;
}

/** The CLI says that it repeats a request. */
export function repeatSaid(messages: Messages): void {
  if (messages.last !== undefined) messages.last.repeating = true;
}

/**
 * The request that an answer came to, when it was a repeat of which the CLI says nothing: the message before began and
 * brought no block. It asks once more without streaming after a cut (measured with 2.1.197: that answer comes as a whole,
 * and only the repeats of that one are said), and once more after an empty answer.
 */
function repeatedUnsaid(messages: Messages, answer: 'streamed' | 'whole'): readonly Observation[] {
  const { last } = messages;
  if (last === undefined || !last.streamed || (messages.blocks.get(last.id) ?? 0) > 0) return [];
  if (last.repeating && answer === 'streamed') return [];
  return [{ kind: 'inner-retry', attempt: 1, category: last.ended ? 'empty-answer' : 'stream-cut' }];
}

/** Hands out what was held back: the conversation went on, so the CLI has kept it. */
export function release(messages: Messages): readonly Observation[] {
  const kept = messages.held.map(({ id, text }): Observation => ({ kind: 'message', id, text }));
  messages.held = [];
  return kept;
}

/** Input tokens that a usage object counts: fresh, written to the cache and read from it. */
export function inputTokensOf(usage: Shape | undefined): number {
  return (
    (numberAt(usage, 'input_tokens') ?? 0) +
    (numberAt(usage, 'cache_creation_input_tokens') ?? 0) +
    (numberAt(usage, 'cache_read_input_tokens') ?? 0)
  );
}

const alive: readonly Observation[] = [{ kind: 'alive' }];
