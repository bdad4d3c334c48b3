import type { ListSessionsResponse, SessionInfo } from '@agentclientprotocol/sdk';
import { readSession, type SessionEvent, sessionPrefix } from '../agent/index.ts';
import type { Journal } from '../kernel/journal.ts';
import type { Redactor } from '../kernel/redact.ts';

/** Sessions on one page. */
const PAGE = 50;
const LONGEST_TITLE = 80;

/** What a list is made from. */
export interface ListOptions {
  readonly journal: Journal;
  readonly redactor: Redactor;
  /** The folder that an event says the session works in. */
  readonly cwdIn: (event: SessionEvent) => string | undefined;
  readonly log: (line: string) => void;
}

/** What a client asks for. */
interface ListRequest {
  readonly cwd?: string | null;
  readonly cursor?: string | null;
}

/** The sessions that were begun in a folder, newest first, page by page. One that cannot be read is passed over. */
export async function listSessions(request: ListRequest, options: ListOptions): Promise<ListSessionsResponse> {
  const streams = (await options.journal.streams(sessionPrefix)).toReversed();
  const sessions: SessionInfo[] = [];
  let at = typeof request.cursor === 'string' ? streams.indexOf(request.cursor) + 1 : 0;
  for (; at < streams.length && sessions.length < PAGE; at++) {
    // oxlint-disable-next-line no-await-in-loop -- one page, one after the other
    const info = await infoOf(streams[at] ?? '', options);
    if (info === undefined) continue;
    if (typeof request.cwd === 'string' && info.cwd !== request.cwd) continue;
    sessions.push(info);
  }
  return { sessions, ...(at < streams.length ? { nextCursor: streams[at - 1] ?? '' } : {}) };
}

async function infoOf(
  stream: string,
  { journal, redactor, cwdIn, log }: ListOptions,
): Promise<SessionInfo | undefined> {
  try {
    const events = await readSession(journal, stream);
    const cwd = events.map((event) => cwdIn(event)).findLast((found) => found !== undefined);
    if (cwd === undefined) return undefined;
    const title = titleOf(events);
    return {
      sessionId: stream.slice(sessionPrefix.length),
      cwd,
      updatedAt: new Date(events.at(-1)?.at ?? 0).toISOString(),
      ...(title === '' ? {} : { title: redactor.text(title) }),
    };
  } catch (error) {
    log(`${stream} cannot be listed: ${String(error)}`);
    return undefined;
  }
}

/** The beginning of the first thing that a person said. */
function titleOf(events: readonly SessionEvent[]): string {
  for (const event of events) {
    if (event.type !== 'message.accepted' || event.data.kind !== 'prompt') continue;
    const text = event.data.content.map((part) => (part.type === 'text' ? part.text : '')).join(' ');
    return text.trim().replaceAll(/\s+/g, ' ').slice(0, LONGEST_TITLE).toWellFormed();
  }
  return '';
}
