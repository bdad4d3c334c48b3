import type { NewEvent, StoredEvent } from '../kernel/envelope.ts';
import type { Failure, FailureClass } from '../kernel/failure.ts';
import type { EventTable } from '../kernel/fold.ts';
import type { Json } from '../kernel/json.ts';
import type {
  CallPart,
  FinishReason,
  MediaPart,
  Message,
  ModelSettings,
  TextPart,
  ThinkingPart,
  ToolSpec,
  Usage,
} from '../models/model.ts';

/** What a message says: text and files. */
export type UserContent = readonly (TextPart | MediaPart)[];

/** `prompt` opens a turn, `steer` reaches the turn under way at the next step, `context` waits for the next request. */
export type MessageKind = 'prompt' | 'steer' | 'context';

/** What began a turn: a prompt, or the failure of an earlier turn's request. Consumers follow `of`, never adjacency. */
export type Trigger =
  | { readonly kind: 'prompt'; readonly id: string }
  | { readonly kind: 'retry'; readonly of: number };

/** Why a call did not succeed. The last four say how much of it happened: nothing, nothing, nothing, nobody knows. */
export type CallFault =
  | 'tool-failed'
  | 'bad-output'
  | 'timeout'
  | 'aborted'
  | 'rejected'
  | 'invalid-input'
  | 'unknown-tool'
  | 'denied'
  | 'limit'
  | 'refused'
  | 'aborted-before-dispatch'
  | 'not-started'
  | 'outcome-unknown';

/** How one call ended. `conclude`: the tool asked that no request follows. `repeated`: an earlier receipt was returned. */
export type CallOutcome =
  | { readonly ok: true; readonly output: Json; readonly conclude?: true; readonly repeated?: true }
  | { readonly ok: false; readonly code: CallFault; readonly message: string };

/** How a turn ended. `limit` names its unit; `failed` has the failure, and `retryAt` when the server named a time. */
export type TurnEnd =
  | { readonly reason: 'completed' | 'max-tokens' | 'interrupted' }
  | { readonly reason: 'aborted' | 'disposed'; readonly cause: string }
  | { readonly reason: 'limit'; readonly scope: 'session' | 'turn'; readonly unit: string; readonly limit: number }
  | {
      readonly reason: 'failed';
      readonly failure: Failure;
      readonly class: FailureClass;
      readonly rule: string;
      readonly retryAt?: number;
    };

/** What all requests of a stretch of the session share; written when it changes. */
export interface Header {
  readonly model: string;
  readonly system: string;
  readonly tools: readonly ToolSpec[];
  readonly settings: ModelSettings;
}

interface At {
  readonly turn: number;
  readonly step: number;
}

/** The data of each type of event in a `session:<id>` stream, newest version. */
export interface SessionEventData {
  /** First event. `name` is free text of the creator. */
  'session.created': { readonly name: string };
  /** A message was taken: durable, in its queue until committed or dropped. `from`: the plugin that sent it. */
  'message.accepted': {
    readonly id: string;
    readonly kind: MessageKind;
    readonly content: UserContent;
    readonly from?: string;
  };
  'message.dropped': { readonly ids: readonly string[]; readonly because: string };
  /** `chain` is the turn that the prompt opened: the same for all its retry turns. */
  'turn.opened': { readonly turn: number; readonly chain: number; readonly trigger: Trigger };
  /** Messages entered the history, in this order; with `content` where admission rewrote it. */
  'input.committed': { readonly items: readonly { readonly id: string; readonly content?: UserContent }[] };
  /** The barrier of a request: durable before the provider hears anything. `messages`, `generation`: what it was made of. */
  'step.opened': At & { readonly model: string; readonly messages: number; readonly generation: number };
  'header.set': Header;
  /** A block of the answer was complete. Not part of the history until its answer is. */
  'block.closed': At & { readonly block: number; readonly part: TextPart | ThinkingPart | CallPart };
  /** The answer is complete and enters the history: its `blocks` are those of this step. */
  'answer.completed': At & {
    readonly blocks: number;
    readonly finish: FinishReason;
    readonly usage?: Usage;
    readonly requestId?: string;
  };
  /** A cancel came: what had been shown enters the history. */
  'answer.interrupted': At & { readonly parts: readonly (TextPart | ThinkingPart)[] };
  /** A question (a stream of its own) must be answered first. */
  'call.waiting': At & { readonly id: string; readonly question: string };
  /** Durable before the body of a tool that has an effect runs. */
  'call.started': At & { readonly id: string; readonly key?: string };
  'call.finished': At & { readonly id: string; readonly outcome: CallOutcome };
  'step.closed': At & {
    readonly outcome: 'completed' | 'failed' | 'aborted' | 'interrupted';
    readonly failure?: Failure;
    readonly usage?: Usage;
  };
  /** Messages `from` (included) to `to` (not) of the model's history were replaced. The human transcript keeps them. */
  'history.replaced': {
    readonly generation: number;
    readonly from: number;
    readonly to: number;
    readonly messages: readonly Message[];
    readonly by: string;
    readonly because: string;
  };
  'turn.closed': { readonly turn: number; readonly chain: number; readonly end: TurnEnd };
  'cancel.requested': { readonly cause: string; readonly keepInbox: boolean };
  /** A request outside the conversation, e.g. for a summary: it costs, and nothing of it is history. */
  'aside.finished': {
    readonly plugin: string;
    readonly purpose: string;
    readonly model: string;
    readonly usage?: Usage;
    readonly failure?: Failure;
  };
  /** A plugin's own record; its `fold` checks the shape. Never model-visible. */
  'plugin.recorded': At & { readonly plugin: string; readonly kind: string; readonly data: Json };
}

/** A type of event in a session's stream. */
export type SessionEventType = keyof SessionEventData;

/** An event of a session, before and after it is stored. */
export type NewSessionEvent = {
  [Type in SessionEventType]: NewEvent<Type> & { readonly data: SessionEventData[Type] };
}[SessionEventType];
export type SessionEvent = {
  [Type in SessionEventType]: StoredEvent<Type> & { readonly data: SessionEventData[Type] };
}[SessionEventType];

/** Versions of the events; upcasts go here when a shape changes. */
export const sessionEvents: EventTable = {
  'session.created': { v: 1 },
  'message.accepted': { v: 1 },
  'message.dropped': { v: 1 },
  'turn.opened': { v: 1 },
  'input.committed': { v: 1 },
  'step.opened': { v: 1 },
  'header.set': { v: 1 },
  'block.closed': { v: 1 },
  'answer.completed': { v: 1 },
  'answer.interrupted': { v: 1 },
  'call.waiting': { v: 1 },
  'call.started': { v: 1 },
  'call.finished': { v: 1 },
  'step.closed': { v: 1 },
  'history.replaced': { v: 1 },
  'turn.closed': { v: 1 },
  'cancel.requested': { v: 1 },
  'aside.finished': { v: 1 },
  'plugin.recorded': { v: 1 },
};

/** Builds an event of the newest version. */
export function sessionEvent<Type extends SessionEventType>(type: Type, data: SessionEventData[Type]): NewSessionEvent {
  return { type, v: sessionEvents[type]?.v ?? 1, data } as unknown as NewSessionEvent;
}

const PREFIX = 'session:';

/** The streams of all sessions begin so. */
export const sessionPrefix: string = PREFIX;

/** The stream of a session. */
export function sessionStream(id: string): string {
  return `${PREFIX}${id}`;
}
