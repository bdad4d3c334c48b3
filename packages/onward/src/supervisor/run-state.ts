import type { Continuable, Decision } from '../kernel/decide.ts';
import type { StoredEvent } from '../kernel/envelope.ts';
import { assertNever, OnwardError } from '../kernel/error.ts';
import type { Classification, DeniedCall, Failure } from '../kernel/failure.ts';
import { fold } from '../kernel/fold.ts';
import { canonicalJson, type Json } from '../kernel/json.ts';
import {
  type AttemptMode,
  type Body,
  type PauseReason,
  type RunAccepted,
  type RunEventData,
  runEventTable,
  type RunEventType,
  type RunOutcome,
} from './run-events.ts';

/** A tool call of a foreign agent, as far as its stream and hooks told us. */
export interface CallState {
  readonly n: number;
  readonly callId: string;
  readonly tool: string;
  readonly input: Json;
  /** `started` without an end is unknown: it may have acted. */
  readonly state: 'started' | 'finished' | 'refused';
  readonly ok?: boolean;
  readonly output?: string;
  /** Finished, but the agent's own history does not know. */
  readonly lost: boolean;
}

/** Tokens and USD as one attempt reported them. */
export interface UsageState {
  readonly scope: 'own' | 'cumulative';
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly usd?: number;
}

/** One attempt, from its events. */
export interface AttemptState {
  readonly n: number;
  readonly mode: AttemptMode;
  readonly marker: string;
  readonly prompt: Body;
  readonly credential: string;
  readonly copy?: string;
  readonly startedAt: number;
  readonly endedAt?: number;
  /** The conversation that was asked for; absent when the agent was to choose one. */
  readonly asked?: string;
  /** The conversation as known now. */
  readonly sessionId?: string;
  readonly spawned?: { readonly pid: number; readonly startedAt: string };
  /** Everything of the spool before this byte is recorded. */
  readonly offset: number;
  readonly messages: readonly { readonly id: string; readonly body: Body }[];
  readonly calls: readonly CallState[];
  readonly innerRetries: number;
  readonly usage?: UsageState;
  /** A call finished that had not before, or the workspace changed. */
  readonly progressed: boolean;
  readonly fingerprint?: string;
  readonly end?:
    | { readonly kind: 'committed'; readonly text: Body }
    | {
        readonly kind: 'failed';
        readonly failure: Failure;
        readonly classification: Classification;
        readonly continuable: Continuable;
        readonly silent: boolean;
        /** Calls that were refused by the agent's rules, besides what it failed for. */
        readonly denied?: readonly DeniedCall[];
        readonly decision?: Decision;
      };
}

/** Where a run stands: each kind carries only what exists then. Times are ms since the epoch. */
export type Phase =
  | { readonly kind: 'ready'; readonly mode: AttemptMode }
  | { readonly kind: 'waiting'; readonly mode: AttemptMode; readonly at: number; readonly because: string }
  | { readonly kind: 'running'; readonly n: number }
  | { readonly kind: 'paused'; readonly reason: PauseReason; readonly because: string; readonly until?: number }
  | { readonly kind: 'ended'; readonly outcome: RunOutcome; readonly because: string };

/** A run, folded from its stream. */
export interface RunState {
  readonly id: string;
  readonly accepted: RunAccepted;
  readonly acceptedAt: number;
  readonly phase: Phase;
  readonly attempts: readonly AttemptState[];
  /** Attempts of earlier episodes: a person who resumes starts the counting anew. */
  readonly earlier: number;
  /** When this episode began. */
  readonly since: number;
  /** Messages of the inbox up to here are dealt with. */
  readonly inbox: number;
  readonly position: number;
}

type Draft<T> = { -readonly [K in keyof T]: T[K] };
type AttemptDraft = Draft<AttemptState> & {
  messages: { id: string; body: Body }[];
  calls: CallState[];
  byId: Map<string, number>;
};
type RunDraft = Draft<RunState> & { attempts: AttemptDraft[]; finished: Set<string> };
type Stored = {
  [Type in RunEventType]: Omit<StoredEvent, 'type' | 'data'> & {
    readonly type: Type;
    readonly data: RunEventData[Type];
  };
}[RunEventType];

/** The state of a run, or `undefined` for an empty stream. Throws `journal/...` for a stream that is not a run's. */
export function foldRun(id: string, events: readonly StoredEvent[]): RunState | undefined {
  return fold(events, runEventTable, undefined as RunDraft | undefined, (state, event) =>
    apply(id, state, event as unknown as Stored),
  );
}

