import { Command, CommanderError } from 'commander';
import { exitCodes } from './exit-codes.ts';
import type { Io } from './io.ts';
import type { RunFlags } from './run-options.ts';

const examples = `Examples:
  onward run -- claude -p "Fix the failing tests" --permission-mode acceptEdits
  onward run --agent codex "Fix the failing tests"
  onward why                   what happened to the newest run of this directory
  onward resume                go on with it
  onward demo                  a failure survived on screen: no key, no network, 20 s
`;

/** Parses the arguments and runs the command; gives the exit status. Throws `OnwardError` for what a command refuses. */
export async function runProgram(io: Io, argv: readonly string[], version: string): Promise<number> {
  let status = 0;
  const set = (promise: Promise<number>): Promise<void> =>
    promise.then((code) => {
      status = code;
    });
  const program = new Command('onward')
    .usage('[command] [options]')
    .description('Keeps agents going: writes down what failed, decides once whether going on is safe, and goes on.')
    .version(version)
    .addHelpText('beforeAll', examples)
    .addHelpText(
      'after',
      `\nExit status: ${Object.values(exitCodes)
        .map(({ code }) => code)
        .join(' ')} (see: onward help exit-codes in the README)`,
    )
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({ writeOut: (text) => io.out(text.trimEnd()), writeErr: (text) => io.err(text.trimEnd()) });
  addRun(program, io, set);
  try {
    await program.parseAsync(argv, { from: 'user' });
    return status;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : exitCodes.usage.code;
    throw error;
  }
}

type SetStatus = (promise: Promise<number>) => Promise<void>;

function addRun(program: Command, io: Io, set: SetStatus): void {
  program
    .command('run')
    .summary('run an agent command and keep it going')
    .usage('[options] -- AGENT ARGS...   |   onward run [options] --agent NAME "PROMPT"')
    .argument('[command...]')
    .passThroughOptions()
    .option('--agent <name>', 'claude or codex: for the short form, or when a wrapper hides the name')
    .option('--schedule <times>', 'waits between attempts, e.g. 10s,20s,60s (none: no retry)')
    .option('--max-attempts <n>', 'attempts in all (20)')
    .option('--startup-timeout <time>', 'until the first event (120s; 0: none)')
    .option('--idle-timeout <time>', 'silence while no tool runs (300s; 0: none)')
    .option('--tool-timeout <time>', 'one tool call (30m; 0: none)')
    .option('--max-time <time>', 'everything together (12h; 0: none)')
    .option('--on-denied <what>', 'stop or ignore: what refused tool calls mean (stop)')
    .option('--continuation <text>', 'what a continued attempt is told first')
    .option('--name <name>', 'a name to find the run by')
    .option('--journal <path>', 'where it is recorded (ONWARD_JOURNAL)')
    .option('--preview', 'print what would be started, and start nothing')
    .option('--json', 'events as JSON lines on standard output')
    .option('-q, --quiet', 'say nothing but errors')
    .option('-v, --verbose', 'also tool calls and messages')
    .action(async (words: readonly string[], flags: RunFlags) => {
      const { run } = await import('./commands/run.ts');
      await set(run(io, words, flags));
    });
}
