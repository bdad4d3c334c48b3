import { readdir, stat } from 'node:fs/promises';
import { z } from 'zod';
import { type AnyTool, tool } from '../../../agent/index.ts';
import type { Workspace } from '../workspace.ts';
import { cutMiddle } from './cut-middle.ts';
import { readText } from './file-text.ts';

const input = z.object({
  path: z.string().min(1).describe('file or directory, relative to the working directory'),
  from: z.number().int().min(1).optional().describe('first line, counted from 1'),
  lines: z.number().int().min(1).max(5_000).optional().describe('how many lines; default 2000'),
});

/** `read`: the lines of a file, or the names in a directory. Changes nothing. */
export function readTool(space: Workspace): AnyTool {
  return tool({
    name: 'read',
    description: 'Reads a text file (some of its lines), or lists a directory. Long output is cut in the middle.',
    input,
    effect: 'none',
    parallel: true,
    async run({ path, from = 1, lines = 2_000 }) {
      const real = await space.existing(path);
      if ((await stat(real)).isDirectory()) return { path: space.shown(real), names: await namesIn(real) };
      const all = (await readText(real, path)).split('\n');
      const text = all.slice(from - 1, from - 1 + lines).join('\n');
      return { path: space.shown(real), from, lines: all.length, text: cutMiddle(text) };
    },
  });
}

async function namesIn(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  const names = entries.map((entry) => `${entry.name.toWellFormed()}${entry.isDirectory() ? '/' : ''}`).toSorted();
  return names.length <= 1_000 ? names : [...names.slice(0, 1_000), `... and ${names.length - 1_000} more`];
}
