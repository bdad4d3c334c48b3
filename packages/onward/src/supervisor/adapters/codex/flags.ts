/** Where an option may stand: `global` before or after `exec`, `root` only before it, `exec` only after it. */
export interface FlagSpec {
  readonly names: readonly string[];
  /** `one` value, `many` (every word up to the next flag), or none. */
  readonly value: 'none' | 'one' | 'many';
}

/** An option that cannot be supervised, and why. */
export interface OwnedFlag {
  readonly sentence: string;
  readonly next: readonly string[];
}

/** The options of `codex` and `codex exec` that take a value; everything else is a switch. From `codex exec --help` 0.171. */
export const valueFlags: readonly FlagSpec[] = [
  { names: ['-c', '--config'], value: 'one' },
  { names: ['--enable'], value: 'one' },
  { names: ['--disable'], value: 'one' },
  { names: ['-i', '--image'], value: 'many' },
  { names: ['-m', '--model'], value: 'one' },
  { names: ['--local-provider'], value: 'one' },
  { names: ['-p', '--profile'], value: 'one' },
  { names: ['-s', '--sandbox'], value: 'one' },
  { names: ['-a', '--ask-for-approval'], value: 'one' },
  { names: ['-C', '--cd'], value: 'one' },
  { names: ['--add-dir'], value: 'one' },
  { names: ['--thread-source'], value: 'one' },
  { names: ['--cyber-access-program'], value: 'one' },
  { names: ['--output-schema'], value: 'one' },
  { names: ['--color'], value: 'one' },
  { names: ['-o', '--output-last-message'], value: 'one' },
  { names: ['--remote'], value: 'one' },
  { names: ['--remote-auth-token-env'], value: 'one' },
];

const ownsResume = 'Onward itself decides which conversation an attempt continues.';

/** Options that Onward sets itself, or that take away what supervision needs. */
export const ownedFlags: ReadonlyMap<string, OwnedFlag> = new Map([
  [
    '--json',
    {
      sentence: 'Onward reads the event stream of codex itself, so it sets --json.',
      next: ['Leave --json out; for events of Onward write: onward run --json -- codex exec ...'],
    },
  ],
  [
    '--ephemeral',
    {
      sentence: 'With --ephemeral codex keeps no session, so nothing could be continued after a failure.',
      next: ['Leave --ephemeral out.'],
    },
  ],
  ['--last', { sentence: ownsResume, next: ['Leave --last out; to continue a run of Onward: onward resume'] }],
  ['--all', { sentence: ownsResume, next: ['Leave --all out; to continue a run of Onward: onward resume'] }],
  [
    '--worktree',
    {
      sentence: 'With --worktree each attempt would begin in another new worktree, without the work of the one before.',
      next: ['Make the worktree first (git worktree add DIR), then pass --cd DIR.'],
    },
  ],
  [
    '--remote',
    {
      sentence: 'With --remote the agent runs in another process that Onward can neither watch nor end.',
      next: ['Leave --remote out, or run Onward on the machine where the agent works.'],
    },
  ],
  ['--help', { sentence: 'This asks for help; there is nothing to supervise.', next: ['Run it without Onward.'] }],
  [
    '--version',
    { sentence: 'This asks for the version; there is nothing to supervise.', next: ['Run it without Onward.'] },
  ],
]);

const shortNames: ReadonlyMap<string, string> = new Map([
  ['-h', '--help'],
  ['-V', '--version'],
]);

/** Words after `codex` that name a command other than `exec`. */
export const otherCommands: ReadonlySet<string> = new Set(
  (
    'agents review login logout mcp plugin app-server remote-control completion update doctor sandbox debug apply a ' +
    'resume queue archive delete migrate-rollouts migrate-nfs-db unarchive fork cloud exec-server features help'
  ).split(' '),
);

/** Words after `codex exec` that name a command of it. */
export const execCommands: ReadonlySet<string> = new Set(['resume', 'fork', 'review', 'help']);

/** One option as written: its long or short name, and a value glued to it (`--sandbox=x`, `-mX`), if any. */
export interface WrittenFlag {
  readonly name: string;
  readonly glued?: string;
}

/** Splits `--name=value`, `-nvalue` and `-n=value`. */
export function readFlag(word: string): WrittenFlag {
  if (word.startsWith('--')) {
    const at = word.indexOf('=');
    return at === -1 ? { name: word } : { name: word.slice(0, at), glued: word.slice(at + 1) };
  }
  const name = shortNames.get(word.slice(0, 2)) ?? word.slice(0, 2);
  const glued = word.slice(2).replace(/^=/, '');
  return glued === '' ? { name } : { name, glued };
}

/** How many values this option takes. */
export function valueOf(name: string): FlagSpec['value'] {
  return valueFlags.find((flag) => flag.names.includes(name))?.value ?? 'none';
}

/** True when the option is `name` or one of its other spellings. */
export function isFlag(name: string, spelling: string): boolean {
  return name === spelling || valueFlags.some((flag) => flag.names.includes(name) && flag.names.includes(spelling));
}
