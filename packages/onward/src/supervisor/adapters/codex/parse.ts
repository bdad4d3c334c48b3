import type { CommandRefusal, ParsedCommand, UserCommand } from '../../adapter.ts';
import { execCommands, isFlag, otherCommands, ownedFlags, readFlag, valueOf } from './flags.ts';

/** What `parse` answers: a command that can be supervised, or why it cannot. */
export type Parsed = ({ readonly ok: true } & ParsedCommand) | ({ readonly ok: false } & CommandRefusal);

/** One option with its values, as the words that were typed. */
interface ReadOption {
  readonly name: string;
  readonly words: readonly string[];
  readonly values: readonly string[];
}

interface ReadWords {
  readonly options: readonly string[];
  readonly read: readonly ReadOption[];
  readonly positionals: readonly string[];
}

const useExec = 'Write: onward run -- codex exec [options] "PROMPT"';

/**
 * Reads `codex [options] exec [options] [PROMPT]` the way codex 0.171 does. `options` keep their order and the word `exec`,
 * since some options may stand only before it.
 */
export function parse(command: UserCommand): Parsed {
  const words = command.argv.slice(1);
  const execAt = findExec(words);
  if (typeof execAt !== 'number') return execAt;
  const root = readWords(words.slice(0, execAt));
  const own = readWords(words.slice(execAt + 1));
  const read = [...root.read, ...own.read];
  const refused = refuseOwned(read) ?? refuseSubcommand(own.positionals) ?? refuseExtra(own);
  if (refused !== undefined) return refused;
  const prompt = joinPrompt(own.positionals[0], command.stdin);
  if (prompt === undefined) return refusePrompt(read);
  const model = lastValue(read, '--model') ?? configValue(read, 'model');
  return {
    ok: true,
    options: [...root.options, words[execAt] ?? 'exec', ...own.options],
    prompt,
    permissions: permissions(read),
    ...(model === undefined ? {} : { model }),
  };
}

/** Position of the word `exec` (or `e`), past the global options and their values. */
function findExec(words: readonly string[]): number | Parsed {
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? '';
    if (word === 'exec' || word === 'e') return at;
    if (!isOption(word)) return otherCommands.has(word) ? refuseCommand(word) : refuseInteractive();
    const owned = refuseOwned(readWords([word]).read);
    if (owned !== undefined) return owned;
    at += valueCount(words, at);
  }
  return refuseInteractive();
}

/** How many of the words after the option at `at` are its values. */
function valueCount(words: readonly string[], at: number): number {
  const flag = readFlag(words[at] ?? '');
  const takes = valueOf(flag.name);
  if (takes === 'none' || (flag.glued !== undefined && takes === 'one')) return 0;
  if (takes === 'one') return 1;
  if (flag.glued !== undefined) return 0;
  let count = 0;
  for (const word of words.slice(at + 1)) {
    if (isOption(word) || word === '--') break;
    count++;
  }
  return count;
}

function isOption(word: string): boolean {
  return word.startsWith('-') && word !== '-' && word !== '--';
}

function readWords(words: readonly string[]): ReadWords {
  const options: string[] = [];
  const read: ReadOption[] = [];
  const positionals: string[] = [];
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? '';
    if (word === '--') {
      positionals.push(...words.slice(at + 1));
      break;
    }
    if (!isOption(word)) {
      positionals.push(word);
      continue;
    }
    const flag = readFlag(word);
    const values = words.slice(at + 1, at + 1 + valueCount(words, at));
    const typed = [word, ...values];
    options.push(...typed);
    read.push({ name: flag.name, words: typed, values: flag.glued === undefined ? values : [flag.glued] });
    at += values.length;
  }
  return { options, read, positionals };
}

function refuseOwned(read: readonly ReadOption[]): Parsed | undefined {
  for (const option of read) {
    const owned = ownedFlags.get(option.name);
    if (owned !== undefined) return { ok: false, argument: option.name, ...owned };
  }
  return undefined;
}

