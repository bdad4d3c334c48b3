/** How many values a flag takes, as the CLI's own argument parser counts them. */
export type Arity = 'none' | 'one' | 'optional' | 'many';

const one: readonly string[] = [
  '--advisor',
  '--agent',
  '--agents',
  '--agent-color',
  '--agent-id',
  '--agent-name',
  '--agent-type',
  '--append-system-prompt',
  '--append-system-prompt-file',
  '--debug-file',
  '--effort',
  '--fallback-model',
  '--input-format',
  '--json-schema',
  '--managed-settings',
  '--max-budget-usd',
  '--max-thinking-tokens',
  '--max-turns',
  '--model',
  '--name',
  '-n',
  '--output-format',
  '--parent-session-id',
  '--permission-mode',
  '--permission-prompt-tool',
  '--permission-prompts',
  '--plan-mode-instructions',
  '--plugin-dir',
  '--plugin-dir-no-mcp',
  '--plugin-url',
  '--prefill',
  '--remote-control-session-name-prefix',
  '--resume-session-at',
  '--rewind-files',
  '--sdk-url',
  '--session-id',
  '--setting-sources',
  '--settings',
  '--system-prompt',
  '--system-prompt-file',
  '--task-budget',
  '--team-name',
  '--teammate-mode',
  '--thinking',
  '--thinking-display',
  '--workload',
];

const optional: readonly string[] = [
  '--cloud',
  '--debug',
  '-d',
  '--from-pr',
  '--prompt-suggestions',
  '--rc',
  '--remote',
  '--remote-control',
  '--resume',
  '-r',
  '--teleport',
  '--worktree',
  '-w',
];

const many: readonly string[] = [
  '--add-dir',
  '--allowedTools',
  '--allowed-tools',
  '--betas',
  '--channels',
  '--dangerously-load-development-channels',
  '--disallowedTools',
  '--disallowed-tools',
  '--file',
  '--mcp-config',
  '--tools',
];

const none: readonly string[] = [
  '--allow-dangerously-skip-permissions',
  '--ax-screen-reader',
  '--background',
  '--bare',
  '--bg',
  '--brief',
  '--chrome',
  '--continue',
  '-c',
  '--cowork',
  '--dangerously-skip-permissions',
  '--disable-slash-commands',
  '--enable-auth-status',
  '--enable-auto-mode',
  '--exclude-dynamic-system-prompt-sections',
  '--fork-session',
  '--help',
  '-h',
  '--ide',
  '--include-hook-events',
  '--include-partial-messages',
  '--init',
  '--init-only',
  '--maintenance',
  '--no-chrome',
  '--no-session-persistence',
  '--plan-mode-required',
  '--print',
  '-p',
  '--replay-user-messages',
  '--reply-on-resume',
  '--safe-mode',
  '--session-mirror',
  '--strict-mcp-config',
  '--tmux',
  '--verbose',
  '--version',
  '-v',
  '--xaa',
];

const arities: ReadonlyMap<string, Arity> = new Map<string, Arity>([
  ...one.map((name): [string, Arity] => [name, 'one']),
  ...optional.map((name): [string, Arity] => [name, 'optional']),
  ...many.map((name): [string, Arity] => [name, 'many']),
  ...none.map((name): [string, Arity] => [name, 'none']),
]);

/** The arity of a flag of 2.1.197 or documented for a later version; `undefined` for one that is not known. */
export function arityOf(flag: string): Arity | undefined {
  return arities.get(flag);
}

/** One flag of a command, or one word that is no flag. */
export type Argument =
  | {
      readonly kind: 'flag';
      readonly name: string;
      /** Values, also those written as `--name=value`. */
      readonly values: readonly string[];
      /** The words as the user wrote them. */
      readonly words: readonly string[];
      readonly known: boolean;
    }
  | {
      readonly kind: 'word';
      readonly text: string;
      /** True right after a flag that is not known: it may be that flag's value. */
      readonly doubtful: boolean;
    };

/** Splits arguments as the CLI does: values belong to their flags, everything after `--` is a word. */
export function readArguments(words: readonly string[]): readonly Argument[] {
  const read: Argument[] = [];
  let at = 0;
  while (at < words.length) {
    const word = words[at] ?? '';
    if (word === '--') {
      for (const text of words.slice(at + 1)) read.push({ kind: 'word', text, doubtful: false });
      break;
    }
    if (!isFlag(word)) {
      const before = read.at(-1);
      read.push({ kind: 'word', text: word, doubtful: before?.kind === 'flag' && !before.known });
      at++;
      continue;
    }
    const flag = readFlag(words, at);
    read.push(...flag.flags);
    at = flag.next;
  }
  return read;
}

function isFlag(word: string): boolean {
  return word.length > 1 && word.startsWith('-');
}

function readFlag(words: readonly string[], at: number): { flags: readonly Argument[]; next: number } {
  const word = words[at] ?? '';
  if (!word.startsWith('--') && word.length > 2) return readShort(words, at);
  const equals = word.startsWith('--') ? word.indexOf('=') : -1;
  const name = equals < 0 ? word : word.slice(0, equals);
  const arity = arityOf(name);
  const known = arity !== undefined;
  if (equals >= 0) {
    const values = [word.slice(equals + 1)];
    return { flags: [{ kind: 'flag', name, values, words: [word], known }], next: at + 1 };
  }
  const taken = countValues(arity ?? 'none', words, at + 1);
  const values = words.slice(at + 1, at + 1 + taken);
  return { flags: [{ kind: 'flag', name, values, words: [word, ...values], known }], next: at + 1 + taken };
}

/** `-pc` is `-p -c`, `-rID` is `-r ID`. */
function readShort(words: readonly string[], at: number): { flags: readonly Argument[]; next: number } {
  const word = words[at] ?? '';
  const name = word.slice(0, 2);
  const rest = word.slice(2);
  const arity = arityOf(name);
  if (arity === undefined)
    return { flags: [{ kind: 'flag', name: word, values: [], words: [word], known: false }], next: at + 1 };
  if (arity !== 'none')
    return { flags: [{ kind: 'flag', name, values: [rest], words: [word], known: true }], next: at + 1 };
  const others = readFlag([...words.slice(0, at), `-${rest}`, ...words.slice(at + 1)], at);
  return {
    flags: [{ kind: 'flag', name, values: [], words: [name], known: true }, ...others.flags],
    next: others.next,
  };
}

function countValues(arity: Arity, words: readonly string[], from: number): number {
  const first = words[from];
  switch (arity) {
    case 'none':
      return 0;
    case 'one':
      return first === undefined ? 0 : 1;
    case 'optional':
      return first === undefined || isFlag(first) ? 0 : 1;
    case 'many': {
      let count = first === undefined ? 0 : 1;
      for (let word = words[from + count]; word !== undefined && !isFlag(word); word = words[from + count]) count++;
      return count;
    }
    default:
      return arity satisfies never;
  }
}
