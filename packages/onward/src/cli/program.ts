import { Command, CommanderError } from 'commander';
import { OnwardError } from '../kernel/error.ts';
import { addAcp } from './program/acp.ts';
import { addActing } from './program/acting.ts';
import { addChat } from './program/chat.ts';
import { addLooking } from './program/looking.ts';
import { addRun } from './program/run.ts';
import { addSession } from './program/session.ts';
import { addTrying } from './program/trying.ts';
import { exitCodes } from './exit-codes.ts';
import { formatHelp } from './help-text.ts';
import { ownArguments } from './hint.ts';
import type { Io } from './io.ts';

/** Parses the arguments and runs the command; gives the exit status. Throws `OnwardError` for what a command refuses. */
export async function runProgram(io: Io, argv: readonly string[], version: string): Promise<number> {
  let status = 0;
  const set = async (promise: Promise<number>): Promise<void> => {
    status = await promise;
  };
  const program = createProgram(io, version);
  const verbs = { program, io, set };
  addRun(verbs, argv);
  addChat(verbs);
  addLooking(verbs);
  addActing(verbs);
  addSession(verbs);
  addAcp(verbs, version);
  addTrying(verbs);
  try {
    await program.parseAsync(argv, { from: 'user' });
    return status;
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return 0;
    // Help instead of a missing command: it is on standard error by now.
    if (error.code === 'commander.help') return exitCodes.usage.code;
    throw usageError(error, program, argv);
  }
}

function createProgram(io: Io, version: string): Command {
  return new Command('onward')
    .usage('COMMAND [options]      more on one: onward COMMAND --help')
    .version(version, '-V, --version', 'the version')
    .helpOption('-h, --help', 'this')
    .helpCommand('help', 'this')
    .enablePositionalOptions()
    .exitOverride()
    .configureHelp({ formatHelp })
    .configureOutput({
      writeOut: (text) => io.out(text.trimEnd()),
      writeErr: (text) => io.err(text.trimEnd()),
      // Said once, by `reportError`, with what to do next.
      outputError: () => undefined,
    });
}

/** What commander found wrong, in our form. */
function usageError(error: CommanderError, program: Command, argv: readonly string[]): OnwardError {
  const said = error.message.replace(/^error: /, '').replaceAll(/\s*\n\s*/g, ' ');
  const words = ownArguments(argv);
  const command = program.commands.find((candidate) => candidate.name() === words[0]);
  const inner = command?.commands.find((candidate) => candidate.name() === words[1]);
  const path = ['onward', command?.name(), inner?.name()].filter((name) => name !== undefined).join(' ');
  const sentence = `${said.slice(0, 1).toUpperCase()}${said.slice(1)}`;
  return new OnwardError('cli/usage', /[.?)]$/.test(sentence) ? sentence : `${sentence}.`, {
    next: [`${path} --help`],
  });
}
