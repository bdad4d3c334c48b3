import type { Append } from '../kernel/journal.ts';
import type { NewEvent } from '../kernel/envelope.ts';
import type { CancelRequest } from './engine.ts';

const PREFIX = 'inbox:';

/** The stream that anyone may put messages for `key` into. */
export function inboxOf(key: string): string {
  return `${PREFIX}${key}`;
}

/** The key whose inbox a stream is; `undefined` for a stream that is no inbox. */
export function keyOfInbox(stream: string): string | undefined {
  return stream.startsWith(PREFIX) ? stream.slice(PREFIX.length) : undefined;
}

/**
 * The append that sends a message. It makes the inbox due, so that an engine started later finds the message too; the
 * work clears that (`due: null`, expecting the position it has read) in the append that records what came of the message.
 *
 * @param now wall clock, ms since the epoch
 */
export function messageTo(key: string, message: NewEvent & { readonly id: string }, now: number): Append {
  return { stream: inboxOf(key), expected: 'any', events: [message], due: now };
}

/** The message by which work is asked to end: `cancel.requested` v1, with the request's id as its identity. */
export function cancelMessage(request: CancelRequest): NewEvent & { readonly id: string } {
  return { type: 'cancel.requested', v: 1, id: request.id, data: { cause: request.cause } };
}
