import { z } from 'zod';
import { type AnyTool, tool } from '../../../agent/index.ts';
import { OnwardError } from '../../../kernel/error.ts';
import { runCommand, startLastingGuard, systemClock, systemIds } from '../../../processes/index.ts';
import type { ApprovalRule } from '../approval.ts';
import type { Workspace } from '../workspace.ts';
import { cutMiddle } from './cut-middle.ts';

const input = z.object({
  command: z.string().min(1).max(100_000).describe('for sh -c, in the working directory, without input'),
  seconds: z.number().int().min(1).max(1_500).optional().describe('time it may take; default 120'),
});

const mostBytes = 64 * 1024;

/** `shell`: runs a command. It is not confined to the working directory; that is what the approval is for. */
export function shellTool(space: Workspace, approval: ApprovalRule, env: Readonly<Record<string, string>>): AnyTool {
  return tool({
    name: 'shell',
    description: 'Runs a shell command and gives its exit code and output. Long output is cut in the middle.',
    input,
    effect: 'untracked',
    ...approval<z.infer<typeof input>>('shell', ({ command }) => `Run ${JSON.stringify(command.slice(0, 500))}?`),
    async run({ command, seconds = 120 }, { signal }) {
      const { code, stdout, stderr, ended } = await guarded(async (marker) =>
        runCommand({
          argv: ['/bin/sh', '-c', command],
          cwd: space.root,
          env: { ...env, ONWARD_ATTEMPT: marker },
          clock: systemClock,
          timeoutMs: seconds * 1_000,
          maxBytes: mostBytes,
          dropMiddle: true,
          signal,
        }),
      );
      if (ended === 'signal') throw new OnwardError('chat/ended', 'The command and its group were killed.');
      const output = { stdout: cutMiddle(stdout), stderr: cutMiddle(stderr) };
      if (ended === undefined) return { exitCode: code ?? null, ...output };
      return { exitCode: null, ended: `killed after ${seconds} s; it may have done a part of its work`, ...output };
    },
  });
}

/** Runs something so that it does not outlive this process, however that ends: nobody would know what it still does. */
async function guarded<Result>(act: (marker: string) => Promise<Result>): Promise<Result> {
  const marker = `chat-${systemIds.uuid()}`;
  const started = await startLastingGuard({ marker });
  if (!started.started) throw new OnwardError('chat/no-guard', `Nothing was run: ${started.fault.sentence}`);
  try {
    return await act(marker);
  } finally {
    await started.guard.release();
  }
}
