import { existsSync } from 'node:fs';
import { createDeps, stateFolder } from '../../library/index.ts';
import { ensurePrivateDir, startGuard } from '../../processes/index.ts';
import { isOnwardError } from '../../kernel/error.ts';
import { placeOf } from '../../supervisor/index.ts';
import { counted, table } from '../describe-run.ts';
import { exitCodes } from '../exit-codes.ts';
import type { Io } from '../io.ts';
import { journalPath, withJournal } from '../open-journal.ts';

interface Finding {
  readonly what: string;
  readonly state: 'ok' | 'note' | 'wrong';
  readonly detail: string;
}

/** `onward doctor`: whether this machine has what supervision needs. Exit 2 when something is wrong. */
export async function doctor(io: Io, flags: { readonly journal?: string; readonly json?: boolean }): Promise<number> {
  const findings = [platform(), ...(await state(io, flags.journal)), await guard(), ...(await agents(io))];
  if (flags.json === true) io.json(findings);
  else for (const line of table(findings.map(({ what, state: found, detail }) => [found, what, detail]))) io.out(line);
  return findings.some((finding) => finding.state === 'wrong') ? exitCodes.usage.code : exitCodes.done.code;
}

function platform(): Finding {
  const containment = existsSync('/proc/self/environ');
  const detail = `Node ${process.versions.node} on ${process.platform}; ${containment ? 'processes are found by their environment' : 'weak containment: no /proc, processes are found by group and parent only'}`;
  return { what: 'platform', state: process.platform === 'win32' ? 'wrong' : containment ? 'ok' : 'note', detail };
}

async function state(io: Io, flag: string | undefined): Promise<readonly Finding[]> {
  const folder = stateFolder(io.env);
  return [
    await tried('state folder', async () => `${await ensurePrivateDir(folder)}, private`),
    await tried('journal', async () => {
      const path = journalPath(io, flag);
      const runs = await withJournal(io, flag, async (journal) => (await journal.streams('run:')).length);
      return `${path}, ${counted(runs, 'run')}`;
    }),
  ];
}

async function guard(): Promise<Finding> {
  return tried('guard', async () => {
    const started = await startGuard({ marker: `doctor.${process.pid}` });
    if (!started.started) throw new Error(started.fault.sentence);
    await started.guard.release();
    return 'starts and ends';
  });
}

async function agents(io: Io): Promise<readonly Finding[]> {
  const deps = createDeps({ env: io.env });
  return Promise.all(
    deps.adapters.map(async (adapter): Promise<Finding> => {
      const program = adapter.programs[0] ?? adapter.name;
      const found = await deps.host.inspect(program, io.cwd);
      if (!found.ok) return { what: adapter.title, state: 'note', detail: `not found: ${found.sentence}` };
      const identity = await adapter.identify(placeOf(deps, io.cwd));
      return {
        what: adapter.title,
        state: 'ok',
        detail: `${found.version} at ${found.binary}; ${identity.billing}, ${identity.baseUrl}`,
      };
    }),
  );
}

async function tried(what: string, look: () => Promise<string>): Promise<Finding> {
  try {
    return { what, state: 'ok', detail: await look() };
  } catch (error) {
    const next = isOnwardError(error) && error.next[0] !== undefined ? ` ${error.next[0]}` : '';
    return { what, state: 'wrong', detail: `${error instanceof Error ? error.message : String(error)}${next}` };
  }
}
