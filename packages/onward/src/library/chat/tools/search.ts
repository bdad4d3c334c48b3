import { z } from 'zod';
import { type AnyTool, tool } from '../../../agent/index.ts';
import { OnwardError } from '../../../kernel/error.ts';
import { runCommand, systemClock } from '../../../processes/index.ts';
import type { Workspace } from '../workspace.ts';
import { cutMiddle } from './cut-middle.ts';

const input = z.object({
  pattern: z.string().min(1).max(1_000).describe('extended regular expression, as of grep -E'),
  path: z.string().min(1).optional().describe('file or directory to search in; default: all'),
  files: z.string().min(1).optional().describe('only files whose name fits, e.g. *.ts'),
  ignoreCase: z.boolean().optional(),
});

const timeoutMs = 60_000;
const mostBytes = 64 * 1024;

/** `search`: lines that fit a pattern. By grep, in a process of its own: no expression can hold this one up. */
export function searchTool(space: Workspace, env: Readonly<Record<string, string>>): AnyTool {
  return tool({
    name: 'search',
    description: 'Searches text files for lines that fit; leaves out .git, node_modules and binary files.',
    input,
    effect: 'none',
    parallel: true,
    async run({ pattern, path = '.', files, ignoreCase = false }, { signal }) {
      const real = await space.existing(path);
      const { code, stdout, stderr, ended } = await runCommand({
        argv: [
          'grep',
          '-rnIE',
          '-D',
          'skip',
          '--exclude-dir=.git',
          '--exclude-dir=node_modules',
          ...(ignoreCase ? ['-i'] : []),
          ...(files === undefined ? [] : [`--include=${files}`]),
          '-e',
          pattern,
          '--',
          space.shown(real),
        ],
        cwd: space.root,
        env: { ...env, LC_ALL: env['LC_ALL'] ?? 'C.UTF-8' },
        clock: systemClock,
        timeoutMs,
        maxBytes: mostBytes,
        dropMiddle: true,
        signal,
      });
      if (ended !== undefined) throw new OnwardError('chat/ended', `The search was ended (${ended}).`);
      if (code === 1 && stderr === '') return { lines: '' };
      if (code !== 0 && stdout === '')
        throw new OnwardError('chat/no-search', `grep could not search: ${stderr.slice(0, 300) || 'it is missing'}`);
      return { lines: cutMiddle(shortened(stdout)) };
    },
  });
}

/** One minified file must not fill the whole answer with one line. */
function shortened(lines: string): string {
  return lines
    .split('\n')
    .map((line) => (line.length <= 400 ? line : `${line.slice(0, 400)}...`))
    .join('\n');
}
