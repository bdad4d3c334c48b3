import type { Failure, FailureClass } from '../kernel/failure.ts';
import type { Json } from '../kernel/json.ts';
import type { Question } from '../kernel/question.ts';
import type { Signal } from '../kernel/signal.ts';
import type { Message, Usage } from '../models/model.ts';
import type { SessionEvent, UserContent } from './session-events.ts';

/** How a prompt's chain of turns came to a stop. `text` only on `done`; `waiting` goes on after the answer. */
export type Settlement =
  | { readonly kind: 'done'; readonly turn: number; readonly text: string; readonly usage: Usage }
  /** The answer was cut by the token limit; it is in the history. */
  | { readonly kind: 'incomplete'; readonly turn: number; readonly partial: string; readonly reason: 'max-tokens' }
  | { readonly kind: 'waiting'; readonly turn: number; readonly question: Question }
  | {
      readonly kind: 'failed';
      readonly turn: number;
      readonly failure: Failure;
      readonly class: FailureClass;
      /** When the server said to come back, ms since the epoch. */
      readonly retryAt?: number;
    }
  | { readonly kind: 'cancelled'; readonly cause: string }
  | { readonly kind: 'blocked'; readonly because: string }
  | { readonly kind: 'limit'; readonly turn: number; readonly unit: string; readonly limit: number }
  /** The process that ran it died; the log says how far it came. */
  | { readonly kind: 'interrupted'; readonly turn: number };

/** A settlement that nothing follows. */
export type FinalSettlement = Exclude<Settlement, { readonly kind: 'waiting' }>;

/** Something that happens while it is not yet durable: pieces of an answer, numbered within their attempt (turn, step). */
export type LiveEvent =
  | {
      readonly type: 'live.delta';
      readonly turn: number;
      readonly step: number;
      readonly block: number;
      readonly kind: 'text' | 'thinking' | 'call';
      /** Counts the deltas of this attempt from 1; a slow reader gets several joined, with the last number. */
      readonly n: number;
      /** The number of the first one of several that were joined: who came late sees that something is missing. */
      readonly first?: number;
      readonly text: string;
    }
  /** A body begins or has ended; its durable record may come only with the end of the step. */
  | {
      readonly type: 'live.call';
      readonly turn: number;
      readonly step: number;
      readonly id: string;
      readonly tool: string;
      readonly input: Json;
      readonly state: 'started' | 'ended';
    }
  | { readonly type: 'live.status'; readonly status: AgentStatus };

/** What `events()` yields: durable events have a `position` to resume after, live ones have none. */
export type AgentEvent = SessionEvent | LiveEvent;

/** `waiting`: a question must be answered; `parked`: prompts are queued behind a terminal failure until the next input. */
export type AgentStatus = 'idle' | 'running' | 'waiting' | 'parked' | 'disposed';

/** One accepted prompt. Neither promise ever rejects. */
export interface PromptHandle {
  readonly id: string;
  /** The first stop of its own retry chain: an end, or a question. */
  readonly settled: Promise<Settlement>;
  /** The end. */
  readonly ended: Promise<FinalSettlement>;
  /** The text of a `done`; throws `agent/<kind>` for every other end, a question included. */
  orThrow(): Promise<string>;
  /** Events from this prompt on, until its end; `after` resumes behind a position. */
  events(options?: { readonly after?: number; readonly signal?: Signal }): AsyncIterable<AgentEvent>;
}

/** Why a turn is cancelled. */
export type CancelCause = 'user' | 'parent';

/** A conversation that goes on: in memory or from a journal. */
export interface Agent extends AsyncDisposable {
  readonly id: string;
  readonly status: AgentStatus;
  /** Queues a prompt: one turn (and its retries) of its own, in order. Throws `agent/bad-content` at once. */
  followup(content: string | UserContent): PromptHandle;
  /** Reaches the turn under way at its next step; outside one it is a prompt. */
  steer(content: string | UserContent): { readonly id: string };
  /** Context for the next request, without starting one. */
  inject(content: string | UserContent): { readonly id: string };
  /** Stops the turn under way; without `keepInbox` also drops what is queued. Never waits for a log. */
  cancel(cause?: CancelCause, options?: { readonly keepInbox?: boolean }): void;
  /** Resolves when nothing runs and nothing is about to. Never rejects. */
  whenIdle(): Promise<void>;
  /** The handle of a prompt that was accepted earlier, also by an earlier process; `undefined` for an unknown id. */
  handle(id: string): PromptHandle | undefined;
  /** Durable events after a position, then live ones too, until the signal aborts or the agent is disposed. */
  events(options?: { readonly after?: number; readonly signal?: Signal }): AsyncIterable<AgentEvent>;
  /** The history as the model sees it. */
  history(): readonly Message[];
  /** What is queued, oldest first. */
  queued(): readonly { readonly id: string; readonly content: UserContent }[];
  /** Ends one plugin: waits for its callbacks under way. */
  unload(plugin: string): Promise<void>;
}
