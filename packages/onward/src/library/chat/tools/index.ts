import type { AnyTool } from '../../../agent/index.ts';
import type { ApprovalRule } from '../approval.ts';
import type { Workspace } from '../workspace.ts';
import { editTool } from './edit.ts';
import { readTool } from './read.ts';
import { searchTool } from './search.ts';
import { shellTool } from './shell.ts';
import { writeTool } from './write.ts';

/** The tools of a chat. `env` is what the programs that they start see. */
export function chatTools(
  space: Workspace,
  approval: ApprovalRule,
  env: Readonly<Record<string, string>>,
): readonly AnyTool[] {
  return [
    readTool(space),
    searchTool(space, env),
    writeTool(space, approval),
    editTool(space, approval),
    shellTool(space, approval, env),
  ];
}