function refuseCommand(word: string): Parsed {
  const sentence =
    word === 'resume' || word === 'fork'
      ? 'Onward itself decides which conversation an attempt continues.'
      : `codex ${word} is not a task that can fail halfway and be continued.`;
  return { ok: false, argument: word, sentence, next: [useExec] };
}

function refuseSubcommand(positionals: readonly string[]): Parsed | undefined {
  const word = positionals[0];
  if (word === undefined || !execCommands.has(word)) return undefined;
  const sentence =
    word === 'resume' || word === 'fork'
      ? 'Onward itself decides which conversation an attempt continues.'
      : `codex exec ${word} cannot be continued after a failure.`;
  return { ok: false, argument: word, sentence, next: ['To continue a run of Onward: onward resume', useExec] };
}

function refuseInteractive(): Parsed {
  return {
    ok: false,
    argument: 'codex',
    sentence: 'Without exec codex opens its own screen, which cannot be supervised.',
    next: [useExec],
  };
}

function refuseExtra(own: ReadWords): Parsed | undefined {
  const extra = own.positionals[1];
  if (extra === undefined) return undefined;
  return {
    ok: false,
    argument: extra,
    sentence: 'codex exec takes one prompt, and this word comes beside it.',
    next: ['Put the prompt in quotes.', 'If the word is the value of an option, write it as --option=value.'],
  };
}

function refusePrompt(read: readonly ReadOption[]): Parsed {
  const image = read.find((option) => isFlag(option.name, '--image') && option.values.length > 1);
  const next = ['Give the prompt in quotes, or pipe it in and write - in its place.'];
  const hint = 'codex takes every word after --image as an image: put the prompt before it.';
  return {
    ok: false,
    argument: 'prompt',
    sentence: 'There is no prompt.',
    next: image === undefined ? next : [hint, ...next],
  };
}

/**
 * The first prompt as the bare codex would have built it: a prompt and piped text are joined as a `<stdin>` block
 * (observed on 0.171); `-` or no prompt means that the piped text is the prompt.
 */
function joinPrompt(prompt: string | undefined, stdin: string | undefined): string | undefined {
  const piped = stdin === undefined || stdin.trim() === '' ? undefined : stdin;
  if (prompt === undefined || prompt === '-') return piped;
  if (prompt.trim() === '') return undefined;
  if (piped === undefined) return prompt;
  return `${prompt}\n\n<stdin>\n${piped}${piped.endsWith('\n') ? '' : '\n'}</stdin>`;
}

/** What the agent may do, as far as its own command says. */
function permissions(read: readonly ReadOption[]): string {
  const names = read.map((option) => option.name);
  if (names.includes('--dangerously-bypass-approvals-and-sandbox') || names.includes('--yolo'))
    return 'danger-full-access (no sandbox, no approvals)';
  const sandbox = lastValue(read, '--sandbox') ?? configValue(read, 'sandbox_mode');
  if (sandbox !== undefined) return sandbox;
  if (names.includes('--full-auto')) return 'workspace-write (--full-auto)';
  if (names.includes('--approve-for-me')) return 'workspace-write (automatic review)';
  const profile = lastValue(read, '--profile');
  if (profile !== undefined) return `as profile ${profile} says (else read-only)`;
  return 'read-only (default, unless the configuration of codex says otherwise)';
}

function lastValue(read: readonly ReadOption[], spelling: string): string | undefined {
  return read.findLast((option) => isFlag(option.name, spelling))?.values.at(-1);
}

/** The value of the last `-c key=value` for this key; quotes of a TOML string are taken off. */
function configValue(read: readonly ReadOption[], key: string): string | undefined {
  const prefix = `${key}=`;
  const found = read.findLast((option) => isFlag(option.name, '--config') && option.values.at(-1)?.startsWith(prefix));
  return found?.values
    .at(-1)
    ?.slice(prefix.length)
    .replace(/^(["'])(.*)\1$/, '$2');
}
