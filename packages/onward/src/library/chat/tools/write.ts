import { z } from 'zod';
import { type AnyTool, tool } from '../../../agent/index.ts';
import type { ApprovalRule } from '../approval.ts';
import type { Workspace } from '../workspace.ts';
import { writeText } from './file-text.ts';

const input = z.object({
  path: z.string().min(1).describe('relative to the working directory'),
  text: z.string().describe('all of the new content'),
});

/** `write`: makes a file or replaces what it holds. */
export function writeTool(space: Workspace, approval: ApprovalRule): AnyTool {
  return tool({
    name: 'write',
    description: 'Writes a whole file, replacing what was there. Missing directories are made.',
    input,
    effect: 'untracked',
    ...approval<z.infer<typeof input>>(
      'edit',
      ({ path, text }) => `Write ${JSON.stringify(path)} (${text.length} characters)?`,
    ),
    async run({ path, text }) {
      const real = await space.writable(path);
      await writeText(real, text);
      return { path: space.shown(real), characters: text.length };
    },
  });
}
