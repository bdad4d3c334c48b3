import type { FailureName } from './failures.ts';

/** The agent CLIs that the stand-in can be. */
export type CliName = 'claude' | 'codex';

/**
 * What a stand-in does, as plain JSON: `attempts[n]` is played by the n-th process that got past the session check, so a
 * resume meets the next one. `parsePlay` checks one that came from outside.
 */
export interface Play {
  /** One entry per process. */
  readonly attempts: readonly Attempt[];
  /** What a process after the last attempt does: plays the last one again (default), or refuses with exit 70. */
  readonly after?: 'repeat-last' | 'refuse';
  /**
   * `open` (default): every tool call is allowed. `as-flags`: a call is denied unless the command line allows it, as
   * the real CLI does; then a resume that forgot the user's flags does nothing and says it succeeded.
   */
  readonly permissions?: 'open' | 'as-flags';
  /** Environment variables whose values, not only names, go into the record. */
  readonly recordEnv?: readonly string[];
}

/** What one process does. */
export interface Attempt {
  readonly steps: readonly PlayStep[];
  /**
   * `auto` (default): the prompt is read and the opening lines are printed before the first step. `none`: the steps do it
   * themselves (`prompt`, `opening`), or nobody does.
   */
  readonly opening?: 'auto' | 'none';
  /** Ends at once, as the real CLI does, whatever is on disk. */
  readonly refuse?: Refusal;
  /** `as-real` (default) ends the turn when asked to; `ignore` does not even answer. */
  readonly interrupt?: 'as-real' | 'ignore';
  /** Another session id than the one asked for is used and printed. */
  readonly swapSession?: boolean;
}

/** Ways in which a CLI declines to begin. */
export type Refusal = 'unknown-session' | 'session-in-use' | 'writer-lock' | 'not-logged-in';

/** What one stretch of steps can consult, see `WhenStep`. */
export type Condition =
  /** The model can see this text: in a tool result, answer or prompt of the saved history, or in this prompt. */
  | { readonly seen: string }
  /** This text is in the prompt of this process. */
  | { readonly prompt: string }
  /** The file exists; a relative path starts at the working directory. */
  | { readonly file: string }
  /** The file holds the text. */
  | { readonly file: string; readonly holds: string };

/** A shell command that is really run, and announced as the CLI announces its tool calls. */
export interface ToolStep {
  readonly do: 'tool';
  readonly command: string;
  /** Name of the tool; `Bash` by default. Codex always says `command_execution`. */
  readonly name?: string;
  /** Id of the call; made up when absent. */
  readonly id?: string;
  /**
   * `ended` (default): the message that holds the call is complete and saved before the tool runs. `open`: the tool runs
   * while the message still streams, so nothing of it is on disk until the message ends.
   */
  readonly window?: 'ended' | 'open';
  /** Played while the tool runs. */
  readonly during?: readonly PlayStep[];
  /** The call is skipped when the model can see this text: the temperament "reader". */
  readonly unlessSeen?: string;
}

/** Plays one of two branches: the temperament "checker" looks at a file, "reader" at what it was shown. */
export interface WhenStep {
  readonly do: 'when';
  readonly if: Condition;
  readonly yes: readonly PlayStep[];
  readonly no?: readonly PlayStep[];
}

/** The CLI says that it tries a request again by itself. */
export interface RetryStep {
  readonly do: 'retry';
  /** From 1. */
  readonly attempt: number;
  readonly of: number;
  readonly with: FailureName;
  /** What it says it will wait, in milliseconds (nobody waits); half a second that doubles when absent. Codex does not say. */
  readonly delayMs?: number;
}

/** Ends the turn with an error of the provider, in the words of this CLI. */
export interface FailStep {
  readonly do: 'fail';
  readonly with: FailureName;
  /** Epoch seconds at which a usage limit resets. */
  readonly resetsAt?: number;
  /** Exit code; 1 by default. */
  readonly exit?: number;
}

