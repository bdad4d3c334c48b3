import { resolvePolicy } from '../../kernel/policy.ts';
import { isOnwardError, OnwardError } from '../../kernel/error.ts';
import { attachRun, createDeps } from '../../library/index.ts';
import {
  acceptRun,
  type AgentAdapter,
  launchPreview,
  quote,
  readCommand,
  type RunPreview,
  type RunRequest,
} from '../../supervisor/index.ts';
import { loadRun } from '../find-run.ts';
import { firstLine } from '../first-line.ts';
import type { Io } from '../io.ts';
import { withJournal } from '../open-journal.ts';
import { hasInput, readPipedInput } from '../piped-input.ts';
import { checkName, policyFromFlags, type RunFlags } from '../run-options.ts';
import { watchOptions, watchRun } from '../watch-run.ts';

/** What stands behind the flags of `run`. */
export interface RunWords {
  readonly words: readonly string[];
  /** It stood after `--`, so that it is a command even if it is one word. */
  readonly isCommand: boolean;
}

/** `onward run`: supervises a new run in the foreground, or with `--preview` only says what it would do. */
export async function run(io: Io, given: RunWords, flags: RunFlags): Promise<number> {
  const deps = createDeps({ env: io.env });
  const bare: RunRequest = {
    command: commandFrom(given, flags.agent, deps.adapters),
    cwd: io.cwd,
    policy: resolvePolicy([{ source: 'flag', values: policyFromFlags(flags) }], deps.hash),
    ...(flags.agent === undefined ? {} : { agent: flags.agent }),
    ...(flags.name === undefined ? {} : { name: checkName(flags.name) }),
    ...(flags.continuation === undefined ? {} : { continuation: flags.continuation }),
  };
  const piped = await pipedInto(io, bare, deps.adapters);
  const request = piped === undefined ? bare : { ...bare, stdin: piped };
  const { parsed, adapter } = readOrExplain(deps.adapters, request);
  if (flags.preview === true) {
    const preview = launchPreview(adapter, request, parsed, deps.env);
    if (flags.json === true) io.json(preview);
    else showPreview(io, preview);
    return 0;
  }
  return withJournal(io, flags.journal, async (journal) => {
    const own = { ...deps, journal, options: parsed.options };
    const id = await acceptRun(own, request);
    const options = watchOptions(flags);
    if (options.verbosity !== 'quiet') io.err(firstLine(io, adapter.title, await loadRun(journal, id)));
    return watchRun(io, attachRun(own, id), options);
  });
}

/** A wrong command is refused before anything waits for a pipe. */
async function pipedInto(io: Io, bare: RunRequest, adapters: readonly AgentAdapter[]): Promise<string | undefined> {
  if (!hasInput()) return undefined;
  readOrExplain(adapters, { ...bare, stdin: 'whatever will come through the pipe' });
  return readPipedInput(io);
}

/** As `readCommand`; for `npx claude ...`, whose arguments are not the agent's own, it says what to do instead. */
function readOrExplain(adapters: readonly AgentAdapter[], request: RunRequest): ReturnType<typeof readCommand> {
  try {
    return readCommand(adapters, request);
  } catch (error) {
    const programs = adapters.find((adapter) => adapter.name === request.agent)?.programs ?? [];
    const inner = request.command.findIndex(
      (word, index) => index > 0 && programs.includes(word.split('/').at(-1) ?? ''),
    );
    if (!isOnwardError(error, 'run/command-refused') || inner < 0) throw error;
    const before = request.command
      .slice(0, inner + 1)
      .map(quote)
      .join(' ');
    throw new OnwardError(error.code, error.message, {
      next: [
        `A wrapper must take the agent's own arguments: a script that ends in: exec ${before} "$@"`,
        ...error.next,
      ],
      cause: error,
      ...(error.place === undefined ? {} : { place: error.place }),
    });
  }
}

/** `-- AGENT ARGS...` as it stands; a single word after `--agent`, without `--`, is the prompt of the short form. */
function commandFrom(
  { words, isCommand }: RunWords,
  agent: string | undefined,
  adapters: readonly AgentAdapter[],
): readonly string[] {
  if (words.length === 0) {
    throw new OnwardError('cli/no-command', 'There is nothing to run.', {
      next: [
        'onward run -- claude -p "Fix the failing tests" --allowedTools Bash Edit',
        'onward run --agent claude "Fix the failing tests"',
      ],
    });
  }
  if (agent === undefined || words.length !== 1 || isCommand) return words;
  const adapter = adapters.find((candidate) => candidate.name === agent);
  return adapter?.commandFor(words[0] ?? '') ?? words;
}

function showPreview(io: Io, preview: RunPreview): void {
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
