/** What the stand-in makes of a Claude Code command line. */
export interface ClaudeArgs {
  readonly prompt: string | undefined;
  readonly print: boolean;
  readonly version: boolean;
  readonly resume: string | undefined;
  readonly sessionId: string | undefined;
  readonly model: string;
  readonly permissionMode: string;
  readonly allowedTools: readonly string[];
  readonly inputFormat: string;
  readonly outputFormat: string;
  readonly verbose: boolean;
  readonly partial: boolean;
  readonly permissionPromptTool: string | undefined;
}

/** The command line, or what the real CLI says about a wrong one. */
export type ParsedArgs<T> = { readonly ok: true; readonly args: T } | { readonly ok: false; readonly error: string };

const withValue = new Set(
  (
    'agent agents append-system-prompt append-system-prompt-file debug-file effort fallback-model input-format json-schema ' +
    'max-budget-usd max-thinking-tokens max-turns model name output-format permission-mode permission-prompt-tool permission-prompts ' +
    'plugin-dir session-id setting-sources settings system-prompt system-prompt-file'
  ).split(' '),
);
const withValues = new Set(
  'add-dir allowed-tools allowedTools betas disallowed-tools disallowedTools file mcp-config tools'.split(' '),
);
const withOptionalValue = new Set('debug from-pr resume worktree'.split(' '));
const plain = new Set(
  (
    'allow-dangerously-skip-permissions bare brief chrome continue dangerously-skip-permissions disable-slash-commands ' +
    'exclude-dynamic-system-prompt-sections fork-session ide include-hook-events include-partial-messages no-chrome ' +
    'no-session-persistence print replay-user-messages strict-mcp-config verbose version'
  ).split(' '),
);
const short: { readonly [letter: string]: string } = {
  c: 'continue',
  d: 'debug',
  h: 'help',
  n: 'name',
  p: 'print',
  r: 'resume',
  v: 'version',
  w: 'worktree',
};

/** Reads the arguments as Claude Code does: a list option swallows what follows it, up to the next option. */
export function parseClaudeArgs(argv: readonly string[]): ParsedArgs<ClaudeArgs> {
  const options = new Map<string, string[]>();
  const free: string[] = [];
  for (let index = 0; index < argv.length; index++) {
    const word = argv[index] ?? '';
    if (word === '--') {
      free.push(...argv.slice(index + 1));
      break;
    }
    if (!word.startsWith('-') || word === '-') {
      free.push(word);
      continue;
    }
    const taken = option(argv, index, word);
    if (taken === undefined) return { ok: false, error: `error: unknown option '${word}'` };
    options.set(taken.name, [...(isList(taken.name) ? (options.get(taken.name) ?? []) : []), ...taken.values]);
    index += taken.used;
  }
  return { ok: true, args: meaning(options, free) };
}

/** Only a list option adds up; of any other one the last wins. */
const isList = (name: string): boolean => withValues.has(name);

function option(
  argv: readonly string[],
  index: number,
  word: string,
): { readonly name: string; readonly values: string[]; readonly used: number } | undefined {
  const long = word.startsWith('--');
  const [given, inline] = long ? splitOnce(word.slice(2)) : [short[word.slice(1)] ?? ''];
  const next = argv[index + 1];
  if (plain.has(given)) return inline === undefined ? { name: given, values: [], used: 0 } : undefined;
  if (inline !== undefined) return takesValue(given) ? { name: given, values: [inline], used: 0 } : undefined;
  if (withValue.has(given)) return next === undefined ? undefined : { name: given, values: [next], used: 1 };
  if (withOptionalValue.has(given)) {
    return next === undefined || next.startsWith('-')
      ? { name: given, values: [], used: 0 }
      : { name: given, values: [next], used: 1 };
  }
  if (!withValues.has(given)) return undefined;
  const rest = argv.slice(index + 1);
  const end = rest.findIndex((value) => value.startsWith('-'));
  const values = end === -1 ? rest : rest.slice(0, end);
  return { name: given, values: [...values], used: values.length };
}

const takesValue = (name: string): boolean =>
  withValue.has(name) || withValues.has(name) || withOptionalValue.has(name);

function splitOnce(word: string): [string, string?] {
  const at = word.indexOf('=');
  return at === -1 ? [word] : [word.slice(0, at), word.slice(at + 1)];
}

function meaning(options: ReadonlyMap<string, string[]>, free: readonly string[]): ClaudeArgs {
  const last = (name: string): string | undefined => options.get(name)?.at(-1);
  const skip = options.has('dangerously-skip-permissions');
  const allowed = [...(options.get('allowedTools') ?? []), ...(options.get('allowed-tools') ?? [])];
  return {
    prompt: free[0],
    print: options.has('print'),
    version: options.has('version'),
    resume: last('resume'),
    sessionId: last('session-id'),
    model: last('model') ?? 'claude-sonnet-4-5',
    permissionMode: skip ? 'bypassPermissions' : (last('permission-mode') ?? 'default'),
    allowedTools: allowed.flatMap((value) => value.split(/[, ]+(?![^(]*\))/)).filter((value) => value !== ''),
    inputFormat: last('input-format') ?? 'text',
    outputFormat: last('output-format') ?? 'text',
    verbose: options.has('verbose'),
    partial: options.has('include-partial-messages'),
    permissionPromptTool: last('permission-prompt-tool'),
  };
}
