import type { ResumeFlags } from '../commands/resume.ts';
import { type CommonFlags, journalOption, jsonOption, quietOption, type Verbs, verboseOption } from './verbs.ts';

/** The commands that go on with a run, end it or erase it. */
export function addActing({ program, io, set }: Verbs): void {
  program
    .command('resume')
    .summary('go on with one that rests or whose process died')
    .argument('[id]')
    .option('--now', 'although its time has not come, or something changed')
    .option('--due', 'every run whose time has come')
    .option(...quietOption)
    .option(...verboseOption)
    .option(...journalOption)
    .option('--json', 'events as JSON lines on standard output')
    .action(async (id: string | undefined, flags: ResumeFlags) =>
      set((await import('../commands/resume.ts')).resume(io, id, flags)),
    );
  program
    .command('cancel')
    .summary('end a run, or the turn of a session')
    .argument('[id]')
    .option(...journalOption)
    .option(...jsonOption)
    .action(async (id: string | undefined, flags: CommonFlags) =>
      set((await import('../commands/cancel.ts')).cancel(io, id, flags)),
    );
  program
    .command('rm')
    .summary('erase a run or session that is over')
    .argument('<id>')
    .option(...journalOption)
    .option(...jsonOption)
    .action(async (id: string, flags: CommonFlags) =>
      set((await import('../commands/remove.ts')).remove(io, id, flags)),
    );
  program
    .command('prune')
    .summary('erase runs that were over long ago')
    .requiredOption('--older-than <time>', 'e.g. 30d')
    .option(...journalOption)
    .option(...jsonOption)
    .action(async (flags: CommonFlags & { readonly olderThan: string }) =>
      set((await import('../commands/remove.ts')).prune(io, flags)),
    );
}
