import type { AgentAdapter } from '../../adapter.ts';
import { keeps } from './calls.ts';
import { identify } from './identity.ts';
import { launch } from './launch.ts';
import { parse } from './parse.ts';
import { claudeReader } from './reader.ts';
import { sessionFile } from './session-file.ts';

/**
 * Claude Code by stream-json in both directions, one process per attempt. Facts recorded with 2.1.197, the control
 * protocol also with 2.1.318.
 */
export const claudeAdapter: AgentAdapter = {
  name: 'claude',
  title: 'Claude Code',
  programs: ['claude'],
  preassignsId: true,
  parse,
  commandFor: (prompt) => (prompt.startsWith('-') ? ['claude', '-p', '--', prompt] : ['claude', '-p', prompt]),
  launch,
  reader: claudeReader,
  identify,
  sessionFile,
  keeps,
  wouldAllow: (denied) => {
    const tools = [...new Set(denied.map((call) => call.tool))].join(' ');
    return `To allow it: start again with --allowedTools ${tools}, or allow it in the settings of Claude Code and resume.`;
  },
  byHand: (program, sessionId) => `${program} --resume ${sessionId}`,
};
