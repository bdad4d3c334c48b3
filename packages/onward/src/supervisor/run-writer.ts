import type { NewEvent, StoredEvent } from '../kernel/envelope.ts';
import { isOnwardError } from '../kernel/error.ts';
import { inboxOf } from '../kernel/inbox.ts';
import type { Append, BlobRef, Journal, Lease } from '../kernel/journal.ts';
import type { Clock } from '../kernel/ports.ts';
import type { Body } from './run-events.ts';
import { applyRunEvent, type RunState } from './run-state.ts';

/** Another process has claimed the run: whatever this one still wanted to do, it does not do. */
export class LeaseLost extends Error {
  override readonly name = 'LeaseLost';
}

/** Texts over this many characters become blobs. */
const inlineLimit = 32_768;

/** Appends to one run under one lease, and keeps the folded state in step. Appends happen one after the other, in order. */
export interface RunWriter {
  readonly lease: Lease;
  state(): RunState;
  /**
   * Resolves when durable. `due` as in `Append`; `inboxRead`, like the end of the run, clears the due time of its inbox.
   * Throws `LeaseLost`.
   */
  append(
    events: readonly NewEvent[],
    options?: { readonly due?: number | null; readonly inboxRead?: boolean },
  ): Promise<void>;
  /** Keeps a text inline or as a blob. Throws `LeaseLost`. */
  body(text: string): Promise<Body>;
  read(body: Body): Promise<string>;
}

/** The stream of a run, and of the messages to it. */
export function runStream(id: string): string {
  return `run:${id}`;
}

/** The stream of messages to a run. */
export function runInbox(id: string): string {
  return inboxOf(runStream(id));
}

/** A writer for a run that this process has claimed. `state` must be folded from the whole stream after the claim. */
export function createRunWriter(journal: Journal, clock: Clock, lease: Lease, state: RunState): RunWriter {
  let current = state;
  let last: Promise<void> = Promise.resolve();
  const write = async (
    events: readonly NewEvent[],
    options: { readonly due?: number | null; readonly inboxRead?: boolean },
  ): Promise<void> => {
    const own: Append = {
      stream: lease.stream,
      expected: current.position,
      epoch: lease.epoch,
      events,
      ...(options.due === undefined ? {} : { due: options.due }),
    };
    const isRead = options.inboxRead === true || events.some((event) => event.type === 'run.ended');
    const inbox: readonly Append[] = isRead
      ? [{ stream: runInbox(current.id), expected: 'any', events: [], due: null }]
      : [];
    const appended = await journal.append([own, ...inbox]);
    if (!appended.ok) throw new LeaseLost(`${lease.stream}: ${appended.refusal.kind}`);
    for (const event of events) {
      const stored: StoredEvent = {
        ...event,
        stream: lease.stream,
        position: current.position + 1,
        at: clock.now(),
        epoch: lease.epoch,
      };
      current = applyRunEvent(current, stored);
    }
  };
  return {
    lease,
    state: () => current,
    append: (events, options = {}) => {
      const next = last.then(() => write(events, options));
      last = next.catch(() => undefined);
      return next;
    },
    body: async (text) => (text.length <= inlineLimit ? { text } : { blob: await putText(journal, lease, text) }),
    read: (body) => readBody(journal, body),
  };
}

async function putText(journal: Journal, lease: Lease, text: string): Promise<BlobRef> {
  try {
    return await journal.putBlob(lease.stream, new TextEncoder().encode(text), lease.epoch);
  } catch (error) {
    throw isOnwardError(error, 'journal/stale-epoch') ? new LeaseLost(`${lease.stream}: stale-epoch`) : error;
  }
}

/** The text of a body, wherever it is kept. */
export async function readBody(journal: Journal, body: Body): Promise<string> {
  return 'text' in body ? body.text : new TextDecoder().decode(await journal.getBlob(body.blob));
}
