import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { AnyTool, ToolContext } from '../../../../src/agent/index.ts';
import { approvalRule } from '../../../../src/library/chat/approval.ts';
import { chatTools } from '../../../../src/library/chat/tools/index.ts';
import { openWorkspace } from '../../../../src/library/chat/workspace.ts';

/** A folder with a working directory `work` and a directory `outside` beside it; removed afterwards. */
export function makePlace(): { readonly root: string; readonly work: string; readonly outside: string } {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'onward-chat-')));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const [work, outside] = [join(root, 'work'), join(root, 'outside')];
  for (const folder of [work, outside]) mkdirSync(folder);
  return { root, work, outside };
}

/** Runs a tool of a chat, past its schema and its approval. */
export async function runTool(work: string, name: string, input: unknown, signal?: AbortSignal): Promise<unknown> {
  return await (toolOf(work, name).run as (input: unknown, context: ToolContext) => unknown)(input, {
    session: 's',
    callId: 'c',
    signal: signal ?? new AbortController().signal,
    conclude: () => undefined,
    allowance: { exhausted: () => undefined, spend: () => undefined },
  });
}

const found = new Map<string, readonly AnyTool[]>();

function toolOf(work: string, name: string): AnyTool {
  const tool = found.get(work)?.find((candidate) => candidate.name === name);
  if (tool === undefined) throw new Error(`open the tools of ${work} first`);
  return tool;
}

/** Makes the tools of a working directory ready for `runTool`. */
export async function openTools(work: string, approve: 'none' | 'edits' | 'all' = 'none'): Promise<readonly AnyTool[]> {
  const env = { PATH: process.env['PATH'] ?? '/usr/bin:/bin' };
  const tools = chatTools(await openWorkspace(work), approvalRule(approve), env);
  found.set(work, tools);
  return tools;
}
