import type { LabFlags } from '../commands/lab.ts';
import { type CommonFlags, journalOption, jsonOption, type Verbs } from './verbs.ts';

/** The commands for a first look, at this machine and at what Onward does. */
export function addTrying({ program, io, set }: Verbs): void {
  program
    .command('doctor')
    .summary('whether this machine has what supervision needs')
    .option(...journalOption)
    .option(...jsonOption)
    .action(async (flags: CommonFlags) => set((await import('../commands/doctor.ts')).doctor(io, flags)));
  program
    .command('demo')
    .summary('a failure survived on screen')
    .option('--agent <name>', 'claude: the real one, against a scripted model')
    .option('--json', 'events as JSON lines on standard output')
    .action(async (flags: { readonly agent?: string; readonly json?: boolean }) =>
      set((await import('../commands/demo.ts')).demo(io, flags)),
    );
  const lab = program.command('lab').summary('try an agent against a model that fails on purpose');
  lab
    .command('list')
    .summary('the scenarios')
    .option(...jsonOption)
    .action(async (flags: Pick<CommonFlags, 'json'>) =>
      set(import('../commands/lab.ts').then(({ labList }) => labList(io, flags))),
    );
  for (const [command, summary] of [
    ['serve [name]', 'a model server on loopback, healthy unless a scenario is named'],
    ['play <name>', 'a model server that plays a scenario'],
  ] as const) {
    lab
      .command(command)
      .summary(summary)
      .option('--port <n>', 'a free one when absent')
      .option('--temperament <name>', 'naive, reader or checker')
      .option(...jsonOption)
      .action(async (name: string | undefined, flags: LabFlags) =>
        set((await import('../commands/lab.ts')).labServe(io, name ?? 'healthy', flags)),
      );
  }
}
