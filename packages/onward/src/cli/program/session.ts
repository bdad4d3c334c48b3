import type { SessionCheckFlags } from '../commands/session-check.ts';
import { jsonOption, type Verbs } from './verbs.ts';

/** The commands about session files. */
export function addSession({ program, io, set }: Verbs): void {
  const session = program.command('session').summary('session files of Claude Code, Codex and Onward');
  session
    .command('check')
    .summary('what a provider would refuse of a session file, and a repaired copy')
    .argument('<file>')
    .option('--repair', 'write a repaired copy; the original is only read')
    .option('-o, --output <path>', 'where the copy goes (FILE.repaired.jsonl)')
    .option(...jsonOption)
    .action(async (file: string, flags: SessionCheckFlags) =>
      set((await import('../commands/session-check.ts')).sessionCheck(io, file, flags)),
    );
}
