import type { ParsedArgs } from '../claude/args.ts';

/** What the stand-in makes of a Codex command line. */
export interface CodexArgs {
  readonly version: boolean;
  /** Id of the thread to resume. */
  readonly resume: string | undefined;
  /** `-` or absent: the prompt is on standard input. */
  readonly prompt: string | undefined;
  readonly json: boolean;
  readonly model: string;
  readonly sandbox: string;
}

const withValue = new Set(
  (
    '-c --config --enable --disable --remote --remote-auth-token-env -m --model --local-provider -p --profile -s --sandbox ' +
    '-C --cd --add-dir --thread-source --output-schema --color -o --output-last-message -i --image'
  ).split(' '),
);
const plain = new Set(
  (
    '--strict-config --oss --approve-for-me --dangerously-bypass-approvals-and-sandbox --dangerously-bypass-hook-trust ' +
    '--worktree --skip-git-repo-check --trust --ephemeral --ignore-user-config --ignore-rules --json --full-auto --last --all'
  ).split(' '),
);
/** Flags which `exec` knows, but `exec resume` does not: they must stand before the word `resume`. */
const notAfterResume = new Set(
  '-s --sandbox -C --cd -p --profile --add-dir --oss --local-provider --color --approve-for-me --full-auto'.split(' '),
);

interface Words {
  readonly free: string[];
  readonly options: Map<string, string>;
  readonly error?: string;
}

/** Reads `exec [flags] [PROMPT|-]` and `exec [flags] resume [flags] ID [PROMPT|-]`. */
export function parseCodexArgs(argv: readonly string[]): ParsedArgs<CodexArgs> {
  if (argv.includes('--version') || argv.includes('-V'))
    return { ok: true, args: meaning({ free: [], options: new Map() }, true) };
  const exec = argv.indexOf('exec');
  if (exec === -1) return { ok: false, error: 'This stand-in plays only `codex exec`.' };
  const words = sort([...argv.slice(0, exec), ...argv.slice(exec + 1)]);
  return words.error === undefined ? { ok: true, args: meaning(words, false) } : { ok: false, error: words.error };
}

function sort(argv: readonly string[]): Words {
  const words: Words = { free: [], options: new Map() };
  for (let index = 0; index < argv.length; index++) {
    const word = argv[index] ?? '';
    if (word === '--') {
      words.free.push(...argv.slice(index + 1));
      break;
    }
    if (!word.startsWith('-') || word === '-') {
      words.free.push(word);
      continue;
    }
    const [name = word, inline] = word.startsWith('--') ? word.split(/=(.*)/s) : [word];
    const unexpected = words.free[0] === 'resume' ? notAfterResume.has(name) : name === '--last' || name === '--all';
    if (unexpected || (!withValue.has(name) && !plain.has(name))) {
      return { ...words, error: `error: unexpected argument '${name}' found` };
    }
    words.options.set(name, inline ?? (withValue.has(name) ? (argv[++index] ?? '') : ''));
  }
  return words;
}

function meaning({ free, options }: Words, version: boolean): CodexArgs {
  const resuming = free[0] === 'resume';
  return {
    version,
    resume: resuming ? (free[1] ?? '') : undefined,
    prompt: resuming ? free[2] : free[0],
    json: options.has('--json'),
    model: options.get('-m') ?? options.get('--model') ?? 'gpt-5.1-codex',
    sandbox: options.has('--dangerously-bypass-approvals-and-sandbox')
      ? 'danger-full-access'
      : (options.get('-s') ??
        options.get('--sandbox') ??
        sandboxOf(options.get('-c') ?? options.get('--config')) ??
        'read-only'),
  };
}

function sandboxOf(config: string | undefined): string | undefined {
  return /^sandbox_mode="?([a-z-]+)"?$/.exec(config ?? '')?.[1];
}
