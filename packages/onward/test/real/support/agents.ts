import {
  claudeEnvironment,
  codexAuth,
  codexConfig,
  codexDefaultConfig,
  codexEnvironment,
  type CodexRetries,
} from '../../../src/lab/index.ts';
import type { Place } from './place.ts';

/** The agents under test. */
export type AgentName = 'claude' | 'codex';

/** How an agent is set up for one run. */
export interface Setup {
  /** Its own environment, besides the place's. */
  readonly env: Readonly<Record<string, string>>;
  readonly command: readonly string[];
}

/** What a test may want otherwise. */
export interface SetupOptions {
  /** Flags of the agent that give its permissions; the default lets it use its shell. */
  readonly permissions?: readonly string[];
  /** Codex's own retries; none unless given, so that each failed request is one failed attempt. */
  readonly retries?: CodexRetries;
  /** Codex as a logged-in user has it, whose retries cannot be changed. */
  readonly ownProvider?: boolean;
  /** Lines in front of Codex's configuration. */
  readonly config?: string;
}

export const PROMPT = 'Do the task of the lab.';

/** Writes the agent's own configuration into the place and gives the command that a user would type. */
export function setUp(agent: AgentName, place: Place, url: string, options: SetupOptions = {}): Setup {
  return agent === 'claude' ? setUpClaude(url, options) : setUpCodex(place, url, options);
}

function setUpClaude(url: string, { permissions = ['--allowedTools', 'Bash'] }: SetupOptions): Setup {
  return {
    // A user's own variable: its own retries of an overload begin after this time instead of half a second.
    env: { ...claudeEnvironment(url), CLAUDE_CODE_OVERLOADED_RETRY_BASE_DELAY_MS: '50' },
    command: ['claude', '-p', PROMPT, ...permissions, '--model', 'claude-sonnet-4-5'],
  };
}

function setUpCodex(place: Place, url: string, options: SetupOptions): Setup {
  const { permissions = ['-s', 'danger-full-access'], retries = { request: 0, stream: 0 }, config = '' } = options;
  const settings = options.ownProvider === true ? codexDefaultConfig(url) : codexConfig(url, retries);
  place.write('home/.codex/config.toml', config + settings);
  if (options.ownProvider === true) place.write('home/.codex/auth.json', codexAuth());
  return {
    env: options.ownProvider === true ? {} : codexEnvironment(),
    command: ['codex', 'exec', '--skip-git-repo-check', ...permissions, PROMPT],
  };
}
