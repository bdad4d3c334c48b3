import type { Json } from '../kernel/json.ts';
import type { Signal } from '../kernel/signal.ts';
import type { Lookup } from '../effects/effect.ts';
import type { Usage } from '../models/model.ts';

/** The part of Standard Schema (v1) that is used: https://standardschema.dev. Any Zod, Valibot or ArkType schema is one. */
export interface StandardSchema<Output = unknown> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>;
    /** Standard JSON Schema, where the library offers it (Zod 4.2 and later). */
    readonly jsonSchema?: { readonly input: (options: { readonly target: 'draft-2020-12' }) => unknown };
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined;
  };
}

/** What a schema says about a value. */
export type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly { readonly message: string; readonly path?: readonly unknown[] | undefined }[] };

/** A share in somebody's limits: what is spent under it counts there. */
export interface Allowance {
  /** The limit that is used up, if one is. */
  exhausted(): { readonly unit: string; readonly limit: number } | undefined;
  /** Counts a request that was made under it. */
  spend(who: string, model: string, usage: Usage): void;
}

/** What a running tool is given. */
export interface ToolContext {
  readonly session: string;
  readonly callId: string;
  /** The key of its effect, for services that dedupe; only with a declared effect. */
  readonly key?: string;
  /** Aborts on cancel, disposal and the tool's deadline. */
  readonly signal: Signal;
  /** Ends the turn after this step: no request follows. */
  conclude(): void;
  /** The caller's limits, for agents started by this tool: what they spend counts here, too. */
  readonly allowance: Allowance;
}

/**
 * What a tool does to the world. `none`: nothing, a repeat is harmless. `untracked` (the default): something; it is on record
 * before it runs, and after a crash its outcome is unknown. Declared: it runs through the ledger, once or known to be unknown.
 */
export type ToolEffect<Input> = 'none' | 'untracked' | DeclaredEffect<Input>;

/** How the ledger can tell calls apart and ask about them. Times are ms; see `EffectCalls`. */
export interface DeclaredEffect<Input> {
  /** Default: the tool's name. */
  readonly action?: string;
  /** What makes two calls the same; default: all of the input. */
  readonly identity?: (input: Input) => Json;
  readonly resource?: (input: Input) => string;
  readonly lookup?: (key: string, input: Input, signal: Signal) => Promise<Lookup>;
  readonly settleMs?: number;
  readonly keyLifetimeMs?: number;
  readonly mayAnswer?: readonly string[];
  /** `session` (default) or the whole journal. */
  readonly scope?: 'session' | 'journal';
}

/** When a person must agree to a call first. `version` names the rule: an answer given under another is asked again. */
export interface Approval<Input> {
  readonly version: string;
  readonly when?: (input: Input) => boolean;
  readonly text?: (input: Input) => string;
  readonly mayAnswer?: readonly string[];
}

/** A tool: what the model may call. */
export interface Tool<Input = never> {
  readonly name: string;
  readonly description: string;
  readonly input: StandardSchema<Input>;
  /** The JSON Schema that the model sees, where `input` cannot say it itself. */
  readonly inputSchema?: Json;
  readonly effect?: ToolEffect<Input>;
  readonly approval?: Approval<Input>;
  /** True, or true for these arguments: may run beside others. Default false: alone, in order. */
  readonly parallel?: boolean | ((input: Input) => boolean);
  /** Time for one call, ms; 0 = none. Default 30 min. */
  readonly deadlineMs?: number;
  /** Does it; the result must be JSON. Throwing makes an error result, not a failed turn. */
  run(input: Input, context: ToolContext): Promise<Json> | Json;
}

/** A tool of any input, as lists hold them. */
// oxlint-disable-next-line typescript/no-explicit-any -- a list holds tools of different inputs; each checks its own
export type AnyTool = Tool<any>;

/** Types a tool from its schema; returns it as it is. */
export function tool<Input>(definition: Tool<Input>): Tool<Input> {
  return definition;
}
