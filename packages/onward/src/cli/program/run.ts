import { ownArguments } from '../hint.ts';
import type { RunFlags } from '../run-options.ts';
import { quietOption, verboseOption, type Verbs } from './verbs.ts';

/** `onward run`. */
export function addRun({ program, io, set }: Verbs, argv: readonly string[]): void {
  program
    .command('run')
    .summary('run an agent command and keep it going')
    .usage('[options] -- AGENT ARGS...\n   or: onward run [options] --agent claude|codex "PROMPT"')
    .argument('[command...]')
    .passThroughOptions()
    .option('--agent <name>', 'claude or codex: for wrappers and the short form')
    .option('--schedule <times>', 'waits between attempts; none: no retry (10s,20s,60s)')
    .option('--max-attempts <n>', 'attempts in all (20)')
    .option('--startup-timeout <time>', 'until the first event; 0: no limit (120s)')
    .option('--idle-timeout <time>', 'silence while no tool runs; 0: no limit (300s)')
    .option('--tool-timeout <time>', 'one tool call; 0: no limit (30m)')
    .option('--max-time <time>', 'everything together; 0: no limit (12h)')
    .option('--on-denied <what>', 'what refused tool calls mean: stop, ignore (stop)')
    .option('--continuation <text>', 'what a continued attempt is told first')
    .option('--name <name>', 'a name to find the run by')
    .option('--journal <path>', 'where it is recorded (ONWARD_JOURNAL)')
    .option('--preview', 'print what would be started; start nothing')
    .option('--json', 'events as JSON lines on standard output')
    .option(...quietOption)
    .option(...verboseOption)
    .action(async (words: readonly string[], flags: RunFlags) => {
      const { run } = await import('../commands/run.ts');
      // Commander takes the `--` away; after it stands a command even if it is one word.
      await set(run(io, { words, isCommand: ownArguments(argv).length < argv.length }, flags));
    });
}
