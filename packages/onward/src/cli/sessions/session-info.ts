import {
  applySessionEvent,
  emptySession,
  readSession,
  type SessionEvent,
  type SessionState,
  sessionStream,
} from '../../agent/index.ts';
import { assertNever, OnwardError } from '../../kernel/error.ts';
import type { Journal } from '../../kernel/journal.ts';
import { foldTranscript, type Transcript } from '../../library/agent/index.ts';
import { type ChatRecord, chatRecordIn } from '../../library/chat/index.ts';

/** A session as its log says it is. */
export interface SessionInfo {
  readonly id: string;
  readonly events: readonly SessionEvent[];
  readonly state: SessionState;
  readonly transcript: Transcript;
  /** What the chat works with; `undefined` for a session that a program made. */
  readonly record: ChatRecord | undefined;
  /** ms since the epoch. */
  readonly createdAt: number;
  /** Ids of the questions that calls of the open turn wait for. */
  readonly questions: readonly string[];
}

/** Reads a session. Throws `session/unknown`, and what a damaged or newer journal throws. */
export async function loadSession(journal: Journal, id: string): Promise<SessionInfo> {
  const events = await readSession(journal, sessionStream(id));
  const [first] = events;
  if (first === undefined)
    throw new OnwardError('session/unknown', `There is no session ${id}.`, { place: id, next: ['onward ls'] });
  const state = emptySession();
  for (const event of events) applySessionEvent(state, event);
  const calls = [...(state.open?.step?.calls.values() ?? [])];
  return {
    id,
    events,
    state,
    transcript: foldTranscript(events),
    record: events.map(chatRecordIn).findLast((record) => record !== undefined),
    createdAt: first.at,
    questions: calls.flatMap(({ question, outcome }) =>
      question === undefined || outcome !== undefined ? [] : [question],
    ),
  };
}

/** Where a session stands, in a word or two. `live`: a process has it open. */
export function sessionStateOf(info: SessionInfo, live: boolean): string {
  if (info.state.open !== undefined) {
    if (info.questions.length > 0) return 'waiting: question';
    return live ? 'running' : 'orphaned';
  }
  const end = lastEnd(info);
  if (end === undefined) return info.state.queue.length > 0 ? 'queued' : 'new';
  switch (end.end.reason) {
    case 'completed':
      return 'done';
    case 'max-tokens':
      return 'cut off';
    case 'aborted':
    case 'disposed':
      return 'cancelled';
    case 'failed':
      return `failed: ${end.end.class}`;
    case 'limit':
    case 'interrupted':
      return end.end.reason;
    default:
      return assertNever(end.end, 'the end of a turn');
  }
}

type EndEntry = Extract<Transcript['entries'][number], { readonly entry: 'end' }>;

/** How the latest turn ended. */
export function lastEnd({ transcript }: SessionInfo): EndEntry | undefined {
  return transcript.entries.findLast((entry) => entry.entry === 'end');
}

/** One session in one object, for `ls --json`; its fields are those of a run where both have them. */
export interface SessionSummary {
  readonly id: string;
  readonly kind: 'session';
  readonly name: string | null;
  readonly agent: string;
  readonly state: string;
  readonly live: boolean;
  readonly prompts: number;
  readonly cwd: string | null;
  /** ms since the epoch. */
  readonly acceptedAt: number;
  readonly because: string;
}

/** Sums a session up. */
export function summariseSession(info: SessionInfo, live: boolean): SessionSummary {
  return {
    id: info.id,
    kind: 'session',
    name: info.state.name === '' ? null : (info.state.name ?? null),
    agent: info.record?.model ?? info.state.header?.model ?? '-',
    state: sessionStateOf(info, live),
    live,
    prompts: info.state.prompts.size,
    cwd: info.record?.cwd ?? null,
    acceptedAt: info.createdAt,
    because: lastEnd(info)?.shown.detail ?? '',
  };
}
