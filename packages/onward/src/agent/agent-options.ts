import type { Signal } from '../kernel/signal.ts';
import type { Model, ModelSettings } from '../models/model.ts';
import type { AgentStatus } from './agent-api.ts';
import type { Limits } from './limits.ts';
import type { Plugin } from './plugin.ts';
import type { Watchdogs } from './run-request.ts';
import type { AnyTool } from './tool.ts';

/** What an agent is made from. */
export interface AgentOptions {
  /** Free text for people, kept with the session. */
  readonly name?: string;
  readonly model: Model;
  /** The system prompt; a function is asked before each request. */
  readonly instructions?: string | ((signal: Signal) => string | Promise<string>);
  readonly tools?: readonly AnyTool[];
  /** In order: the first is asked first. */
  readonly plugins?: readonly Plugin[];
  readonly limits?: Limits;
  readonly settings?: ModelSettings;
  /** Calls that may run side by side. Default 10; 1 is strictly serial. */
  readonly parallelCalls?: number;
  /** Silence of the provider, ms; 0 = wait for ever. Default 60 s until the first part, 120 s between parts. */
  readonly watchdogs?: Partial<Watchdogs>;
  /** Told of each change; what it throws changes nothing. */
  readonly onStatus?: (status: AgentStatus) => void;
}
