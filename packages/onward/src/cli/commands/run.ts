import { resolvePolicy } from '../../kernel/policy.ts';
import { OnwardError } from '../../kernel/error.ts';
import { attachRun, createDeps } from '../../library/index.ts';
import { acceptRun, launchPreview, readCommand, type RunRequest } from '../../supervisor/index.ts';
import { showDuration } from '../duration.ts';
import type { Io } from '../io.ts';
import { withJournal } from '../open-journal.ts';
import { readPipedInput } from '../piped-input.ts';
import { policyFromFlags, type RunFlags } from '../run-options.ts';
import { watchRun } from '../watch-run.ts';

/** `onward run`: supervises a new run in the foreground, or with `--preview` only says what it would do. */
export async function run(io: Io, words: readonly string[], flags: RunFlags): Promise<number> {
  const piped = await readPipedInput(io);
  const deps = createDeps({ env: io.env });
  const command = commandFrom(words, flags.agent);
  const request: RunRequest = {
    command,
    cwd: io.cwd,
    policy: resolvePolicy([{ source: 'flag', values: policyFromFlags(flags) }], deps.hash),
    ...(flags.agent === undefined ? {} : { agent: flags.agent }),
    ...(piped === undefined ? {} : { stdin: piped }),
    ...(flags.name === undefined ? {} : { name: flags.name }),
    ...(flags.continuation === undefined ? {} : { continuation: flags.continuation }),
  };
  const { parsed, adapter } = readCommand(deps.adapters, request);
  if (flags.preview === true) {
    const preview = launchPreview(adapter, request, parsed, deps.env);
    if (flags.json === true) io.out(JSON.stringify(preview));
    else showPreview(io, preview);
    return 0;
  }
  return withJournal(io, flags.journal, async (journal) => {
    const own = { ...deps, journal, options: parsed.options };
    const id = await acceptRun(own, request);
    const verbosity = flags.quiet === true ? 'quiet' : flags.verbose === true ? 'verbose' : 'normal';
    const identity = await adapter.identify({ cwd: io.cwd, env: deps.env });
    if (verbosity !== 'quiet') {
      const { retry, timeouts } = request.policy.policy;
      const limits = `waits ${retry.scheduleMs.map(showDuration).join(', ') || 'none'}; ${retry.total} attempts; ${timeouts.wallMs === 0 ? 'no time limit' : showDuration(timeouts.wallMs)}`;
      io.err(
        `${io.color('bold', adapter.title)} in ${io.cwd} | permissions: ${parsed.permissions} | billing: ${identity.billing} | limits: ${limits} | run ${id}`,
      );
    }
    return watchRun(io, attachRun(own, id), { json: flags.json === true, verbosity });
  });
}

/** `-- AGENT ARGS...` as it stands; a single word after `--agent` is the prompt of the short form. */
function commandFrom(words: readonly string[], agent: string | undefined): readonly string[] {
  if (words.length === 0) {
    throw new OnwardError('cli/no-command', 'There is nothing to run.', {
      next: [
        'onward run -- claude -p "Fix the failing tests" --allowedTools Bash Edit',
        'onward run --agent claude "Fix the failing tests"',
      ],
    });
  }
  if (agent === undefined || words.length !== 1) return words;
  const adapter = createDeps({}).adapters.find((candidate) => candidate.name === agent);
  return adapter?.commandFor(words[0] ?? '') ?? words;
}

function showPreview(io: Io, preview: ReturnType<typeof launchPreview>): void {
  for (const [title, launch] of [
    ['attempt 1', preview.first],
    ['a later attempt', preview.later],
  ] as const) {
    io.out(`${title}:`);
    io.out(`  ${launch.command}`);
    for (const line of launch.input) io.out(`  on its input: ${line}`);
    for (const line of launch.variables) io.out(`  variable: ${line}`);
  }
  io.out('added by onward:');
  for (const line of preview.added) io.out(`  ${line}`);
}
