import type { EffectLedger } from '../effects/effect.ts';
import type { Journal } from '../kernel/journal.ts';
import type { Clock, Hash, Ids, Random } from '../kernel/ports.ts';
import type { Question } from '../kernel/question.ts';
import type { Signal } from '../kernel/signal.ts';
import type { Model, ModelSettings } from '../models/model.ts';
import type { LiveEvent } from './agent-api.ts';
import type { Limits } from './limits.ts';
import type { Watchdogs } from './run-request.ts';
import type { SessionLog } from './session-log.ts';
import type { ToolSet } from './tool-set.ts';
import type { WaterfallSet } from './waterfall.ts';

/** What the parts of one open session share. */
export interface Runtime {
  readonly id: string;
  readonly journal: Journal;
  readonly log: SessionLog;
  readonly clock: Clock;
  readonly random: Random;
  readonly ids: Ids;
  readonly hash: Hash;
  readonly ledger: EffectLedger;
  readonly waterfalls: WaterfallSet;
  readonly model: Model;
  /** The model of the latest request, which a listener may have chosen. */
  readonly current: { model: Model };
  readonly instructions: string | ((signal: Signal) => string | Promise<string>);
  readonly settings: ModelSettings;
  readonly tools: ToolSet;
  readonly limits: Limits;
  /** Calls that may run side by side. */
  readonly parallelCalls: number;
  readonly watchdogs: Watchdogs;
  /** Tells live readers. */
  live(event: LiveEvent): void;
  /** A call stands still until the question is answered; or no longer does. Calls side by side may each have one. */
  waiting(question: Question, is: boolean): void;
}

/** What belongs to one turn. */
export interface TurnContext {
  readonly turn: number;
  readonly chain: number;
  readonly signal: Signal;
  /** What listeners have said at the ends of this chain's turns. */
  readonly steered: Set<string>;
}

/** What belongs to one step. */
export interface StepContext extends TurnContext {
  readonly step: number;
}
