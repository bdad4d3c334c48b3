import { assertNever } from '../kernel/error.ts';
import type { Failure } from '../kernel/failure.ts';
import type { Json } from '../kernel/json.ts';
import type { FinishReason, Usage } from '../models/model.ts';
import type { CallOutcome, MessageKind, Trigger, TurnEnd, UserContent } from './session-events.ts';

/** A message that was accepted and is neither in the conversation nor dropped. */
export interface QueuedMessage {
  readonly id: string;
  readonly kind: MessageKind;
  readonly content: UserContent;
  /** The plugin that sent it; absent for a person's. */
  readonly from?: string;
}

/** Something somebody said. `partial`: it was accepted before the part of the log that was folded. */
export interface MessageEntry extends Partial<QueuedMessage> {
  readonly entry: 'message';
  readonly position: number;
  readonly id: string;
  readonly content: UserContent;
  /** What was sent, where it was rewritten on admission. */
  readonly original?: UserContent;
  readonly state: 'committed' | 'dropped';
  /** Why it was dropped. */
  readonly because?: string;
  readonly turn?: number;
  readonly partial?: true;
}

/** A turn began. A retry says which turn's failure it follows. */
export interface TurnEntry {
  readonly entry: 'turn';
  readonly position: number;
  readonly turn: number;
  readonly chain: number;
  readonly trigger: Trigger;
}

/** One call as a person may see it. `discarded`: its answer did not count, so it never ran. */
export interface CallBlock {
  readonly kind: 'call';
  readonly id: string;
  /** Absent where its answer lies before what was folded; then so is its input. */
  readonly tool?: string;
  readonly input?: Json;
  readonly state: 'proposed' | 'waiting' | 'started' | 'finished' | 'discarded';
  readonly question?: { readonly id: string; readonly open: boolean };
  readonly outcome?: CallOutcome;
}

/** A piece of an answer. */
export type TranscriptBlock = { readonly kind: 'text' | 'thinking'; readonly text: string } | CallBlock;

/** One request and what came of it. */
export interface AttemptEntry {
  readonly entry: 'attempt';
  readonly position: number;
  readonly turn: number;
  readonly step: number;
  /** Absent while what was folded does not say. */
  readonly chain?: number;
  readonly model?: string;
  readonly state: 'running' | 'completed' | 'failed' | 'aborted' | 'interrupted';
  /** Whether its blocks are part of the conversation: all, up to a cancel, or none (yet). */
  readonly answer: 'none' | 'complete' | 'interrupted';
  readonly blocks: readonly TranscriptBlock[];
  /** The retry turn that replaces it. Show it as history, not as the answer. */
  readonly supersededBy?: number;
  readonly finish?: FinishReason;
  readonly usage?: Usage;
  readonly failure?: Failure;
  /** It began before the part of the log that was folded. */
  readonly partial?: true;
}

/** A plugin's record, e.g. that a retry was scheduled. */
export interface NoteEntry {
  readonly entry: 'note';
  readonly position: number;
  readonly plugin: string;
  readonly kind: string;
  readonly data: Json;
  readonly turn: number;
  readonly step: number;
}

/** From here on the model sees something shorter. What came before stays in the transcript. */
export interface CompactionEntry {
  readonly entry: 'compaction';
  readonly position: number;
  readonly by: string;
  readonly because: string;
  /** How many messages of the model's history were replaced, and by how many. */
  readonly replaced: number;
  readonly left: number;
}

/** Somebody cancelled. */
export interface CancelEntry {
  readonly entry: 'cancel';
  readonly position: number;
  readonly cause: string;
  readonly keepInbox: boolean;
}

/** A request outside the conversation. */
export interface AsideEntry {
  readonly entry: 'aside';
  readonly position: number;
  readonly plugin: string;
  readonly purpose: string;
  readonly model: string;
  readonly usage?: Usage;
  readonly failure?: Failure;
}

/** A turn ended. Without `supersededBy` it is how its prompt ended, also when retries lie before it. */
export interface EndEntry {
  readonly entry: 'end';
  readonly position: number;
  readonly turn: number;
  readonly chain: number;
  readonly end: TurnEnd;
  readonly shown: EndPresentation;
  /** Steps of this turn that were closed, and retry turns of its chain, as far as what was folded goes. */
  readonly steps: number;
  readonly retries: number;
  readonly supersededBy?: number;
}

/** What a transcript is made of, in the order in which it came. */
export type TranscriptEntry =
  | MessageEntry
  | TurnEntry
  | AttemptEntry
  | NoteEntry
  | CompactionEntry
  | CancelEntry
  | AsideEntry
  | EndEntry;

/** How to show an end. Only `success` means that the model had its say. */
export interface EndPresentation {
  readonly tone: 'success' | 'warning' | 'error' | 'neutral';
  readonly title: string;
  readonly detail: string;
}

/** Each reason has words of its own, so that none can be taken for another. */
export function presentEnd(end: TurnEnd): EndPresentation {
  switch (end.reason) {
    case 'completed':
      return { tone: 'success', title: 'Done', detail: '' };
    case 'max-tokens':
      return { tone: 'warning', title: 'Cut off', detail: 'The answer reached the token limit and is not complete.' };
    case 'interrupted':
      return { tone: 'error', title: 'Interrupted', detail: 'The process that ran it died.' };
    case 'aborted':
      return { tone: 'neutral', title: 'Cancelled', detail: end.cause };
    case 'disposed':
      return { tone: 'neutral', title: 'Closed', detail: 'The agent was closed before the turn ended.' };
    case 'limit':
      return { tone: 'warning', title: 'Limit reached', detail: `${end.limit} ${end.unit} per ${end.scope}` };
    case 'failed':
      return { tone: 'error', title: 'Failed', detail: `${end.failure.message} (${end.class})` };
    default:
      return assertNever(end, 'the end of a turn');
  }
}
