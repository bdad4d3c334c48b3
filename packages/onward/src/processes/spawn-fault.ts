import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, isAbsolute, join, resolve } from 'node:path';

/** Why a process could not be started, as a value. Nothing ran. */
export interface SpawnFault {
  readonly reason: SpawnFaultReason;
  /** The system's code, e.g. `ENOENT`. */
  readonly code: string;
  /** One plain sentence for a person. Names no argument and no variable, since they may be secret. */
  readonly sentence: string;
}

/** The closed list of reasons. */
export type SpawnFaultReason =
  | 'command-not-found'
  | 'not-executable'
  | 'interpreter-missing'
  | 'cwd-missing'
  | 'cwd-unusable'
  | 'arguments-too-long'
  | 'invalid-argument'
  | 'spool-unusable'
  | 'out-of-resources'
  | 'other';

/** What was to be started. */
export interface SpawnSubject {
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

/** Finds the reason behind an error of `spawn`: the system says ENOENT for a missing program, interpreter and cwd alike. */
export function explainSpawnError(error: unknown, subject: SpawnSubject): SpawnFault {
  const code = (error as NodeJS.ErrnoException).code ?? 'UNKNOWN';
  const program = subject.argv[0] ?? '';
  const fault = (reason: SpawnFaultReason, sentence: string): SpawnFault => ({ reason, code, sentence });
  switch (code) {
    case 'ENOENT':
      return findProgram(subject) === undefined
        ? fault('command-not-found', `There is no program ${program} on the PATH.`)
        : fault('interpreter-missing', `${program} names an interpreter in its first line that does not exist.`);
    case 'EACCES':
    case 'ENOEXEC':
    case 'EISDIR':
    case 'ENOTDIR':
      return fault('not-executable', `${program} is there but cannot be executed.`);
    case 'E2BIG':
      return fault('arguments-too-long', 'The arguments or the environment are longer than the system allows.');
    case 'EAGAIN':
    case 'EMFILE':
    case 'ENFILE':
    case 'ENOMEM':
      return fault('out-of-resources', `The system had no room for one more process (${code}).`);
    case 'ERR_INVALID_ARG_VALUE':
      return fault('invalid-argument', 'An argument, a variable or the directory contains a NUL character.');
    default:
      return fault('other', `${program} could not be started (${code}).`);
  }
}

/** Looks at the working directory before the start, since afterwards the error does not tell. */
export function checkCwd(cwd: string): SpawnFault | undefined {
  try {
    if (!statSync(cwd).isDirectory()) {
      return { reason: 'cwd-unusable', code: 'ENOTDIR', sentence: `${cwd} is not a directory.` };
    }
    accessSync(cwd, constants.X_OK);
    return undefined;
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'UNKNOWN';
    if (code === 'ENOENT') return { reason: 'cwd-missing', code, sentence: `The directory ${cwd} does not exist.` };
    return { reason: 'cwd-unusable', code, sentence: `The directory ${cwd} cannot be entered (${code}).` };
  }
}

/** Where the program would be found, by the rule of execvp: a name with a slash is a path, else the child's PATH. */
export function findProgram({ argv, cwd, env }: SpawnSubject): string | undefined {
  const program = argv[0] ?? '';
  const folders = program.includes('/') ? [''] : (env['PATH'] ?? '/usr/bin:/bin').split(delimiter);
  const paths = folders.map((folder) => (isAbsolute(program) ? program : resolve(cwd, join(folder, program))));
  return paths.find((path) => {
    try {
      return statSync(path).isFile();
    } catch {
      return false;
    }
  });
}