/** Starts a process that outlives this one. */
export interface GrandchildStep {
  readonly do: 'grandchild';
  /** Shell command; one that lasts ten minutes when absent. */
  readonly command?: string;
  /** In a session of its own, so that a signal to the group misses it. */
  readonly ownSession?: boolean;
  /** Keeps the standard output of this process open. */
  readonly holdStdout?: boolean;
  /** File that gets its process id. */
  readonly pidFile?: string;
}

/** Plays back a recorded stream. */
export interface TranscriptStep {
  readonly do: 'transcript';
  /** Path of a JSONL file; a relative one starts at the folder of the play. */
  readonly file: string;
  /** `verbatim` (default): byte for byte. `rewrite`: with the session id of this process in place of the recorded one. */
  readonly session?: 'verbatim' | 'rewrite';
}

/** Bytes that no CLI should print, but some do. */
export type Garbage = 'not-json' | 'bad-utf8' | 'huge-line' | 'wrong-shape' | 'half-line' | 'nul-bytes' | 'blank-lines';

/** Damage to the saved session of this process. */
export type SessionDamage = 'delete' | 'truncate' | 'tear' | 'garble';

/** Signals that a play can send or ignore. */
export type SignalName = 'SIGINT' | 'SIGTERM' | 'SIGHUP' | 'SIGKILL' | 'SIGSEGV' | 'SIGSTOP';

/** What the wait step waits for. There is no waiting for time. */
export type WaitFor = 'stdin-eof' | 'interrupt' | 'next-prompt' | { readonly file: string };

/** One thing that happens. */
export type PlayStep = TalkStep | OutwardStep;

/** A step of the conversation, said in the words of the CLI. */
export type TalkStep =
  /** Reads the prompt (only with `opening: 'none'`). */
  | { readonly do: 'prompt' }
  /** Prints the opening lines (only with `opening: 'none'`). */
  | { readonly do: 'opening' }
  /** A model request begins: from here on the session is on disk. */
  | { readonly do: 'request' }
  /** A finished block of text. */
  | { readonly do: 'text'; readonly text: string }
  /** Text as it streams; printed only where the command line asked for partial messages. */
  | { readonly do: 'delta'; readonly text: string }
  /** The streaming message ends, and is saved. */
  | { readonly do: 'end-message' }
  | ToolStep
  /** A tool call that the CLI's own permissions refuse. */
  | { readonly do: 'denied'; readonly command: string; readonly name?: string }
  | RetryStep
  /** An error line that does not end the run. */
  | { readonly do: 'error-line'; readonly with: FailureName }
  | FailStep
  /** A last text, then a successful ending. An empty text gives an ending without an answer. */
  | { readonly do: 'answer'; readonly text: string }
  /** Only the closing line, with these fields changed or added. */
  | { readonly do: 'result'; readonly fields?: { readonly [name: string]: unknown }; readonly exit?: number };

/** A step that concerns the process, its output or its files, whatever the CLI. */
export type OutwardStep =
  /** Lines as they are. */
  | { readonly do: 'lines'; readonly lines: readonly string[] }
  | TranscriptStep
  | { readonly do: 'stderr'; readonly text: string }
  /** Junk; `bytes` sets the length of `huge-line` (50 MB by default). */
  | { readonly do: 'garbage'; readonly kind: Garbage; readonly bytes?: number }
  | { readonly do: 'wait'; readonly for: WaitFor }
  /** Goes on living and says nothing, until somebody ends it. */
  | { readonly do: 'hang'; readonly ignore?: readonly SignalName[] }
  | { readonly do: 'ignore-signals'; readonly signals: readonly SignalName[] }
  /** Ends now. */
  | { readonly do: 'exit'; readonly code: number }
  /** Sends itself (or its whole group) a signal. */
  | { readonly do: 'kill'; readonly signal: SignalName; readonly group?: boolean }
  | GrandchildStep
  /** Runs a shell command that nobody is told about. */
  | { readonly do: 'run'; readonly command: string }
  | { readonly do: 'damage-session'; readonly how: SessionDamage }
  | WhenStep
  | { readonly do: 'repeat'; readonly times: number; readonly steps: readonly PlayStep[] };
