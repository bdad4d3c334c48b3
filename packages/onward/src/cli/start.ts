import { hintFor, ownArguments } from './hint.ts';
import { createIo, exitAfterOutput } from './io.ts';
import { runProgram } from './program.ts';
import { reportError } from './report-error.ts';

/** Runs a command line on the streams of this process and sets the exit status; never throws. */
export async function start(argv: readonly string[], version: string): Promise<void> {
  const io = createIo(process, hintFor(argv));
  const report = (error: unknown): void => {
    process.exitCode = reportError(io, error, ownArguments(argv).includes('--json'));
  };
  // Without this Node would print a stack, secrets included. The guard ends the agent when this process goes.
  process.once('uncaughtException', (error) => {
    report(error);
    process.exit();
  });
  try {
    process.exitCode = exitAfterOutput(io.gone, await runProgram(io, argv, version));
  } catch (error) {
    report(error);
  }
}
