import type { FailureName } from './failures.ts';
import type { Attempt, FailStep, RetryStep, SessionDamage } from './play.ts';
import type { Input } from './input.ts';
import type { Output } from './output.ts';
import type { PlayState } from './record.ts';
import type { ToolOutcome } from './shell.ts';

/** What a voice is given to speak with. */
export interface Stage {
  readonly output: Output;
  readonly input: Input;
  readonly state: PlayState;
  /** Aborts when the turn is to end: an interrupt or a signal. The reason is an `Interruption`. */
  readonly interruption: AbortController;
  /** Denies tool calls which the command line does not allow. */
  readonly asFlags: boolean;
}

/** What ended a turn from outside. */
export type Interruption = 'interrupt' | 'SIGINT';

/** A tool call under way. */
export interface ToolCall {
  readonly id: string;
  readonly name: string;
  readonly command: string;
  readonly window: 'ended' | 'open';
}

/** May the tool run? */
export type Permission = { readonly allowed: true } | { readonly allowed: false; readonly message: string };

/** What a CLI made of its command line and of the sessions on disk: a voice, or a refusal to begin. */
export type Beginning =
  | { readonly kind: 'voice'; readonly voice: Voice }
  | { readonly kind: 'refused'; readonly why: string; readonly exit: number };

/** How one CLI says what a play lets happen. The steps know no CLI; a voice knows no step. */
export interface Voice {
  /** Session or thread id of this process. */
  readonly session: string;
  /** Reads the prompt; the same promise however often it is called. */
  prompt(): Promise<string>;
  /** Prints the opening lines. */
  opening(): void;
  /** What the model can see: the saved history and the prompt. */
  visible(): string;
  /** A model request begins. */
  request(): void;
  text(text: string): void;
  delta(text: string): void;
  endMessage(): void;
  /** Announces a call and asks hooks and permissions. */
  toolCalled(call: ToolCall): Promise<Permission>;
  toolEnded(call: ToolCall, outcome: ToolOutcome): Promise<void>;
  toolRefused(call: ToolCall, message: string): Promise<void>;
  denied(command: string, name: string): Promise<void>;
  retry(step: RetryStep): void;
  errorLine(failure: FailureName): void;
  /** The closing lines of a failed turn. */
  fail(step: FailStep): void;
  /** The closing lines of a turn that went well. */
  answer(text: string): void;
  /** Only the closing line. */
  result(fields: { readonly [name: string]: unknown }): void;
  /** Another turn in the same process. */
  nextPrompt(): Promise<void>;
  /** The closing lines of a turn that was ended from outside; gives the exit code. */
  interrupted(why: Interruption, open: ToolCall | undefined): number;
  /** What this CLI does after its last line, before it exits. */
  close(): Promise<void>;
  damage(how: SessionDamage): void;
  /** Puts this process's session id in place of a recorded one. */
  rewrite(line: string): string;
}

/** How the steps of an attempt ended. */
export type Ending =
  /** All steps were played; the exit code that follows from the last closing line. */
  | { readonly kind: 'played'; readonly exit: number }
  /** An exit step: at once, whatever the CLI would do. */
  | { readonly kind: 'exit'; readonly exit: number }
  /** Ended from outside in the middle, perhaps inside a tool call. */
  | { readonly kind: 'interrupted'; readonly why: Interruption; readonly open: ToolCall | undefined };

/** Leaves the steps early. */
export class Ended extends Error {
  readonly ending: Ending;

  constructor(ending: Ending) {
    super(ending.kind);
    this.ending = ending;
  }
}

/** The parts of an attempt which a CLI needs at its beginning. */
export type Opening = Pick<Attempt, 'refuse' | 'swapSession' | 'interrupt'>;

/** The CLI ends before it has begun: no prompt, or nothing more to do. */
export class CliExit extends Error {
  readonly code: number;
  readonly said: string;

  /** `said` goes to standard error. */
  constructor(code: number, said: string) {
    super(said);
    this.code = code;
    this.said = said;
  }
}
