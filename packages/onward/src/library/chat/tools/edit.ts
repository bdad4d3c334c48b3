import { z } from 'zod';
import { type AnyTool, tool } from '../../../agent/index.ts';
import { OnwardError } from '../../../kernel/error.ts';
import type { ApprovalRule } from '../approval.ts';
import type { Workspace } from '../workspace.ts';
import { readText, writeText } from './file-text.ts';

const input = z.object({
  path: z.string().min(1).describe('relative to the working directory'),
  old: z.string().min(1).describe('exact text that is in the file once'),
  new: z.string().describe('what stands there afterwards'),
  all: z.boolean().optional().describe('replace every place instead of the only one'),
});

/** `edit`: replaces a piece of a file that is found exactly. */
export function editTool(space: Workspace, approval: ApprovalRule): AnyTool {
  return tool({
    name: 'edit',
    description: 'Replaces an exact piece of a text file. The piece must be there once, unless all is true.',
    input,
    effect: 'untracked',
    ...approval<z.infer<typeof input>>('edit', ({ path, old, new: text }) => {
      const lines = `${old.split('\n').length} lines by ${text.split('\n').length}`;
      return `Edit ${JSON.stringify(path)} (replace ${lines})?`;
    }),
    async run({ path, old, new: text, all = false }) {
      const real = await space.existing(path);
      const parts = (await readText(real, path)).split(old);
      const places = parts.length - 1;
      if (places === 0) throw notOnce(path, 'is not in it; read it first');
      if (places > 1 && !all) throw notOnce(path, `is in it ${places} times; give more of what is around it`);
      await writeText(real, parts.join(text));
      return { path: space.shown(real), places };
    },
  });
}

function notOnce(path: string, what: string): OnwardError {
  return new OnwardError('chat/no-place', `Nothing was changed in ${path}: the text ${what}.`, { place: path });
}
