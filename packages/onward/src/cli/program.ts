import { Command, CommanderError } from 'commander';
import { exitCodes } from './exit-codes.ts';
import type { LabFlags } from './commands/lab.ts';
import type { ResumeFlags } from './commands/resume.ts';
import type { Io } from './io.ts';
import type { RunFlags } from './run-options.ts';

const examples = `Examples:
  onward run -- claude -p "Fix the failing tests" --permission-mode acceptEdits
  onward run --agent codex "Fix the failing tests"
  onward why                   what happened to the newest run of this directory
  onward resume                go on with it
  onward demo                  a failure survived on screen: no key, no network, 10 s
`;

/** Parses the arguments and runs the command; gives the exit status. Throws `OnwardError` for what a command refuses. */
export async function runProgram(io: Io, argv: readonly string[], version: string): Promise<number> {
  let status = 0;
  const set = async (promise: Promise<number>): Promise<void> => {
    status = await promise;
  };
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
  addLooking(program, io, set);
  addActing(program, io, set);
  addTrying(program, io, set);
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

interface Common {
  readonly journal?: string;
  readonly json?: boolean;
}

const journalOption = ['--journal <path>', 'where runs are recorded (ONWARD_JOURNAL)'] as const;
const jsonOption = ['--json', 'for machines, on standard output'] as const;

function addLooking(program: Command, io: Io, set: SetStatus): void {
  program
    .command('ls')
    .summary('all runs, newest first')
    .option('--here', 'only those of this directory')
    .option(...journalOption)
    .option(...jsonOption)
    .action(async (flags: Common & { readonly here?: boolean }) =>
      set((await import('./commands/list.ts')).list(io, flags)),
    );
  program
    .command('show')
    .summary('where a run stands')
    .argument('[id]')
    .option(...journalOption)
    .option(...jsonOption)
    .action(async (id: string | undefined, flags: Common) =>
      set((await import('./commands/show.ts')).show(io, id, flags)),
    );
  program
    .command('why')
    .summary('what happened to a run, and why it was decided so')
    .argument('[id]')
    .option(...journalOption)
    .option(...jsonOption)
    .action(async (id: string | undefined, flags: Common) =>
      set((await import('./commands/why.ts')).why(io, id, flags)),
    );
  program
    .command('tail')
    .summary('follow a run until it is over or rests')
    .argument('[id]')
    .option('-v, --verbose', 'also tool calls and messages')
    .option(...journalOption)
    .option(...jsonOption)
    .action(async (id: string | undefined, flags: Common & { readonly verbose?: boolean }) =>
      set((await import('./commands/tail.ts')).tail(io, id, flags)),
    );
  program
    .command('doctor')
    .summary('whether this machine has what supervision needs')
    .option(...journalOption)
    .option(...jsonOption)
    .action(async (flags: Common) => set((await import('./commands/doctor.ts')).doctor(io, flags)));
}

function addActing(program: Command, io: Io, set: SetStatus): void {
  program
    .command('resume')
    .summary('go on with a run that rests or whose process died')
    .argument('[id]')
    .option('--now', 'although its time has not come, or something changed')
    .option('--due', 'every parked run whose time has come')
    .option('-q, --quiet', 'say nothing but errors')
    .option('-v, --verbose', 'also tool calls and messages')
    .option(...journalOption)
    .option(...jsonOption)
    .action(async (id: string | undefined, flags: ResumeFlags) =>
      set((await import('./commands/resume.ts')).resume(io, id, flags)),
    );
  program
    .command('cancel')
    .summary('end a run for good')
    .argument('[id]')
    .option(...journalOption)
    .option(...jsonOption)
    .action(async (id: string | undefined, flags: Common) =>
      set((await import('./commands/cancel.ts')).cancel(io, id, flags)),
    );
  program
    .command('rm')
    .summary('erase a run that is over')
    .argument('<id>')
    .option(...journalOption)
    .option(...jsonOption)
    .action(async (id: string, flags: Common) => set((await import('./commands/remove.ts')).remove(io, id, flags)));
  program
    .command('prune')
    .summary('erase runs that were over long ago')
    .requiredOption('--older-than <time>', 'e.g. 30d')
    .option(...journalOption)
    .option(...jsonOption)
    .action(async (flags: Common & { readonly olderThan: string }) =>
      set((await import('./commands/remove.ts')).prune(io, flags)),
    );
}

function addTrying(program: Command, io: Io, set: SetStatus): void {
  program
    .command('demo')
    .summary('a failure survived on screen: no key, no network, 10 s')
    .option('--agent <name>', 'claude: the real one, against a scripted model')
    .option(...jsonOption)
    .action(async (flags: { readonly agent?: string; readonly json?: boolean }) =>
      set((await import('./commands/demo.ts')).demo(io, flags)),
    );
  const lab = program.command('lab').summary('try an agent against a model that fails on purpose');
  lab
    .command('list')
    .summary('the scenarios')
    .option(...jsonOption)
    .action(async (flags: Pick<Common, 'json'>) =>
      set(import('./commands/lab.ts').then(({ labList }) => labList(io, flags))),
    );
  for (const [command, summary] of [
    ['serve [name]', 'a model server on loopback (healthy when no scenario is named)'],
    ['play <name>', 'a model server that plays a scenario'],
  ] as const) {
    lab
      .command(command)
      .summary(summary)
      .option('--port <n>', 'a free one when absent')
      .option('--temperament <name>', 'naive, reader or checker')
      .option(...jsonOption)
      .action(async (name: string | undefined, flags: LabFlags) =>
        set((await import('./commands/lab.ts')).labServe(io, name ?? 'healthy', flags)),
      );
  }
}
