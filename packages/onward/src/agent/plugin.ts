import type { Classification, Failure } from '../kernel/failure.ts';
import type { Json } from '../kernel/json.ts';
import type { Clock, Hash, Ids, Random } from '../kernel/ports.ts';
import type { Signal } from '../kernel/signal.ts';
import type { Message, Model, ModelRequest, ModelSettings, ToolSpec, Usage } from '../models/model.ts';
import type { SessionEvent, Trigger, UserContent } from './session-events.ts';

/** The models of a plugin's requests, and the events that it observes and folds, as plugins see them. */
export type { Message, Model, ModelRequest, ModelSettings, ToolSpec, Usage } from '../models/model.ts';
export type { SessionEvent, TurnEnd, UserContent } from './session-events.ts';

interface At {
  readonly turn: number;
  readonly step: number;
  /** The turn that the prompt opened; the same for all its retry turns. */
  readonly chain: number;
  /** The turn's one signal. */
  readonly signal: Signal;
}

/** A prompt may enter, perhaps rewritten and with contexts behind it; or it is dropped and no turn opens. */
export type Admission =
  | { readonly kind: 'allow'; readonly content?: UserContent; readonly contexts?: readonly UserContent[] }
  | { readonly kind: 'block'; readonly because: string };

/** What the next request is made of besides the history. Replace what you change; everything in it is frozen. */
export interface RequestDraft {
  readonly model: Model;
  readonly system: string;
  readonly tools: readonly ToolSpec[];
  readonly settings: ModelSettings;
}

/** `retry` opens one promptless retry turn from the log. Return it only if you own the failure and have done the repair. */
export type RequestErrorAction = { readonly kind: 'retry' };

/** A call before it is dispatched. `effect`: the tool declares one, or does not say that it has none. */
export interface CallView {
  readonly id: string;
  readonly tool: string;
  readonly input: Json;
  readonly effect: boolean;
}

/** `ask` makes it a question, e.g. for approval, under the version of the rule that asks. */
export type CallDecision =
  | { readonly kind: 'allow' }
  | { readonly kind: 'deny'; readonly because: string }
  | { readonly kind: 'ask'; readonly text: string; readonly policyVersion: string };

/** What each waterfall is given and what it returns. */
export interface Waterfalls {
  'agent/prompt-admission': { payload: { id: string; content: UserContent; signal: Signal }; result: Admission };
  /** Before each step; a throw fails the turn, nothing is requested. */
  'agent/pre-step': { payload: At & { trigger: Trigger }; result: void };
  /** Configuration of the request only; a throw fails the turn. */
  'agent/request': { payload: At & { draft: RequestDraft }; result: RequestDraft };
  'agent/tool-call': { payload: At & { call: CallView }; result: CallDecision };
  /** A model request failed for good. The step is closed, the turn open. `interrupted`: its process died. */
  'agent/request-error': {
    payload: At & { model: string; failure: Failure; classification: Classification; interrupted: boolean };
    result: RequestErrorAction | undefined;
  };
  /** The model owes nothing more. Steering from here forces another step. */
  'agent/turn-stopping': { payload: At & { text: string }; result: void };
}

/** Handles a waterfall: return your own result, or `next()`, called exactly once, for what is downstream. */
export type Listener<Name extends keyof Waterfalls> = (
  payload: Readonly<Waterfalls[Name]['payload']>,
  next: () => Promise<Waterfalls[Name]['result']>,
) => Promise<Waterfalls[Name]['result']> | Waterfalls[Name]['result'];

/** How an aside ended. */
export type Aside =
  | { readonly ok: true; readonly text: string; readonly usage?: Usage }
  | { readonly ok: false; readonly failure: Failure };

/** What a plugin can see and do. Everything that a plugin must remember across a crash is in its records. */
export interface PluginHost {
  readonly session: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly ids: Ids;
  readonly hash: Hash;
  /** Aborts when the plugin is unloaded. */
  readonly lifetime: Signal;
  /** Runs the listener in the order of the plugins; returns a disposer. */
  on<Name extends keyof Waterfalls>(name: Name, listener: Listener<Name>): () => void;
  /** Called with each event as it enters the log, own ones included. A throw changes nothing. */
  observe(listener: (event: SessionEvent) => void): () => void;
  /**
   * A state folded from the session's events, from the first one on; only in `setup`. `apply` is pure; what it throws refuses
   * the log. Returns a reader of the state of now.
   */
  fold<State>(initial: State, apply: (state: State, event: SessionEvent) => State): () => State;
  /** Appends a record of this plugin, durable when it resolves. */
  record(kind: string, data: Json): Promise<void>;
  followup(content: string | UserContent): { readonly id: string };
  steer(content: string | UserContent): { readonly id: string };
  inject(content: string | UserContent): { readonly id: string };
  /** The history as the model sees it, its replace generation, and the header of the latest request. */
  history(): { readonly messages: readonly Message[]; readonly generation: number };
  model(): Model;
  /** Replaces messages `from` to `to` (not included), durable when it resolves; false when the generation has moved on. */
  replaceHistory(change: {
    readonly generation: number;
    readonly from: number;
    readonly to: number;
    readonly messages: readonly Message[];
    readonly because: string;
  }): Promise<boolean>;
  /** One attempt outside the conversation; counted against the limits, never part of the history. */
  aside(purpose: string, request: ModelRequest, signal: Signal): Promise<Aside>;
}

/** One concern beside the loop. Plugins see this file and the kernel, and not each other. */
export interface Plugin {
  /** Unique in its agent; owns the records of that name. */
  readonly name: string;
  /** Registers listeners, observers and folds; may return what ends the plugin (awaited on disposal). Throws on bad options. */
  setup(host: PluginHost): void | (() => void | Promise<void>);
}
