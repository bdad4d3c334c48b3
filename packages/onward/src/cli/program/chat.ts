import type { ChatCommandFlags } from '../commands/chat.ts';
import { type CommonFlags, journalOption, jsonOption, quietOption, type Verbs } from './verbs.ts';

/** `onward chat`, and the commands for the questions that it leaves. */
export function addChat({ program, io, set }: Verbs): void {
  program
    .command('chat')
    .summary('talk with a model that has tools for this directory')
    .usage('[options] [ID] ["PROMPT"]')
    .argument('[words...]')
    .option('--model <name>', 'anthropic, openai, openai-chat or openai-compatible/MODEL')
    .option('--base-url <url>', 'address of the API (ANTHROPIC_BASE_URL, OPENAI_BASE_URL)')
    .option('--approve <what>', 'what needs no question: none, edits or all (none)')
    .option(...quietOption)
    .option(...journalOption)
    .option('--json', 'events and the result as JSON lines on standard output')
    .action(async (words: readonly string[], flags: ChatCommandFlags) =>
      set((await import('../commands/chat.ts')).chat(io, words, flags)),
    );
  program
    .command('questions')
    .summary('what waits for your word')
    .option('--all', 'those that are over as well')
    .option(...journalOption)
    .option(...jsonOption)
    .action(async (flags: CommonFlags & { readonly all?: boolean }) =>
      set((await import('../commands/questions.ts')).questions(io, flags)),
    );
  program
    .command('answer')
    .summary('answer a question, from any terminal')
    .argument('<question>')
    .argument('<choice>')
    .option('--note <text>', 'what the asker is told with it')
    .option('--by <name>', 'who answers (terminal)')
    .option(...journalOption)
    .option(...jsonOption)
    .action(
      async (question: string, choice: string, flags: CommonFlags & { readonly note?: string; readonly by?: string }) =>
        set((await import('../commands/questions.ts')).answer(io, { question, choice }, flags)),
    );
}
