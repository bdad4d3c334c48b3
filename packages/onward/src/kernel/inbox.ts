import type { NewEvent } from './envelope.ts';
import type { Append } from './journal.ts';

const PREFIX = 'inbox:';

/** A message to an inbox: an event with an identity, so that the same one sent twice is there once. */
export type Message = NewEvent & { readonly id: string };

/** The stream that anyone may put messages for `key` into; `key` names the stream of the work that reads them. */
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
export function messageTo(key: string, message: Message, now: number): Append {
  return { stream: inboxOf(key), expected: 'any', events: [message], due: now };
}

/** The message by which work is asked to end: `cancel.requested` v1, with the request's id as its identity. */
export function cancelMessage(request: { readonly id: string; readonly cause: string }): Message {
  return { type: 'cancel.requested', v: 1, id: request.id, data: { cause: request.cause } };
}

/** The message that a question has its answer: `answer.given` v1. It wakes the work; the answer lies with the question. */
export function answerMessage(question: string): Message {
  return { type: 'answer.given', v: 1, id: `answer:${question}`, data: { question } };
}
