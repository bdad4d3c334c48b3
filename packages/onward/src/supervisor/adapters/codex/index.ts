import type { AgentAdapter } from '../../adapter.ts';
import { identify } from './identity.ts';
import { launch } from './launch.ts';
import { parse } from './parse.ts';
import { CodexReader } from './reader.ts';
import { sessionFile } from './session-file.ts';

/**
 * Codex by `codex exec --json`, one process per attempt, and its session file ("rollout"), which alone holds typed errors.
 * Facts recorded with codex-cli 0.171.0.
 */
export const codexAdapter: AgentAdapter = {
  name: 'codex',
  title: 'Codex',
  programs: ['codex'],
  preassignsId: false,
  parse,
  commandFor: (prompt) => ['codex', 'exec', prompt.startsWith('-') ? '--' : '', prompt].filter((word) => word !== ''),
  launch,
  reader: () => new CodexReader(),
  identify,
  sessionFile,
  wouldAllow: () =>
    'To allow it: start again with -s workspace-write (or another sandbox), or set sandbox_mode in config.toml and resume.',
  byHand: (program, sessionId) => `${program} exec resume ${sessionId} "PROMPT"`,
};
