import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { AgentPlace } from '../../adapter.ts';

/** Where codex keeps its things: `$CODEX_HOME`, else `~/.codex`; `undefined` when neither is known. */
export function codexHome(place: AgentPlace): string | undefined {
  const own = place.env['CODEX_HOME'];
  if (own !== undefined && own !== '') return own;
  const home = place.env['HOME'];
  return home === undefined || home === '' ? undefined : join(home, '.codex');
}

/**
 * The rollout file of a conversation: `sessions/YYYY/MM/DD/rollout-<local time>-<id>.jsonl`. A resumed conversation stays in
 * the file of its first day; newest days are looked at first.
 */
export async function sessionFile(place: AgentPlace, sessionId: string): Promise<string | undefined> {
  const home = codexHome(place);
  if (home === undefined || sessionId === '') return undefined;
  return await find(join(home, 'sessions'), `-${sessionId}.jsonl`, 3);
}

async function find(folder: string, ending: string, depth: number): Promise<string | undefined> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const file = entries.find((entry) => entry.name.startsWith('rollout-') && entry.name.endsWith(ending));
  if (file !== undefined) return join(folder, file.name);
  if (depth === 0) return undefined;
  const days = entries.filter((entry) => entry.isDirectory() && /^\d+$/.test(entry.name)).map((entry) => entry.name);
  for (const name of days.toSorted().toReversed()) {
    const found = await find(join(folder, name), ending, depth - 1);
    if (found !== undefined) return found;
  }
  return undefined;
}
