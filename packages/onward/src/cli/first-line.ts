import type { RunState } from '../supervisor/index.ts';
import { showDuration } from './duration.ts';
import type { Io } from './io.ts';
import { oneLine } from './plain-text.ts';

/** What is said first of a run: who runs where, with which permissions, on whose money, and how far. */
export function firstLine(io: Io, title: string, { id, accepted }: RunState): string {
  const { retry, timeouts } = accepted.policy.policy;
  const waits = retry.scheduleMs.length === 0 ? 'no retry' : `waits ${retry.scheduleMs.map(showDuration).join(', ')}`;
  const wall = timeouts.wallMs === 0 ? 'no time limit' : showDuration(timeouts.wallMs);
  // Agents add their own name: "2.1.197 (Claude Code)", "codex-cli 0.171.0".
  const version = /\d+\.\d+[\w.+-]*/.exec(accepted.version)?.[0] ?? 'of unknown version';
  const parts = [
    `${io.color('bold', `${title} ${version}`)} in ${oneLine(accepted.cwd, 500)}`,
    `permissions: ${oneLine(accepted.command.permissions, 300)}`,
    `billing: ${oneLine(accepted.identity.billing, 100)}`,
    `limits: ${waits}; ${retry.total} attempts; ${wall}`,
    `run ${id}`,
  ];
  return parts.join(' | ');
}
