import { openAgent } from '../../library/agent/index.ts';
import { foldQuestion, questionPrefix } from '../../kernel/question.ts';
import { type SessionEvent, sessionStream } from '../../agent/index.ts';
import { OnwardError } from '../../kernel/error.ts';
import { cancelMessage, inboxOf, messageTo } from '../../kernel/inbox.ts';
import type { Journal } from '../../kernel/journal.ts';
import { createDeps } from '../../library/index.ts';
import type { Model } from '../../models/model.ts';
import { systemClock, systemIds } from '../../processes/index.ts';
import { exitCodes } from '../exit-codes.ts';
import type { Io } from '../io.ts';
import { liveLeaseOf } from '../live-lease.ts';
import { loadSession, sessionStateOf } from './session-info.ts';

/** How long the live process may take to end its turn, ms. */
const patienceMs = 60_000;

/** Whether a live process has the session open. */
export async function isLive(io: Io, journal: Journal, id: string): Promise<boolean> {
  const { host, clock } = createDeps({ env: io.env, journal });
  return (await liveLeaseOf(journal, host, sessionStream(id), clock.now())) !== undefined;
}

/** `onward cancel` of a session: ends its turn, asked of the live process, or done here when there is none. */
export async function cancelSession(io: Io, journal: Journal, id: string, json: boolean): Promise<number> {
  const before = await loadSession(journal, id);
  const isOpen = before.state.open !== undefined || before.state.queue.length > 0;
  if (isOpen && (await isLive(io, journal, id))) {
    const message = cancelMessage({ id: systemIds.uuid(), cause: 'cancelled by a person' });
    await journal.append([messageTo(sessionStream(id), message, systemClock.now())]);
    await untilClosed(journal, id, before.state.position);
  } else if (isOpen) await cancelHere(journal, id);
  const after = await loadSession(journal, id);
  const live = await isLive(io, journal, id);
  const said = {
    session: id,
    state: sessionStateOf(after, live),
    because: isOpen ? 'cancelled by a person' : 'nothing of it was under way',
  };
  if (json) io.json(said);
  else io.err(`onward: ${said.session} ${said.state}, ${said.because}`);
  return after.state.open === undefined ? exitCodes.done.code : exitCodes.failed.code;
}

async function untilClosed(journal: Journal, id: string, after: number): Promise<void> {
  for await (const event of journal.follow(sessionStream(id), after, AbortSignal.timeout(patienceMs)))
    if (event.type === 'turn.closed') return;
}

/** A model that says nothing: a session is opened only to end what is open in it. Without tools nothing can run, either. */
const silent: Model = {
  id: 'nobody/silent',
  async *stream(_, signal) {
    await new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
    yield { type: 'failed', failure: { message: 'It was cancelled.', type: 'cancelled' } };
  },
};

async function cancelHere(journal: Journal, id: string): Promise<void> {
  const begun = Promise.withResolvers<void>();
  const agent = await openAgent(id, { model: silent, journal, retry: false, onStatus: () => begun.resolve() });
  if ((await loadSession(journal, id)).state.open !== undefined) await begun.promise;
  agent.cancel('user');
  await agent.whenIdle();
  await agent[Symbol.asyncDispose]();
}

/** `onward rm` of a session that rests: the session, its messages and its questions. */
export async function eraseSession(io: Io, journal: Journal, id: string): Promise<void> {
  const stream = sessionStream(id);
  const info = await loadSession(journal, id);
  if (info.state.open !== undefined)
    throw new OnwardError('run/not-over', 'A turn of the session is not over: it could still be resumed.', {
      place: stream,
      next: [`onward cancel ${id}`],
    });
  const { host } = createDeps({ env: io.env, journal });
  const claimed = await journal.claim(stream, host.holder, 15_000, (held) => host.isDead(held));
  if (!claimed.ok)
    throw new OnwardError('session/held', `Session ${id} is open in process ${claimed.held.holder.pid}.`, {
      place: id,
      next: ['Close it there first.'],
    });
  for (const question of await questionsOf(journal, stream)) {
    // oxlint-disable-next-line no-await-in-loop -- a few
    await journal.erase(question);
  }
  await journal.erase(stream, claimed.lease.epoch);
  await journal.erase(inboxOf(stream));
}

async function questionsOf(journal: Journal, owner: string): Promise<readonly string[]> {
  const found: string[] = [];
  for (const stream of await journal.streams(questionPrefix)) {
    // oxlint-disable-next-line no-await-in-loop -- one at a time
    const state = foldQuestion(await journal.read(stream));
    if (state?.question.owner === owner) found.push(stream);
  }
  return found;
}

/** The text of a message: what of it is text. */
export function textOfContent(content: readonly { readonly type: string; readonly text?: string }[]): string {
  return content.map((part) => part.text ?? `[${part.type}]`).join('');
}

/** Time of an event's position, for a page about the session; ms since the epoch. */
export function timesOf(events: readonly SessionEvent[]): (position: number) => number {
  const times = new Map(events.map((event) => [event.position, event.at]));
  return (position) => times.get(position) ?? 0;
}