/** One more event on a state that `foldRun` or this function gave; the earlier state is used up by it. */
export function applyRunEvent(state: RunState, event: StoredEvent): RunState {
  return apply(state.id, state as RunDraft, event as unknown as Stored);
}

function apply(id: string, before: RunDraft | undefined, event: Stored): RunDraft {
  if (event.type === 'run.accepted') return begin(id, event);
  if (before === undefined)
    throw new OnwardError('journal/not-a-run', `${event.stream} does not begin with run.accepted.`, {
      place: `${event.stream}@1`,
    });
  const run = before;
  run.position = event.position;
  switch (event.type) {
    case 'attempt.started':
      startAttempt(run, event);
      break;
    case 'attempt.failed':
    case 'recovery.decided':
    case 'attempt.committed':
      endAttempt(run, event);
      break;
    case 'run.resumed':
      run.phase = { kind: 'ready', mode: modeAfter(run) };
      run.earlier = run.attempts.length;
      run.since = event.at;
      run.inbox = Math.max(run.inbox, event.data.inbox);
      break;
    case 'inbox.read':
      run.inbox = Math.max(run.inbox, event.data.position);
      break;
    case 'run.paused':
      run.phase = { kind: 'paused', ...event.data };
      break;
    case 'run.ended':
      run.phase = { kind: 'ended', ...event.data };
      break;
    case 'attempt.superseded':
      break;
    case 'attempt.spawned':
    case 'attempt.session':
    case 'message.committed':
    case 'call.started':
    case 'call.finished':
    case 'call.refused':
    case 'request.retried':
    case 'usage.reported':
    case 'line.rejected':
      observe(run, event);
      break;
    default:
      return assertNever(event, 'foldRun');
  }
  return run;
}

function begin(id: string, event: Extract<Stored, { type: 'run.accepted' }>): RunDraft {
  return {
    id,
    accepted: event.data,
    acceptedAt: event.at,
    phase: { kind: 'ready', mode: 'first' },
    attempts: [],
    earlier: 0,
    since: event.at,
    inbox: 0,
    position: event.position,
    finished: new Set(),
  };
}

function startAttempt(run: RunDraft, event: Extract<Stored, { type: 'attempt.started' }>): void {
  const { n, ...data } = event.data;
  const state = {
    offset: 0,
    messages: [],
    calls: [],
    innerRetries: 0,
    progressed: false,
    byId: new Map<string, number>(),
  };
  const asked = data.sessionId === undefined ? {} : { asked: data.sessionId };
  run.attempts.push({ n, ...data, ...asked, ...state, startedAt: event.at });
  run.phase = { kind: 'running', n };
}

function endAttempt(
  run: RunDraft,
  event: Extract<Stored, { type: 'attempt.failed' | 'recovery.decided' | 'attempt.committed' }>,
): void {
  const attempt = attemptOf(run, event.data.n);
  switch (event.type) {
    case 'attempt.committed':
      attempt.end = { kind: 'committed', text: event.data.text };
      attempt.endedAt = event.at;
      break;
    case 'attempt.failed': {
      const { failure, classification, continuable, silent, denied, fingerprint, sessionId, lost } = event.data;
      const refused = denied === undefined ? {} : { denied };
      attempt.end = { kind: 'failed', failure, classification, continuable, silent, ...refused };
      attempt.endedAt = event.at;
      if (sessionId !== undefined) attempt.sessionId = sessionId;
      for (const callId of lost) change(attempt, callId, { lost: true });
      noteFingerprint(run, attempt, fingerprint);
      break;
    }
    case 'recovery.decided':
      if (attempt.end?.kind === 'failed') attempt.end = { ...attempt.end, decision: event.data.decision };
      run.phase = phaseAfter(event.data.decision) ?? run.phase;
      break;
    default:
      assertNever(event, 'endAttempt');
  }
}

/** The phase a decision leads to by itself; the others come with a `run.paused` or `run.ended` of the same append. */
function phaseAfter(decision: Decision): Phase | undefined {
  switch (decision.action) {
    case 'continue':
    case 'hold':
      return { kind: 'waiting', mode: 'continue', at: decision.at, because: decision.because };
    case 'restart':
    case 'rebuild':
      return { kind: 'waiting', mode: decision.action, at: decision.at, because: decision.because };
    case 'repair':
    case 'park':
    case 'ask':
    case 'stop':
    case 'cancelled':
    case 'budget':
      return undefined;
    default:
      return assertNever(decision, 'phaseAfter');
  }
}

