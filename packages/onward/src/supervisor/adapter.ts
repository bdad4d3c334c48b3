import type { DeniedCall, Failure } from '../kernel/failure.ts';
import type { Observation } from './observation.ts';

export type { Observation } from './observation.ts';

/** The user's own command: `argv[0]` is the program as typed, the rest its arguments, unchanged. */
export interface UserCommand {
  readonly argv: readonly string[];
  /** Text that was piped into Onward, which the bare agent would have read as part of the prompt. */
  readonly stdin?: string;
}

/** A command that the adapter understood. Plain JSON: it is recorded in `run.accepted`. */
export interface ParsedCommand {
  /** Arguments without program and prompt, in the user's order; applied again on every attempt. */
  readonly options: readonly string[];
  /** The whole first prompt, piped text included as the bare agent would have joined it. */
  readonly prompt: string;
  /** Facts for the first line that people see; `permissions` e.g. `acceptEdits` or `read-only (default)`. */
  readonly model?: string;
  readonly permissions: string;
}

/** A command that cannot be supervised as it stands. */
export interface CommandRefusal {
  /** The argument at fault, e.g. `--output-format`, or `prompt`. */
  readonly argument: string;
  readonly sentence: string;
  readonly next: readonly string[];
}

/** Where an agent keeps its things and what it would talk to. Environment values are read, never recorded. */
export interface AgentPlace {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Who would pay and where requests would go: safe to record. */
export interface AgentIdentity {
  readonly baseUrl: string;
  /** Short hash of who pays; never a credential. The same after a token was renewed. */
  readonly account: string;
  /** Short hash of what is presented as proof, which a renewal changes; where absent, `account` stands for it. */
  readonly credential?: string;
  /** For people: `API key`, `subscription`, `not logged in`. */
  readonly billing: string;
}

export interface LaunchInput {
  readonly program: string;
  readonly command: ParsedCommand;
  /** `create` makes the conversation; `resume` continues the one with `sessionId`. */
  readonly mode: 'create' | 'resume';
  /** Known or pre-assigned id; absent when the agent assigns one itself. */
  readonly sessionId?: string;
  /** What to say: the original prompt or a continuation. */
  readonly prompt: string;
  /** How often the agent itself may repeat one request before its first byte. */
  readonly innerRetries: number;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** How to start one attempt. */
export interface Launch {
  readonly argv: readonly string[];
  /** Variables to set beside the user's own; never one that widens or narrows permissions. */
  readonly env: Readonly<Record<string, string>>;
  /** Lines to write first. With `keepOpen` the input stays open for replies and an interrupt; else it ends there. */
  readonly input: { readonly lines: readonly string[]; readonly keepOpen: boolean };
  /** How to end it early, gentlest first; a sweep of all its processes always follows. */
  readonly ladder: readonly StopStep[];
  /** Each thing that was added to the user's command and why, for `--preview`. */
  readonly added: readonly string[];
}

/** One step of ending an agent early. Waits are ms. */
export type StopStep =
  | { readonly kind: 'input'; readonly line: string; readonly until: 'result' | 'exit'; readonly ms: number }
  | { readonly kind: 'end-input'; readonly ms: number }
  | {
      readonly kind: 'signal';
      readonly signal: 'SIGINT' | 'SIGTERM';
      readonly target: 'pid' | 'group';
      readonly ms: number;
    };

/** How an attempt's process ended, as seen by the coordinator. */
export interface ProcessEnding {
  readonly exit?: { readonly code: number | null; readonly signal: string | null };
  /** Set when the coordinator itself found what went wrong (spawn error, watchdog, host crash). */
  readonly failure?: Failure;
  /** Last 64 KiB of standard error. */
  readonly stderr: string;
  /** Last 256 KiB of the agent's own session file; empty when there is none. */
  readonly session: string;
  /** Whether this attempt resumed, and the id it asked for. */
  readonly mode: 'create' | 'resume';
  readonly sessionId?: string;
}

/**
 * What an ending was: never a decision. A failure may come with an answer all the same (e.g. after denied calls), and
 * with calls that were denied although it failed for another reason: the next attempt need not mention them.
 */
export type Ending =
  | { readonly ok: true; readonly text: string }
  | {
      readonly ok: false;
      readonly failure: Failure;
      readonly text?: string;
      readonly denied?: readonly DeniedCall[];
    };

/** Reads one attempt's output, line by line. Holds the attempt's state; does no I/O; never throws on a line. */
export interface AttemptReader {
  line(text: string): readonly Observation[];
  /** What was this ending? Success only on a coherent one: terminal message, exit, stop reason, content, no denials. */
  ending(process: ProcessEnding): Ending;
  /** Can this conversation still be continued? The id as known now. */
  target(): string | undefined;
  /**
   * The line that refuses an intended call with a reason for the model; the call does not count as denied by the user's
   * rules. Absent where the agent does not ask before it acts.
   */
  refuse?(callId: string, reason: string): string;
}

/** One agent CLI. Facts about it live here and nowhere else; it decides nothing. */
export interface AgentAdapter {
  readonly name: string;
  readonly title: string;
  /** Program names (without directory) by which a command is recognised. */
  readonly programs: readonly string[];
  /** True when we choose the conversation's id before the first attempt. */
  readonly preassignsId: boolean;
  parse(command: UserCommand): ({ readonly ok: true } & ParsedCommand) | ({ readonly ok: false } & CommandRefusal);
  /** The command for the short form `--agent NAME "PROMPT"`. */
  commandFor(prompt: string): readonly string[];
  launch(input: LaunchInput): Launch;
  reader(): AttemptReader;
  identify(place: AgentPlace): Promise<AgentIdentity>;
  /** Path of the conversation's own file, if it exists. */
  sessionFile(place: AgentPlace, sessionId: string): Promise<string | undefined>;
  /** Whether the conversation's own file has the result of that call. Absent where its ids are not those of the stream. */
  keeps?(session: string, callId: string): boolean;
  /** What the user would have to give or set so that these calls are allowed; a sentence. */
  wouldAllow?(denied: readonly DeniedCall[]): string;
  /** The command a person would type to continue by hand. */
  byHand(program: string, sessionId: string): string;
}
