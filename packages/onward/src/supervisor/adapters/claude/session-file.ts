import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { AgentPlace } from '../../adapter.ts';

/** The folder in which Claude Code keeps its things; `undefined` when the environment names no home. */
export function claudeHome(place: AgentPlace): string | undefined {
  const own = place.env['CLAUDE_CONFIG_DIR'];
  if (own !== undefined && own !== '') return own;
  const home = place.env['HOME'];
  return home === undefined || home === '' ? undefined : join(home, '.claude');
}

/**
 * The file of a session: `projects/<cwd with dashes>/<id>.jsonl`. All projects are looked through, since the CLI shortens
 * long names its own way. Two of them (after a move to another folder): the one written last.
 */
export async function sessionFile(place: AgentPlace, sessionId: string): Promise<string | undefined> {
  const home = claudeHome(place);
  if (home === undefined || !/^[0-9A-Za-z-]+$/u.test(sessionId)) return undefined;
  const projects = join(home, 'projects');
  const folders = await readdir(projects).catch(() => []);
  const files = await Promise.all(folders.map((folder) => written(join(projects, folder, `${sessionId}.jsonl`))));
  const found = files.filter((file) => file !== undefined).toSorted((a, b) => b.at - a.at);
  return found[0]?.path;
}

async function written(path: string): Promise<{ readonly path: string; readonly at: number } | undefined> {
  const found = await stat(path).catch(() => undefined);
  return found?.isFile() === true ? { path, at: found.mtimeMs } : undefined;
}
