import type { Command } from 'commander';
import type { Io } from '../io.ts';

/** What a command is added to, and how it hands its exit status back. */
export interface Verbs {
  readonly program: Command;
  readonly io: Io;
  readonly set: (status: Promise<number>) => Promise<void>;
}

/** Flags that most commands have. */
export interface CommonFlags {
  readonly journal?: string;
  readonly json?: boolean;
}

/** `--journal`, the same everywhere. */
export const journalOption: readonly [string, string] = [
  '--journal <path>',
  'where runs are recorded (ONWARD_JOURNAL)',
];

/** `--json`, for every command that prints an object or a list. */
export const jsonOption: readonly [string, string] = ['--json', 'for machines, on standard output'];

/** `-q`. */
export const quietOption: readonly [string, string] = ['-q, --quiet', 'say nothing but how it ended'];
/** `-v`. */
export const verboseOption: readonly [string, string] = ['-v, --verbose', 'also tool calls and messages'];