/** How to go on when a person says so: in the best context there is. */
function modeAfter(run: RunDraft): AttemptMode {
  const last = run.attempts.at(-1);
  if (last === undefined) return 'first';
  if (last.end?.kind !== 'failed') return 'continue';
  switch (last.end.continuable) {
    case 'same':
      return 'continue';
    case 'nothing-accepted':
      return 'restart';
    case 'lost':
    case 'unknown':
      return 'rebuild';
    default:
      return assertNever(last.end.continuable, 'modeAfter');
  }
}

type Observed = Extract<
  Stored,
  {
    type:
      | 'attempt.spawned'
      | 'attempt.session'
      | 'message.committed'
      | 'call.started'
      | 'call.finished'
      | 'call.refused'
      | 'request.retried'
      | 'usage.reported'
      | 'line.rejected';
  }
>;

function observe(run: RunDraft, event: Observed): void {
  const attempt = attemptOf(run, event.data.n);
  if ('offset' in event.data) attempt.offset = Math.max(attempt.offset, event.data.offset);
  switch (event.type) {
    case 'attempt.spawned':
      attempt.spawned = { pid: event.data.pid, startedAt: event.data.startedAt };
      break;
    case 'attempt.session':
      attempt.sessionId = event.data.id;
      break;
    case 'message.committed':
      attempt.messages.push({ id: event.data.id, body: event.data.body });
      break;
    case 'call.started':
      startCall(attempt, event.data);
      break;
    case 'call.finished':
      finishCall(run, attempt, event.data);
      break;
    case 'call.refused':
      change(attempt, event.data.callId, { state: 'refused' });
      break;
    case 'request.retried':
      attempt.innerRetries += 1;
      break;
    case 'usage.reported':
      attempt.usage = addUsage(attempt.usage, event.data);
      break;
    case 'line.rejected':
      break;
    default:
      assertNever(event, 'observe');
  }
}

/** `own` reports are parts of one attempt and add up; a `cumulative` one counts the whole conversation and replaces. */
function addUsage(
  before: UsageState | undefined,
  { scope, inputTokens, outputTokens, usd }: RunEventData['usage.reported'],
): UsageState {
  const base = scope === 'own' ? before : undefined;
  const dollars = usd === undefined && base?.usd === undefined ? {} : { usd: (base?.usd ?? 0) + (usd ?? 0) };
  return {
    scope,
    inputTokens: (base?.inputTokens ?? 0) + inputTokens,
    outputTokens: (base?.outputTokens ?? 0) + outputTokens,
    ...dollars,
  };
}

function startCall(attempt: AttemptDraft, data: RunEventData['call.started']): void {
  if (attempt.byId.has(data.callId)) return;
  attempt.byId.set(data.callId, attempt.calls.length);
  attempt.calls.push({
    n: data.n,
    callId: data.callId,
    tool: data.tool,
    input: data.input,
    state: 'started',
    lost: false,
  });
}

function finishCall(run: RunDraft, attempt: AttemptDraft, data: RunEventData['call.finished']): void {
  const call = attempt.calls[attempt.byId.get(data.callId) ?? -1];
  // An agent reports the end of a refused call as well; it did not run all the same.
  if (call === undefined || call.state === 'refused') return;
  change(attempt, data.callId, { state: 'finished', ok: data.ok, output: data.output });
  const identity = callIdentity(call);
  if (!run.finished.has(identity)) attempt.progressed = true;
  run.finished.add(identity);
}

/** Calls with the same tool and input are the same for telling progress and repeats. */
export function callIdentity(call: Pick<CallState, 'tool' | 'input'>): string {
  return `${call.tool} ${canonicalJson(call.input)}`;
}

function change(attempt: AttemptDraft, callId: string, to: Partial<CallState>): void {
  const index = attempt.byId.get(callId);
  const call = index === undefined ? undefined : attempt.calls[index];
  if (index !== undefined && call !== undefined) attempt.calls[index] = { ...call, ...to };
}

function noteFingerprint(run: RunDraft, attempt: AttemptDraft, fingerprint: string | undefined): void {
  if (fingerprint === undefined) return;
  const before = run.attempts.findLast((other) => other.n < attempt.n && other.fingerprint !== undefined)?.fingerprint;
  attempt.fingerprint = fingerprint;
  if (before !== undefined && before !== fingerprint) attempt.progressed = true;
}

function attemptOf(run: RunDraft, n: number): AttemptDraft {
  const attempt = run.attempts[n - 1];
  if (attempt === undefined)
    throw new OnwardError('journal/not-a-run', `run:${run.id} speaks of attempt ${n} before it began.`, {
      place: `run:${run.id}@${run.position}`,
    });
  return attempt;
}
