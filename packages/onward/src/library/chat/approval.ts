import type { Approval } from '../../agent/index.ts';
import { OnwardError } from '../../kernel/error.ts';

/** What needs nobody's word: nothing, writing and editing files, or shell commands as well. */
export type Approve = 'none' | 'edits' | 'all';

/** Adds what a person must agree to first to a tool: `edit` for files, `shell` for commands. */
export type ApprovalRule = <Input>(
  kind: 'edit' | 'shell',
  text: (input: Input) => string,
) => { readonly approval?: Approval<Input> };

/** The rule that goes with a level. Its version is part of each question: an answer to another rule does not count. */
export function approvalRule(approve: Approve): ApprovalRule {
  return (kind, text) => {
    if (approve === 'all' || (approve === 'edits' && kind === 'edit')) return {};
    return { approval: { version: `chat/1:${kind}`, text } };
  };
}

/** Reads a level. Throws `cli/bad-choice`. */
export function readApprove(text: string): Approve {
  if (text === 'none' || text === 'edits' || text === 'all') return text;
  throw new OnwardError('cli/bad-choice', `--approve must be none, edits or all; it is ${JSON.stringify(text)}.`, {
    place: '--approve',
    next: ['none: every change is asked about. edits: files may be written. all: shell commands may be run, too.'],
  });
}
