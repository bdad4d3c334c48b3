/** Why a flag cannot be given. */
export interface OwnedFlag {
  readonly sentence: string;
  readonly next: readonly string[];
}

const session: OwnedFlag = {
  sentence: 'Onward chooses the session and continues it itself.',
  next: ['Leave the flag out; to go on with an older run of Onward: onward resume ID'],
};

const format: OwnedFlag = {
  sentence: 'Onward reads and writes the event stream itself.',
  next: ['Leave the flag out: Onward prints the answer as text', 'For events: onward run --json -- claude -p "..."'],
};

const elsewhere: OwnedFlag = {
  sentence: 'This runs the work where Onward cannot watch it.',
  next: ['Leave the flag out'],
};

const worktree: OwnedFlag = {
  sentence: 'Each attempt would make another worktree.',
  next: ['Make the worktree first (git worktree add ...) and start Onward in it'],
};

const owned: ReadonlyMap<string, OwnedFlag> = new Map([
  ['--output-format', format],
  ['--input-format', format],
  ['--replay-user-messages', format],
  ['--sdk-url', format],
  ['--session-mirror', format],
  ['--session-id', session],
  ['--resume', session],
  ['-r', session],
  ['--continue', session],
  ['-c', session],
  ['--fork-session', session],
  ['--from-pr', session],
  ['--resume-session-at', session],
  ['--rewind-files', session],
  ['--reply-on-resume', session],
  [
    '--no-session-persistence',
    {
      sentence: 'Without a saved session nothing can be continued after a failure.',
      next: ['Leave the flag out; to keep sessions elsewhere, set CLAUDE_CONFIG_DIR'],
    },
  ],
  ['--bg', elsewhere],
  ['--background', elsewhere],
  ['--cloud', elsewhere],
  ['--remote', elsewhere],
  ['--remote-control', elsewhere],
  ['--rc', elsewhere],
  ['--teleport', elsewhere],
  ['--worktree', worktree],
  ['-w', worktree],
  ['--tmux', worktree],
  ['--init-only', { sentence: 'This ends before any work begins.', next: ['Run it without Onward'] }],
  ['--help', { sentence: 'This only prints help.', next: ['claude --help'] }],
  ['-h', { sentence: 'This only prints help.', next: ['claude --help'] }],
  ['--version', { sentence: 'This only prints the version.', next: ['claude --version'] }],
  ['-v', { sentence: 'This only prints the version.', next: ['claude --version'] }],
]);

/** Why this flag cannot be given; `undefined` when it can. */
export function ownedFlag(name: string, value: string | undefined): OwnedFlag | undefined {
  if (name === '--permission-prompt-tool' && value === 'stdio')
    return {
      sentence: 'This makes the host answer permission questions, and nobody is there to answer.',
      next: ['Use --allowedTools or --permission-mode, or name an MCP tool that decides'],
    };
  return owned.get(name);
}
