import type { NewEvent } from '../kernel/envelope.ts';
import type { Classification, DeniedCall, Failure } from '../kernel/failure.ts';
import type { EventTable } from '../kernel/fold.ts';
import type { BlobRef } from '../kernel/journal.ts';
import type { Json } from '../kernel/json.ts';
import type { Continuable, Decision } from '../kernel/decide.ts';
import type { PolicySnapshot } from '../kernel/policy.ts';
import type { AgentIdentity, ParsedCommand } from './adapter.ts';

/** Text in an event, or in a blob when it is too large for one. */
export type Body = { readonly text: string } | { readonly blob: BlobRef };

/** How an attempt begins: with the prompt, in the same conversation, with the prompt again under proof that it was never taken, or afresh with a summary. */
export type AttemptMode = 'first' | 'continue' | 'restart' | 'rebuild';

/** Everything the user's work depends on, durable before anything else happens. No credential is in it. */
export interface RunAccepted {
  readonly agent: string;
  /** The program as typed, where it was found, and the version it reports. */
  readonly program: string;
  readonly binary: string;
  readonly version: string;
  readonly command: Omit<ParsedCommand, 'prompt'>;
  readonly prompt: Body;
  readonly cwd: string;
  readonly identity: AgentIdentity;
  /** Names of the variables the agent gets; their values are read anew for each attempt. */
  readonly variables: readonly string[];
  readonly host: string;
  readonly policy: PolicySnapshot;
  readonly name?: string;
  /** Replaces the fixed continuation text. */
  readonly continuation?: string;
}

/** What lies in `run:<id>`, by type. Each has `n`, the attempt's number from 1, where it belongs to one. */
export interface RunEventData {
  'run.accepted': RunAccepted;
  'attempt.started': {
    readonly n: number;
    readonly mode: AttemptMode;
    readonly sessionId?: string;
    readonly marker: string;
    readonly prompt: Body;
    /** Hash of the credential as it is now. */
    readonly credential: string;
    /** Copy of the conversation's file made before it is continued. */
    readonly copy?: string;
  };
  'attempt.spawned': { readonly n: number; readonly pid: number; readonly startedAt: string };
  'attempt.session': {
    readonly n: number;
    readonly id: string;
    readonly model?: string;
    readonly permissions?: string;
    readonly offset: number;
  };
  'message.committed': { readonly n: number; readonly id: string; readonly body: Body; readonly offset: number };
  'call.started': {
    readonly n: number;
    readonly callId: string;
    readonly tool: string;
    readonly input: Json;
    readonly gated: boolean;
    readonly offset: number;
  };
  'call.finished': {
    readonly n: number;
    readonly callId: string;
    readonly ok: boolean;
    readonly output: string;
    readonly offset: number;
  };
  'call.refused': {
    readonly n: number;
    readonly callId: string;
    readonly tool: string;
    readonly because: string;
    readonly offset: number;
  };
  'request.retried': {
    readonly n: number;
    readonly attempt: number;
    readonly status?: number;
    readonly category?: string;
    readonly delayMs?: number;
    readonly offset: number;
  };
  'usage.reported': {
    readonly n: number;
    readonly scope: 'own' | 'cumulative';
    readonly inputTokens: number;
    readonly outputTokens: number;
    readonly usd?: number;
    readonly offset: number;
  };
  'line.rejected': { readonly n: number; readonly reason: string; readonly offset: number };
  'attempt.failed': {
    readonly n: number;
    readonly failure: Failure;
    readonly classification: Classification;
    /** Ids of finished calls that the agent's own history does not have. */
    readonly lost: readonly string[];
    /** Calls that the agent's rules refused, when the attempt failed for another reason. */
    readonly denied?: readonly DeniedCall[];
    /** What the workspace looked like, to tell progress; absent outside a repository. */
    readonly fingerprint?: string;
    readonly sessionId?: string;
    readonly continuable: Continuable;
    /** The attempt produced nothing: no text, no call, no tokens. */
    readonly silent: boolean;
    readonly swept: number;
    readonly willRetry: boolean;
    /** ms since the epoch. */
    readonly nextAt: number | null;
  };
  'recovery.decided': { readonly n: number; readonly decision: Decision };
  'attempt.superseded': { readonly n: number; readonly by: number };
  'attempt.committed': { readonly n: number; readonly sessionId?: string; readonly text: Body; readonly swept: number };
  'run.resumed': { readonly by: string; readonly inbox: number };
  'inbox.read': { readonly position: number };
  'run.paused': { readonly reason: PauseReason; readonly because: string; readonly until?: number };
  'run.ended': { readonly outcome: RunOutcome; readonly because: string };
}

/**
 * Why a run rests, resumable: a person is needed, the provider is still failing, a limit is reached, another live process
 * has the conversation, the wait is too long to hold a process for, or Ctrl-C.
 */
export type PauseReason = 'needs-human' | 'provider' | 'limit' | 'held' | 'parked' | 'interrupted';

/** How a run is over for good. */
export type RunOutcome = 'done' | 'failed' | 'cancelled';

/** The types in `run:<id>`. */
export type RunEventType = keyof RunEventData;

/** Version and upcasts of each type; this folder owns them all. */
export const runEventTable: EventTable & Readonly<Record<RunEventType, { readonly v: number }>> = {
  'run.accepted': { v: 1 },
  'attempt.started': { v: 1 },
  'attempt.spawned': { v: 1 },
  'attempt.session': { v: 1 },
  'message.committed': { v: 1 },
  'call.started': { v: 1 },
  'call.finished': { v: 1 },
  'call.refused': { v: 1 },
  'request.retried': { v: 1 },
  'usage.reported': { v: 1 },
  'line.rejected': { v: 1 },
  'attempt.failed': { v: 1 },
  'recovery.decided': { v: 1 },
  'attempt.superseded': { v: 1 },
  'attempt.committed': { v: 1 },
  'run.resumed': { v: 1 },
  'inbox.read': { v: 1 },
  'run.paused': { v: 1 },
  'run.ended': { v: 1 },
};

/** Builds an event in its newest version. */
export function runEvent<Type extends RunEventType>(type: Type, data: RunEventData[Type]): NewEvent {
  return { type, v: runEventTable[type].v, data: data as unknown as Json };
}
