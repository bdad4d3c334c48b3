import type { AcpFlags } from '../commands/acp.ts';
import { journalOption, type Verbs } from './verbs.ts';

/** `onward acp serve`. */
export function addAcp({ program, io, set }: Verbs, version: string): void {
  program
    .command('acp')
    .summary('the chat agent in an editor')
    .command('serve')
    .summary('the agent of onward chat over ACP on standard input and output')
    .option('--model <provider/model>', 'e.g. anthropic/claude-sonnet-4-5 (ONWARD_MODEL)')
    .option('--base-url <url>', 'address of the API')
    .option('--approve <level>', 'what needs nobody asked: none, edits or all')
    .option(...journalOption)
    .action(async (flags: AcpFlags) => set((await import('../commands/acp.ts')).acpServe(io, flags, version)));
}
