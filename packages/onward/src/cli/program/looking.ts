import { type CommonFlags, journalOption, jsonOption, type Verbs, verboseOption } from './verbs.ts';

/** The commands that change nothing. */
export function addLooking({ program, io, set }: Verbs): void {
  program
    .command('ls')
    .summary('all runs and sessions, newest first')
    .option('--here', 'only those of this directory')
    .option(...journalOption)
    .option(...jsonOption)
    .action(async (flags: CommonFlags & { readonly here?: boolean }) =>
      set((await import('../commands/list.ts')).list(io, flags)),
    );
  program
    .command('show')
    .summary('where one stands, and its answer')
    .argument('[id]')
    .option(...journalOption)
    .option(...jsonOption)
    .action(async (id: string | undefined, flags: CommonFlags) =>
      set((await import('../commands/show.ts')).show(io, id, flags)),
    );
  program
    .command('why')
    .summary('what happened to one, and why it was decided so')
    .argument('[id]')
    .option(...journalOption)
    .option(...jsonOption)
    .action(async (id: string | undefined, flags: CommonFlags) =>
      set((await import('../commands/why.ts')).why(io, id, flags)),
    );
  program
    .command('tail')
    .summary('follow one until it is over or rests')
    .argument('[id]')
    .option(...verboseOption)
    .option(...journalOption)
    .option(...jsonOption)
    .action(async (id: string | undefined, flags: CommonFlags & { readonly verbose?: boolean }) =>
      set((await import('../commands/tail.ts')).tail(io, id, flags)),
    );
}
